"""The front of images: changes go in entry by entry, images come out. Knows no clock: the caller says what is now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from tailer.errors import DefinitionError
from tailer.images.chain import NO_CAUSE
from tailer.images.expiry import expired
from tailer.images.facts import Fact
from tailer.images.floors import Floor, with_floor
from tailer.images.forgetting import Forgotten
from tailer.images.forgetting_by_turns import NO_GC_GRACE
from tailer.images.image import Image
from tailer.images.incarnations import (
    is_behind,
    supposed_again,
    without_earlier,
)
from tailer.images.known import Known, known_of
from tailer.images.marks import Mark, Marks, united
from tailer.images.mending import is_older, mend
from tailer.images.merged_tables import CONFIRMED_AT_ONCE, LOST, SECOND, MergedTables
from tailer.images.partition import Partition
from tailer.images.questions import Open, Question
from tailer.images.served import Answer, ServedRange, ServedRows, serve, serve_again
from tailer.images.tables import KnownTable, definitions_in, incomplete
from tailer.images.unit import Merged, Unit
from tailer.rebuild import Table
from tailer.rebuild.changes import OWN, Changed, behind_token, changed, row_place, truncation
from tailer.rebuild.facts import Kind, Place
from tailer.rebuild.table import plan_of
from tailer.schema.model import TableDefinition


class Merger(MergedTables):
    """The state of some tables, and what entries do to it.

    Nothing is held back: when a call returns, the store has all of it. `now_us` may go back; the state's own does not.
    """

    def table(self, table_id: str) -> KnownTable | None:
        """What is known of a table, None where it was not defined."""
        return self._tables.get(table_id)

    def count_late(self, facts: int) -> None:
        """So many more facts took effect although they are older than what was forgotten."""
        self.late_facts += facts

    def define(
        self,
        table: Table,
        *,
        created: bool,
        cdc: bool,
        now_us: int,
        node: str | None = None,
        begins: bool = False,
        learnt: int = 0,
    ) -> list[Image]:
        """A table's newest definition, the first one or a changed one.

        `created`: its CREATE was seen, while every node was followed from before it; that may be known later than the
        first definition. `cdc`: it is captured now. `node`: whose log has it; of a table that was created again with
        the same id that decides of which incarnation it is. `begins`: what was written before may not have been
        captured. `learnt`: when the journal of the node had it first (µs), where all since is read; 0 where that is not
        known.

        Gives one `schema` image where its columns changed, and the first images of rows that read differently by it:
        `confirm` gives the others. Before these what has expired.
        """
        now = self.begin(now_us)
        images = self._finished(table.definition.id)
        return [*images, *self._define(table, created, cdc, now, NO_CAUSE, begins, node=node, learnt=learnt)]

    def dropped(self, table_id: str, now_us: int) -> list[Image]:
        """A table is gone: its `drop` image, and no more state. What still comes of its rows is nothing."""
        now = self.begin(now_us)
        return [*self._finished(table_id), *self._drop(table_id, now, NO_CAUSE)]

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
            images += self._finished(change["table_id"])
            if change["op"] == "schema":
                images += self._schema_row(change, now)
                now = self.begin(now)
                continue
            table = self._tables.of(change["table_id"])
            if table.facts.dropped:
                if not self._says_of_next(change, table):
                    continue
                table = self._begin_again(table, supposed_again(table.facts, table.facts.table, now), None, now)
            if change["node"] in table.facts.behind:
                continue
            truncates = truncation(change)
            if truncates is not None:
                images += self._truncate(table, *truncates, change, now)
                continue
            made = self._changed(change, table)
            if made is not None and is_behind(table.facts, change["node"]):
                made = without_earlier(table.facts, made)
            if made is not None:
                units.setdefault((table.id, made.partition), []).append((change, made))
        marks = united((Mark(self.number(node), place),) for node, place in copies)
        for (table_id, partition), told in units.items():
            images += self._finished(table_id)
            images += self._merge(self._tables.of(table_id), partition, told, now, marks)
        return images

    def _says_of_next(self, change: Mapping[str, Any], table: KnownTable) -> bool:
        """Whether a change of a dropped table is newer than the DROP, which the node's log has not shown. Not where the
        name is another table's by now: then it is of the future."""
        if not table.facts.reached or not is_behind(table.facts, change["node"]) or self._tables.is_replaced(table):
            return False
        made = self._changed(change, table)
        return made is not None and bool(without_earlier(table.facts, made).facts)

    def _changed(self, change: Mapping[str, Any], table: KnownTable) -> Changed | None:
        """What a change row says. Where it does not fit the newest definition it is of an earlier one, and read late: a
        column that was dropped may have another type since, and what the DROP did not cover keeps its bytes."""
        try:
            return changed(change, table.plan)
        except DefinitionError:
            for _, earlier in reversed(definitions_in(self._store, table.id)):
                with suppress(DefinitionError):
                    return changed(change, plan_of(self._as_dropped(earlier, table)))
            raise

    def _as_dropped(self, earlier: TableDefinition, table: KnownTable) -> Table:
        """An earlier definition, by which only that is void which is void by the newest one."""
        void = {column.name: column.dropped_time for column in table.facts.table.definition.columns}
        columns = [msgspec.structs.replace(each, dropped_time=void.get(each.name)) for each in earlier.columns]
        return msgspec.structs.replace(
            table.facts.table, definition=msgspec.structs.replace(earlier, columns=tuple(columns))
        )

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
        self._store.put_meta(LOST, self.begin(now_us).to_bytes(8, "big"))

    def expire(self, now_us: int, limit: int) -> list[Image]:
        """The images of what has expired, of `limit` rows at most; to be called until there is nothing due."""
        now = self.begin(now_us)
        images: list[Image] = []
        for due in self._store.due(now // SECOND, limit) if self._settings.expirations else ():
            images += self._finished(due.table_id)
            part = self._partition(self._tables.of(due.table_id), due.partition, now)
            images += expired(part, [part.row(due.row)], now)
            self._save(part)
        return images

    def confirm(self, now_us: int, limit: int = CONFIRMED_AT_ONCE) -> list[Image]:
        """The images of rows that read differently by a new definition, and of those that are complete because all of
        their table has become known; of `limit` rows and what is left of a partition at most. To be called while
        `confirms`, in transactions of their own and before anything else: what else is done to the table finishes a
        new definition at once."""
        return self._confirm(limit, self.begin(now_us))

    @property
    def confirms(self) -> bool:
        """Whether `confirm` has something to do."""
        return self._tables.confirming

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
        now, images = self.begin(now_us), self._finished(table_id)
        table = self._tables.of(table_id)
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
        images = self._finished(question.table_id)
        part = self._partition(self._tables.of(question.table_id), question.partition, now)
        keys = {row.key for row in part.every_row()} | {OWN, *rows} if question.whole else {question.row}
        images += expired(part, part.due(), now)
        if question.mends and is_older(part, keys, answer):
            self.questions.ask(question, part.at, asked.tries + 1)
            self._save(part)
            return images
        if question.mends:
            images += mend(part, keys, rows, answer, now)
        else:
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
        part = self._partition(table.of(partition), partition, max(self._now_us, now_us))
        return known_of(part, part.header if static else part.row(row), self._numbered.names)

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

    def _merged(self, unit: Unit) -> Merged:
        return unit.merge()
