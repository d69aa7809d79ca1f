"""The tables of a state: their definitions as they change, and what becomes of all rows of a table. Knows no clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tailer.images.chain import NO_CAUSE, Cause, entry_of, table_image
from tailer.images.confirming import confirmed
from tailer.images.definitions import changed_columns, changes_rows, redefined
from tailer.images.expiry import expired
from tailer.images.forgetting_by_turns import ForgettingByTurns
from tailer.images.highest import Highest
from tailer.images.image import Image
from tailer.images.incarnations import (
    created_again,
    dropped,
    fell_behind,
    has_other_key,
    is_earlier_drop,
    is_of_next,
    is_unfounded,
    reported,
    shown_again,
    shown_created,
    shows_next,
    supposed_again,
)
from tailer.images.numbered_nodes import NumberedNodes
from tailer.images.partition import Partition
from tailer.images.questions import Question, Questions
from tailer.images.settings import Settings
from tailer.images.store import Store, number_of
from tailer.images.tables import (
    KnownTable,
    Redefined,
    TableFacts,
    Tables,
    created_at,
    definitions_in,
    first_facts,
    had_by,
    incomplete,
    put_created,
    put_shown,
    remember,
    shown_before,
)
from tailer.images.truncation import truncate
from tailer.rebuild import Table
from tailer.rebuild.facts import Place
from tailer.rebuild.newest import newer
from tailer.rows.image_ops import Op
from tailer.schema.told import capture_begins, told_definition

SECOND: Final = 1_000_000

CONFIRMED_AT_ONCE: Final = 1000
"""So many rows at most are reported at once where all rows of a table have become complete, or have another
definition."""

_NOW: Final = b"now"
LOST: Final = b"lost"
"""Under this key the time until which changes of tables that are defined later may be missing."""


class MergedTables:
    """Nothing is held back: when a call returns, the store has all of it."""

    def __init__(self, store: Store, nodes: Sequence[str], settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._tables = Tables(store)
        self.questions = Questions(store)
        """Rows of which a server could tell more than is known."""
        self._now_us = number_of(store.meta(_NOW))
        self._highest = Highest(store)
        self._numbered = NumberedNodes(store, nodes)
        self._followed = frozenset(nodes)
        self._forgetting = ForgettingByTurns(store, self._tables, nodes, settings)
        self.late_facts = 0
        """Facts that took effect although they are older than what was forgotten: they may show what was deleted."""

    @property
    def nodes(self) -> Sequence[str]:
        """All nodes that ever vouched for a fact, or were to be followed."""
        return tuple(self._numbered.names)

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

    def number(self, node: str) -> int:
        """The number of a node in the marks of the state."""
        return self._numbered.number(node)

    def begin(self, now_us: int) -> int:
        """The time that counts, where it is asked for now: never before one that counted already."""
        if now_us > self._now_us:
            self._now_us = now_us
            self._store.put_meta(_NOW, now_us.to_bytes(8, "big"))
        return self._now_us

    def note_number(self, seq: int) -> None:
        """A partition's last image has this number."""
        self._highest.note(seq, self._now_us)

    def _save(self, part: Partition, tries: int = 0) -> None:
        """Put into the store what has changed, and ask of what nobody can tell any more but a server."""
        for key in part.guessed if self._settings.asks else ():
            self.questions.ask(Question(part.table.id, part.name, key, part.row(key).clustering), part.at, tries)
        part.save()
        self.note_number(part.header.seq)

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
            self.note_number(part.header.seq)
        return images

    def _schema_row(self, change: Mapping[str, Any], now: int) -> list[Image]:
        cause = Cause.of(change)
        if change["columns"] is None:
            return self._drop(change["table_id"], now, cause, change)
        definition, begins = told_definition(change["columns"]), capture_begins(change["columns"])
        known, images = self._tables.get(definition.id), list[Image]()
        if known is not None:
            images = self._show_created(known, change, now)
            known = self._tables.of(definition.id)
        put_created(self._store, definition.id, change.get("write_ts"))
        # Of a table that was created again the logs that have shown its DROP show its CREATE too.
        again = known is not None and known.facts.ended_at is not None and not begins
        table = Table.of(definition, native=known is not None and known.facts.table.native)
        node, learnt, made = change["node"], change.get("learnt", 0), change.get("write_ts")
        defined = self._define(table, again, definition.cdc, now, cause, begins, node=node, learnt=learnt, made=made)
        return [*images, *defined]

    def _show_created(self, known: KnownTable, change: Mapping[str, Any], now: int) -> list[Image]:
        """Take note of a CREATE whose time is known: it shows the DROP before it too, which the node's log may lack."""
        node, made, images = change["node"], change.get("write_ts"), list[Image]()
        if made is not None and shows_next(known.facts, node, made) and not known.facts.dropped:
            images = self._truncated(known, node, entry_of(change), made - 1, Cause.of(change), now)
        self._tables.keep(shown_created(self._tables.of(known.id).facts, node, made))
        return images

    def _define(
        self,
        table: Table,
        created: bool,
        cdc: bool,
        now: int,
        cause: Cause,
        begins: bool = False,
        node: str | None = None,
        learnt: int = 0,
        made: int | None = None,
    ) -> Iterator[Image]:
        known = self._tables.get(table.definition.id)
        # `by`: the same for all consumers, however late they read.
        by, captured = min(learnt or now, now), cdc and not begins
        if known is None:
            self._begin_first(table, learnt, by, created=created, cdc=cdc, captured=captured)
            return
        if known.facts.dropped:
            self._begin_behind_drop(known, table, node, now, by, cdc=cdc, captured=captured)
            return
        facts = reported(known.facts, node, table)
        if facts is None or (has_other_key(facts, table) and self._is_earlier(known.facts, node, made)):
            self._tables.keep(fell_behind(known.facts, node))
            return
        if has_other_key(facts, table):
            yield self._end(known, now, cause)
            ended = dropped(self._tables.of(known.id).facts, node, by)
            again = created_again(ended, table, by, cdc=cdc, captured=captured, nodes=())
            self._begin_again(known, again, node, self.begin(now))
            return
        earlier = shown_before(self._store, known.id, table, node) if len(self._followed) > 1 else None
        told = newer(facts.table, table) if earlier is None else facts.table
        if facts.supposed and node in facts.reached:
            # The log that has shown the DROP tells what the table is.
            facts, told = msgspec.structs.replace(facts, supposed=False), table
        yield from self._redefine(KnownTable(facts), told, created, cdc, now, cause, begins, by)
        if node is not None and len(self._followed) > 1:
            history = definitions_in(self._store, known.id)
            put_shown(self._store, known.id, node, history[-1][0] if earlier is None and history else earlier or 0)

    def _is_earlier(self, facts: TableFacts, node: str | None, made: int | None) -> bool:
        """Whether a node's log shows an incarnation before the one that is known. `made`: when it was created (µs)."""
        if made is None:
            return node in facts.behind
        return made < created_at(self._store, facts.table.definition.id)

    def _begin_first(self, table: Table, learnt: int, by: int, *, created: bool, cdc: bool, captured: bool) -> None:
        """A table that the state does not have; see `first_facts`."""
        # Of a table whose CREATE nobody saw it is not known whether it captured before.
        alone = learnt and not created and len(self._followed) == 1
        since = by if alone else self._settings.started_us
        lost = number_of(self._store.meta(LOST))
        self._highest.begin(any(self._tables))
        self._tables.keep(first_facts(table, max(since, lost), by, created=created, cdc=cdc, captured=captured))

    def _begin_behind_drop(
        self, known: KnownTable, table: Table, node: str | None, now: int, by: int, *, cdc: bool, captured: bool
    ) -> None:
        """The next incarnation of a dropped table, where a definition that a node's log shows is one of it."""
        if node in (facts := known.facts).reached:
            again = created_again(facts, table, by, cdc=cdc, captured=captured, nodes=self._followed)
            self._begin_again(known, again, node, now)
        elif is_of_next(facts, node, table, had_by(self._store, known.id)) and not self._tables.is_replaced(known):
            self._begin_again(known, supposed_again(facts, table, by), node, now)

    def _begin_again(self, known: KnownTable, again: TableFacts, node: str | None, now: int) -> KnownTable:
        """The next incarnation of a dropped table. `node`: whose log shows its definition."""
        # Below the numbers of all its rows.
        remember(self._store, known.facts.table.definition, again.table.definition, now - 1)
        if node is not None:
            put_shown(self._store, known.id, node, now - 1)
        return self._tables.keep(again)

    def _redefine(
        self, known: KnownTable, told: Table, created: bool, cdc: bool, now: int, cause: Cause, begins: bool, by: int
    ) -> Iterator[Image]:
        """The same of a table that is known, by the facts that `known` has by now. `by`: when it was learnt."""
        old, facts = self._tables.of(known.id), known.facts
        created = created and (facts.ended_at is None or facts.reached >= self._followed)
        if begins or not (cdc and facts.cdc):
            facts = incomplete(facts, by)
        elif created and facts.epoch == facts.begun:
            # Not all of its nodes had shown its CREATE before, and nothing was lost since.
            # Rows that images reported as incomplete are not any more: `confirm` reports that.
            facts = facts if facts.whole or not facts.usual else msgspec.structs.replace(facts, confirmed=b"")
        facts = msgspec.structs.replace(facts, table=told, cdc=cdc)
        yield from self._by_definition(old, facts, cause, now)
        yield from self._confirm(CONFIRMED_AT_ONCE, self.begin(now))

    def _by_definition(self, old: KnownTable, facts: TableFacts, cause: Cause, now: int) -> Iterator[Image]:
        """The image of another definition; `_confirm` gives those of the rows that read differently by it."""
        if changes_rows(old.facts.table, facts.table):
            # By the new definition nobody would see any more what has expired.
            yield from self._expire_all(old, now)
            facts = msgspec.structs.replace(facts, redefined=Redefined(old.facts, now, cause))
        known = self._tables.keep(facts)
        if names := changed_columns(old.facts.table, facts.table):
            image = self._of_table(known, "schema", names, None, cause, self._above_rows(now))
            # Which definition an image has is told by its number: rows of this one have higher numbers.
            self.begin(image.seq + 1)
            remember(self._store, old.facts.table.definition, known.facts.table.definition, image.seq)
            yield image

    def _redefine_rows(self, table: KnownTable, limit: int, now: int) -> tuple[list[Image], int]:
        """The next images of rows that read differently by a table's newest definition; how many rows were looked at:
        `limit`, and what is left of a partition, or all there are."""
        redefinition, images, rows = table.facts.redefined, list[Image](), 0
        assert redefinition is not None, "rows are brought to another definition"
        last, cause = redefinition.last, Cause(*redefinition.cause)
        for name in self._names(table, last):
            if rows >= limit:
                break
            # As of when the definition took effect: what has expired since does so by the new one.
            part = self._partition(table, name, redefinition.at)
            told, count = redefined(self._partition(table.before, name, redefinition.at), part, cause, now)
            images += told
            rows += count
            self._save(part)
            last = name
        done = rows < limit or self._store.next_partition(table.id, last) is None
        left = None if done else msgspec.structs.replace(redefinition, last=last)
        self._tables.keep(msgspec.structs.replace(table.facts, redefined=left))
        return images, rows

    def _finished(self, table_id: str) -> list[Image]:
        """The images of all rows of a table that are not brought to its newest definition yet: before anything else
        happens to them. Whoever calls `confirm` while `confirms` has these in batches."""
        images: list[Image] = []
        while self._tables.confirming and (table := self._tables.get(table_id)) and table.facts.redefined is not None:
            images += self._redefine_rows(table, CONFIRMED_AT_ONCE, self._now_us)[0]
        return images

    def _confirm(self, limit: int, now: int) -> list[Image]:
        images: list[Image] = []
        for each in self._tables:
            table = each
            if table.facts.redefined is not None:
                told, rows = self._redefine_rows(table, limit, now)
                images += told
                limit -= rows
                table = self._tables.of(table.id)
            if limit <= 0:
                break
            if table.facts.usual:
                continue
            last = table.facts.confirmed or b""
            for name in self._names(table, last):
                if limit <= 0:
                    break
                part = self._partition(table, name, now)
                images += expired(part, part.due(), now)
                told, rows = confirmed(part, NO_CAUSE, now)
                images += told
                limit -= rows
                self._save(part)
                last = name
            facts = self._tables.of(table.id).facts
            done = limit > 0 or self._store.next_partition(table.id, last) is None
            more = {"whole": True, "confirmed": None} if done else {"confirmed": last}
            self._tables.keep(msgspec.structs.replace(facts, **more))
            if not done:
                break
        return images

    def _expire_all(self, table: KnownTable, now: int) -> Iterator[Image]:
        """The images of what has expired in a table and was not told yet."""
        if not (self._settings.expirations and self._store.due(now // SECOND, 1)):
            return
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
        node, time = (None, None) if change is None else (change["node"], change.get("write_ts"))
        if table.facts.dropped:
            self._tables.keep(shown_again(table.facts, node, time))
            return []
        created = created_at(self._store, table.id)
        if change is not None and node is not None and is_earlier_drop(table.facts, node, time, created):
            # What this node logged before is of the earlier incarnation, whatever timestamps it has.
            images = self._truncated(table, node, entry_of(change), time or 0, cause, now)
            shown = self._tables.keep(shown_again(self._tables.of(table_id).facts, node, time))
            if is_unfounded(shown.facts, self._followed):
                images.append(self._end(shown, now, cause))
                ended = msgspec.structs.replace(self._tables.of(table_id).facts, dropped=True, supposed=False)
                self._tables.keep(ended)
            return images
        image = self._end(table, now, cause)
        self._tables.keep(dropped(self._tables.of(table_id).facts, node, now if time is None else time))
        return [image]

    def _end(self, table: KnownTable, now: int, cause: Cause) -> Image:
        """The image of a table that is dropped; its rows are cleared."""
        image = self._of_table(table, "drop", (), None, cause, self._above_rows(now))
        # Rows of the next incarnation have higher numbers than all of this one: definitions are kept by them.
        self.begin(image.seq + 2)
        self._store.clear(table.id)
        return image

    def _above_rows(self, now: int) -> int:
        parts = (self._partition(table, name, now) for table in self._tables for name in self._names(table))
        return self._highest.above(max(now, self._now_us), (part.header.seq for part in parts))

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
