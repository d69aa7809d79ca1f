"""The front of images: changes go in entry by entry, images come out. Knows no clock: the caller says what is now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tailer.images.chain import NO_CAUSE, Cause, table_image
from tailer.images.definitions import changed_columns, changes_rows, redefined
from tailer.images.expiry import expired
from tailer.images.facts import Fact
from tailer.images.floors import Floor, with_floor
from tailer.images.forgetting import Forgotten
from tailer.images.forgetting_by_turns import NO_GC_GRACE, ForgettingByTurns
from tailer.images.image import Image
from tailer.images.incarnations import (
    created_again,
    dropped,
    is_behind,
    is_earlier_drop,
    reported,
    shown_again,
    without_earlier,
)
from tailer.images.known import Known, known_of
from tailer.images.marks import Mark, Marks, united
from tailer.images.partition import Partition
from tailer.images.questions import Open, Question, Questions
from tailer.images.served import Answer, ServedRange, ServedRows, serve, serve_again
from tailer.images.settings import Settings
from tailer.images.store import Store
from tailer.images.tables import KnownTable, Tables, first_facts, incomplete, remember
from tailer.images.truncation import truncate
from tailer.images.unit import Merged, Unit
from tailer.rebuild import Table
from tailer.rebuild.changes import OWN, Changed, behind_token, changed, row_place, truncation
from tailer.rebuild.facts import Kind, Place
from tailer.rebuild.newest import newer
from tailer.rows.image_ops import Op
from tailer.schema.told import capture_begins, told_definition
from tailer.typed_decode import decode_msgpack

SECOND: Final = 1_000_000
_NOW: Final = b"now"
_NODES: Final = b"nodes"
_LOST: Final = b"lost"


class Merger:
    """The state of some tables, and what entries do to it.

    Nothing is held back: when a call returns, the store has all of it. `now_us` may go back; the state's own does not.
    """

    def __init__(self, store: Store, nodes: Sequence[str], settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._tables = Tables(store)
        self.questions = Questions(store)
        """Rows of which a server could tell more than is known."""
        self._now_us = int.from_bytes(store.meta(_NOW) or b"", "big")
        self._nodes: list[str] = decode_msgpack(store.meta(_NODES) or b"\x90", list[str])
        self._followed = frozenset(nodes)
        self._forgetting = ForgettingByTurns(store, self._tables, nodes, settings)
        self.late_facts = 0
        """Facts that took effect although they are older than what was forgotten: they may show what was deleted."""
        for node in nodes:
            self.number(node)

    @property
    def nodes(self) -> Sequence[str]:
        """All nodes that ever vouched for a fact, or were to be followed."""
        return tuple(self._nodes)

    @property
    def read_past(self) -> int:
        """The second of which all entries of every node were merged, as `forget` was told; 0 before that."""
        return self._forgetting.read_past

    @property
    def forgot(self) -> int:
        """What `read_past` was when something was forgotten last; 0 where nothing ever was."""
        return self._forgetting.forgot

    @property
    def expirations(self) -> bool:
        """Whether what expires gives images."""
        return self._settings.expirations

    def table(self, table_id: str) -> KnownTable | None:
        """What is known of a table, None where it was not defined."""
        return self._tables.get(table_id)

    def count_late(self, facts: int) -> None:
        """So many more facts took effect although they are older than what was forgotten."""
        self.late_facts += facts

    def define(self, table: Table, *, created: bool, cdc: bool, now_us: int, node: str | None = None) -> list[Image]:
        """A table's newest definition, the first one or a changed one.

        `created`: its CREATE was seen, while every node was followed from before it; that may be told later than the
        first definition. `cdc`: it is captured now. Gives
        one `schema` image where its columns changed, and a `delete` of each row that lived by a dropped column alone;
        before these what has expired. `node`: whose log has it; of a table that was created again with the same id that
        decides of which incarnation it is.
        """
        return list(self._define(table, created, cdc, self.begin(now_us), NO_CAUSE, node=node))

    def dropped(self, table_id: str, now_us: int) -> list[Image]:
        """A table is gone: its `drop` image, and no more state. What still comes of its rows is nothing."""
        return self._drop(table_id, self.begin(now_us), NO_CAUSE)

    def entry(
        self, changes: Sequence[Mapping[str, Any]], now_us: int, copies: Iterable[tuple[str, Place]] = ()
    ) -> list[Image]:
        """The images of one log entry (of a native log: of one transaction), given its change rows in order.

        Entries of one node come in the order of its log. DefinitionError for a table that was not defined.

        `copies`: of entries that say the very same, and are not given therefore, each with its node and place; then
        all `changes` are of one partition.
        """
        now = self.begin(now_us)
        images: list[Image] = []
        units: dict[tuple[str, bytes], list[tuple[Mapping[str, Any], Changed]]] = {}
        for change in changes:
            if change["op"] == "schema":
                images += self._schema_row(change, now)
                continue
            table = self._tables.of(change["table_id"])
            if table.facts.dropped or change["node"] in table.facts.behind:
                continue
            truncates = truncation(change)
            if truncates is not None:
                images += self._truncate(table, *truncates, change, now)
                continue
            made = changed(change, table.plan)
            if made is not None and is_behind(table.facts, change["node"]):
                made = without_earlier(table.facts, made)
            if made is not None:
                units.setdefault((table.id, made.partition), []).append((change, made))
        marks = united((Mark(self.number(node), place),) for node, place in copies)
        for (table_id, partition), told in units.items():
            images += self._merge(self._tables.of(table_id), partition, told, now, marks)
        return images

    def lost(self, table_ids: Iterable[str] | None, now_us: int) -> None:
        """Changes of these tables (None: of all, and of those that are defined later) are missing: their rows are not
        known whole any more."""
        now = self.begin(now_us)
        if table_ids is None:
            self.lost_unseen(now)
        named = None if table_ids is None else [self._tables.of(table_id).id for table_id in table_ids]
        for table in self._tables:
            if named is None or table.id in named:
                self._tables.keep(incomplete(table.facts, now))

    def lost_unseen(self, now_us: int) -> None:
        """Changes may be missing of any table that is defined later: no deletion until now tells all of its row."""
        self._store.put_meta(_LOST, self.begin(now_us).to_bytes(8, "big"))

    def expire(self, now_us: int, limit: int) -> list[Image]:
        """The images of what has expired, of `limit` rows at most; to be called until there is nothing due."""
        now = self.begin(now_us)
        images: list[Image] = []
        for due in self._store.due(now // SECOND, limit) if self._settings.expirations else ():
            part = self._partition(self._tables.of(due.table_id), due.partition, now)
            images += expired(part, [part.row(due.row)], now)
            self._save(part)
        return images

    def due(self, now_us: int) -> bool:
        """Whether `expire` has something to do."""
        return self._settings.expirations and bool(self._store.due(max(now_us, self._now_us) // SECOND, 1))

    def forget(
        self,
        now_us: int,
        read_past: Mapping[str, int],
        partitions: int | None = None,
        gc_grace: Mapping[str, int] = NO_GC_GRACE,
    ) -> Forgotten:
        """Forget what is dead and was merged gc_grace_seconds or more before what every node was read past.

        Until then copies of what it outweighs are still logged, and may be read late. `read_past`: by node the second
        of which all its entries were merged; without that of a followed node nothing is forgotten. With `partitions` at
        most so many are looked at, the next call goes on behind them. `gc_grace`: `gc_grace_seconds` by table id, 32
        hex digits.
        """
        return self._forgetting.forget(self.begin(now_us) // SECOND, read_past, partitions, gc_grace)

    def held(self, table_id: str, low: int, high: int) -> list[bytes]:
        """The names of the partitions that the state has, of the tokens above `low` and up to `high`."""
        return list(self._names(self._tables.of(table_id), behind_token(low), behind_token(high)))

    def served(
        self, table_id: str, found: ServedRange, answer: Answer, now_us: int, held: Collection[bytes] | None = None
    ) -> list[Image]:
        """All that a server has of some tokens, in place of what was known until then; later it has a floor there.

        `held`: of them the partitions that are to be looked at besides those that were found; None: all there are.
        """
        now, table, images = self.begin(now_us), self._tables.of(table_id), list[Image]()
        held = self.held(table_id, found.low, found.high) if held is None else held
        for name in sorted({*held, *found.partitions}):
            part = self._partition(table, name, now)
            images += expired(part, part.due(), now)
            images += serve(part, found.partitions.get(name, {}), answer, now)
            self._save(part)
        epoch = table.facts.epoch if answer.complete else 0
        floors = with_floor(table.facts.floors, Floor(found.low, found.high, answer.until, epoch))
        self._tables.keep(msgspec.structs.replace(table.facts, floors=floors))
        return images

    def answered(self, asked: Open, rows: ServedRows, answer: Answer, now_us: int) -> list[Image]:
        """What a server has of the row that was asked for, or of all of its partition."""
        now, question = self.begin(now_us), asked.question
        part = self._partition(self._tables.of(question.table_id), question.partition, now)
        keys = {row.key for row in part.every_row()} | {OWN, *rows} if question.whole else {question.row}
        images = expired(part, part.due(), now)
        images += serve_again(part, keys, rows, answer, now, older=question.older)
        self.questions.answered(question)
        self._save(part, asked.tries + 1)
        return images

    def known(
        self, table_id: str, partition_key: str, clustering: str | None, now_us: int = 0, *, static: bool = False
    ) -> Known:
        """What is known of one row, by its key as change rows have it; `static`: of the partition's static row.

        As it is at `now_us`, or when the last change was merged if that was later.
        """
        table = self._tables.of(table_id)
        partition, row = row_place(table.plan, partition_key, clustering)
        part = self._partition(table, partition, max(self._now_us, now_us))
        return known_of(part, part.header if static else part.row(row), self._nodes)

    def _merge(
        self,
        table: KnownTable,
        name: bytes,
        told: Sequence[tuple[Mapping[str, Any], Changed]],
        now: int,
        copies: Marks,
    ) -> list[Image]:
        part = self._partition(table, name, now)
        images = expired(part, part.due(), now)
        merged = self._merged(Unit(part, self._unvoided(part, told), self.number(told[0][0]["node"]), now, copies))
        self._save(part)
        if table.facts.forgotten is not None:
            until = table.facts.forgotten * SECOND
            self.count_late(sum(fact.write_ts < until for _, fact in merged.effects))
        return images + merged.images

    def _unvoided(
        self, part: Partition, told: Sequence[tuple[Mapping[str, Any], Changed]]
    ) -> Sequence[tuple[Mapping[str, Any], Changed]]:
        """Without what lies at or below the partition's floor and is not known."""
        if part.floor is None:
            return told
        until, left = part.floor.until, []
        for change, made in told:
            known = part.row(made.row).facts
            facts = [fact for fact in made.facts if fact.stamp.write_ts > until or Fact.of(fact) in known]
            if len(facts) < len(made.facts) and self._settings.rereads:
                whole = any(fact.kind in (Kind.RANGE_GONE, Kind.PARTITION_GONE) for fact in made.facts)
                clustering = made.facts[0].stamp.clustering
                self.questions.ask(Question(part.table.id, part.name, made.row, clustering, True, whole), part.at)
            left.append((change, made._replace(facts=facts)))
        return left

    def _save(self, part: Partition, tries: int = 0) -> None:
        """Put into the store what has changed, and ask of what nobody can tell any more but a server."""
        for key in part.guessed if self._settings.asks else ():
            self.questions.ask(Question(part.table.id, part.name, key, part.row(key).clustering), part.at, tries)
        part.save()

    def _merged(self, unit: Unit) -> Merged:
        return unit.merge()

    def _truncate(
        self, table: KnownTable, node: str, before: Place, change: Mapping[str, Any], now: int
    ) -> list[Image]:
        cause = Cause.of(change)
        image = self._of_table(table, "truncate", (), change["write_ts"], cause, now)
        return [image, *self._truncated(table, node, before, change["write_ts"], cause, now)]

    def _truncated(
        self, table: KnownTable, node: str, before: Place, write_ts: int, cause: Cause, now: int
    ) -> list[Image]:
        """The images of rows that show something else without what a node logged before a place."""
        number, images = self.number(node), list[Image]()
        for name in self._names(table):
            part = self._partition(table, name, now)
            images += expired(part, part.due(), now)
            images += truncate(part, number, before, write_ts, cause, now)
            part.save()
        return images

    def _schema_row(self, change: Mapping[str, Any], now: int) -> list[Image]:
        cause = Cause.of(change)
        if change["columns"] is None:
            return self._drop(change["table_id"], now, cause, change)
        definition, begins = told_definition(change["columns"]), capture_begins(change["columns"])
        known = self._tables.get(definition.id)
        native = known is not None and known.facts.table.native
        # Of a table that was created again the logs that have shown its DROP show its CREATE too.
        again = known is not None and known.facts.ended_at is not None and not begins
        table = Table.of(definition, native=native)
        return list(self._define(table, again, definition.cdc, now, cause, begins, node=change["node"]))

    def _define(
        self,
        table: Table,
        created: bool,
        cdc: bool,
        now: int,
        cause: Cause,
        begins: bool = False,
        node: str | None = None,
    ) -> Iterator[Image]:
        known = self._tables.get(table.definition.id)
        if known is None:
            lost = int.from_bytes(self._store.meta(_LOST) or b"", "big")
            since = max(self._settings.started_us, lost)
            self._tables.keep(first_facts(table, since, now, created=created, cdc=cdc, captured=cdc and not begins))
            return
        if known.facts.dropped:
            if node in known.facts.reached:
                captured = cdc and not begins
                again = created_again(known.facts, table, now, cdc=cdc, captured=captured, nodes=self._followed)
                self._tables.keep(again)
            return
        found = reported(known.facts, node, table)
        if found is None:
            self._tables.keep(msgspec.structs.replace(known.facts, behind=known.facts.behind | {node}))
            return
        facts, old = found, known
        created = created and (facts.ended_at is None or facts.reached >= self._followed)
        if begins or not (cdc and facts.cdc):
            facts = incomplete(facts, now)
        elif created and facts.epoch == facts.begun:
            # Not all of its nodes had shown its CREATE before, and nothing was lost since.
            facts = msgspec.structs.replace(facts, whole=True)
        facts = msgspec.structs.replace(facts, table=newer(facts.table, table), cdc=cdc)
        differs = changes_rows(old.facts.table, facts.table)
        if differs:
            # By the new definition nobody would see any more what has expired.
            yield from self._expire_all(old, now)
        known = self._tables.keep(facts)
        names = changed_columns(old.facts.table, facts.table)
        if names:
            image = self._of_table(known, "schema", names, None, cause, now)
            remember(self._store, old.facts.table.definition, known.facts.table.definition, image.seq)
            yield image
        for name in self._names(known) if differs else ():
            part = self._partition(self._tables.of(known.id), name, now)
            yield from redefined(self._partition(old, name, now), part, cause, now)
            self._save(part)

    def _expire_all(self, table: KnownTable, now: int) -> Iterator[Image]:
        """The images of what has expired in a table and was not told yet."""
        for name in self._names(table):
            part = self._partition(table, name, now)
            due = part.due()
            if due:
                yield from expired(part, due, now)
                self._save(part)

    def _drop(self, table_id: str, now: int, cause: Cause, change: Mapping[str, Any] | None = None) -> list[Image]:
        """`change`: the row of the log that shows it."""
        table = self._tables.get(table_id)
        if table is None:
            return []
        node, time = (None, None) if change is None else (change["node"], change["write_ts"])
        if table.facts.dropped:
            self._tables.keep(shown_again(table.facts, node, time))
            return []
        if change is not None and node is not None and is_earlier_drop(table.facts, node, time):
            # What this node logged before is of the earlier incarnation, whatever timestamps it has.
            place = change["segment"], change["offset"]
            images = self._truncated(table, node, place, time or 0, cause, now)
            self._tables.keep(shown_again(self._tables.of(table_id).facts, node, time))
            return images
        image = self._of_table(table, "drop", (), None, cause, now)
        facts = self._tables.of(table_id).facts
        self._tables.keep(dropped(facts, node, now if time is None else time))
        self._store.clear(table.id)
        return [image]

    def _of_table(
        self, table: KnownTable, op: Op, changed: Sequence[str], write_ts: int | None, cause: Cause, now: int
    ) -> Image:
        image = table_image(table, op, changed, write_ts, cause, now)
        self._tables.keep(msgspec.structs.replace(table.facts, seq=image.seq))
        return image

    def _partition(self, table: KnownTable, name: bytes, now: int) -> Partition:
        return Partition(
            self._store, table, name, now // SECOND, self.read_past, expirations=self._settings.expirations
        )

    def _names(self, table: KnownTable, behind: bytes = b"", last: bytes | None = None) -> Iterator[bytes]:
        name = self._store.next_partition(table.id, behind)
        while name is not None and (last is None or name <= last):
            yield name
            name = self._store.next_partition(table.id, name)

    def number(self, node: str) -> int:
        """The number of a node in the marks of the state."""
        if node not in self._nodes:
            self._nodes.append(node)
            self._store.put_meta(_NODES, msgspec.msgpack.encode(self._nodes))
        return self._nodes.index(node)

    def begin(self, now_us: int) -> int:
        """The time that counts, where it is asked for now: never before one that counted already."""
        if now_us > self._now_us:
            self._now_us = now_us
            self._store.put_meta(_NOW, now_us.to_bytes(8, "big"))
        return self._now_us
