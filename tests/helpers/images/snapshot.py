"""A history in whose midst a snapshot is read, range by range, and rows are read again: at ALL, as a server tells."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tailer.images.marks import Mark
from tailer.images.merged_tables import SECOND
from tailer.images.served import Answer, EventIds, ServedRange, ServedRow, ServedRows
from tailer.rebuild.changes import OWN, partition_name, token_of
from tailer.rebuild.table import Plan, plan_of
from tailer.schema.ring import TOKEN_MAX, TOKEN_MIN
from tailer.snapshot.row import RowReader
from tailer.snapshot.wanted import Wanted, WantedColumn, wanted_of
from tests.helpers.images.cluster import SEGMENT
from tests.helpers.images.logged import TOKENS, Entry
from tests.helpers.images.merged import Merged, table_of
from tests.helpers.images.partitions import Partition
from tests.helpers.images.rows import Row
from tests.helpers.images.seen import Seen, values_of
from tests.helpers.images.sent import number, sent
from tests.helpers.images.story import Altered, Story
from tests.helpers.images.tables import STATIC, Key, ModelTable

CUTS: Final = (TOKEN_MIN, (TOKENS[1] + TOKENS[2]) // 2, TOKEN_MAX)
"""Each of the two partitions lies in a range of its own."""

RANGES: Final = tuple(itertools.pairwise(CUTS))

ANSWERS_MAX: Final = 100
"""More is asked of no row."""


def served(partition: Partition, k: int, table: ModelTable, release: str, now: int, until: int) -> ServedRows:
    """All rows of a partition, as a server of that release shows them."""
    plan = plan_of(table_of(table))
    wanted = wanted_of(plan, release)
    held = partition.compacted(table)
    live = held.select(table, now)
    static = held.rows.get(STATIC, Row()) if STATIC in live else Row()
    keys = [key for key in live if key != STATIC]
    rows = [_values(key, held.rows[key], static, table, wanted, now) for key in keys]
    if not rows and STATIC in live:
        rows = [_values(None, Row(), static, table, wanted, now)]
    if not rows:
        return {}
    found = RowReader(plan, wanted).rows(rows, now, until)
    return {row.key: row for row in found}


def _values(key: Key | None, row: Row, static: Row, table: ModelTable, wanted: Wanted, now: int) -> list[bytes | None]:
    values: list[bytes | None] = [number(4, part) for part in key] if key else [None] * wanted.clustering
    for columns, source in ((wanted.static, static), (wanted.regular, row)):
        for column in columns:
            values += [None] * (max(filter(None, column[1:])) + 1 - len(values))
            _put(values, column, source, table, now)
    return values


def _put(values: list[bytes | None], column: WantedColumn, row: Row, table: ModelTable, now: int) -> None:
    """The value of a column with its times, where it has one."""
    told = sent(table.column(column.column.name), row, table, now)
    for at, value in zip((column.value, column.written, column.ttl), told, strict=True):
        if at is not None:
            values[at] = value


def _is_there(value: Any) -> bool:
    return value is not None


class Snapshotted(Story):
    """What was written before the history begins is known by the snapshot alone. `rereads`: see `Settings`."""

    def __init__(self, table: ModelTable, *, release: str, rereads: bool = False, **how: Any) -> None:
        super().__init__(table, whole=False, **how)
        self._release = release
        # What is written so soon behind it that its deletions are not is in what is read.
        self._until = self.base - 50
        self._left = list(RANGES)
        self._events = EventIds("snapshot:1:")
        self.merger = Merged(table, list(self.next), False, self.now_us, rereads=rereads)
        self.seen = Seen()
        self.asked = 0
        self.endless: set[tuple[int, Key]] = set()
        """Rows without values that a server showed and that expire: nobody tells when (docs/snapshot.md)."""

    def merge(self, entry: Entry) -> list[Any]:
        self._take(self.merger.entry(entry.rows(self.cluster.table), self.now_us))
        return super().merge(entry)

    def look(self) -> list[Any]:
        self._take(self.merger.expire(self.now_us))
        return super().look()

    def _alter(self, table: ModelTable) -> Altered:
        altered = super()._alter(table)
        self._take(self.merger.define(table, self.now_us))
        self.seen.without(table.dropped)
        for row in list(self.seen.rows):
            if self.merger.shown(*row)[1] is None:
                # All that was known of it was the column that is gone: whether it is there was not known.
                del self.seen.rows[row]
        return altered

    def forget(self) -> None:
        self.merger.forget(self.now_us, self.read_past())

    def reopen(self) -> None:
        self.merger.opened_anew()

    def serve(self) -> None:
        """The next range is read, and merged."""
        if not self._left:
            return
        low, high = self._left.pop(0)
        partitions: dict[bytes, Mapping[bytes, ServedRow]] = {}
        for k, token in TOKENS.items():
            rows = self._asked(k)
            if low < token <= high and rows:
                partitions[self._name(k)] = rows
        found = ServedRange(low, high, partitions)
        self._take(self.merger.merger.served(self._id, found, self._answer(self._until), self.now_us))

    def serve_anew(self) -> None:
        """Another snapshot, of all."""
        self._until = self.base + 100
        self._left = list(RANGES)
        while self._left:
            self.serve()

    def lose(self) -> None:
        super().lose()
        self.seen.lose()
        self.merger.lost(self.now_us)

    def answer(self) -> bool:
        """All open questions are answered; whether there was any."""
        found = list(self.merger.merger.questions.open())
        for each in found:
            until = self.base + SECOND
            k = next(k for k, token in TOKENS.items() if token == token_of(each.question.partition))
            rows = self._asked(k)
            if not each.question.whole:
                wanted = {each.question.row, OWN}
                rows = {key: row for key, row in rows.items() if key in wanted}
            self._take(self.merger.merger.answered(each, rows, self._answer(until), self.now_us))
        self.asked += len(found)
        return bool(found)

    def finish(self, order: Sequence[int]) -> None:
        """The rest of the snapshot and of the logs; nothing is asked any more."""
        while self._left:
            self.serve()
        self.read_all(order)
        self.look()
        for _ in range(ANSWERS_MAX):
            if not self.answer():
                return
        raise AssertionError("there is no end of questions")

    def check(self) -> None:
        """The fold is SELECT at ALL, and all of it is known whole."""
        names = {key: [column.name for column in self.cluster.table.shown(key)] for _, key in self.seen.rows}
        folded = {row: {**dict.fromkeys(names[row[1]]), **values_of(text)} for row, text in self.seen.rows.items()}
        selected = self.selected()
        both = {row: (folded.get(row), selected.get(row)) for row in folded.keys() | selected.keys()}
        differing = {row: (mine, theirs) for row, (mine, theirs) in both.items() if mine != theirs}
        for row in self.endless:
            mine, theirs = differing.get(row, (None, None))
            if theirs is None and mine is not None and not any(map(_is_there, mine.values())):
                del differing[row]
        assert differing == {}
        assert [row for row in self.seen.rows if not self.seen.complete[row]] == []

    def _asked(self, k: int) -> ServedRows:
        merged = Partition()
        for replica in self.cluster.replicas:
            merged = merged.merged(replica.partitions.get(k, Partition()))
        for key, values in merged.select(self.cluster.table, self.now).items():
            marker = merged.rows[key].marker
            if marker is not None and marker.expires is not None and not any(map(_is_there, values.values())):
                self.endless.add((k, key))
        return served(merged, k, self.cluster.table, self._release, self.now, self._until)

    def _answer(self, until: int) -> Answer:
        places = [(SEGMENT, self._log(node)[at - 1].offset if at else 0) for node, at in self.next.items()]
        marks = tuple(Mark(number, place) for number, place in enumerate(places))
        return Answer(until, True, marks, self._events)

    def _name(self, k: int) -> bytes:
        return partition_name(self._plan, TOKENS[k], f'{{"k":{k}}}')

    @property
    def _plan(self) -> Plan:
        return plan_of(table_of(self.cluster.table))

    @property
    def _id(self) -> str:
        return self.cluster.table.id

    def _take(self, images: list[Any]) -> None:
        self.seen.take(images, self.now_us)
