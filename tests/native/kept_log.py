"""A service that notes what it wrote: its changes, in the order in which they count, and its rows.

Its log has small segments, over which transactions go; a fast consumer and `clean` leave most in `commitlog` alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

import tailer
from tailer.position import Position
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages
from tests.native.logs import as_rows
from writer_hooks import SegmentLog, Table

AT_ONCE: Final = Ages(0.0, 0.0)

Told = tuple[str, int, str | None]
"""Of a change its operation, the row's number and the note."""


class Order(msgspec.Struct):
    """A row that readers see."""

    number: int
    note: str | None


class Secret(msgspec.Struct):
    """A row that replay alone gives."""

    number: int
    note: str


ORDERS: Final = Table.of(Order, "shop.orders", key=["number"])
SECRETS: Final = Table.of(Secret, "shop.secrets", key=["number"], cdc=False)


class Service:
    """`changes`: what readers are to get. `begun`: of each the segment without which it is not known, its own or that
    of the first of its transaction; `made`: the order in which they were made, by which of two the later one wins.
    """

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.raw = path / "cdc_raw"
        self.changes: list[Told] = []
        self.begun: list[int] = []
        self.made: list[int] = []
        self._options = {"segment_bytes": 4096, "threads": False, **options}
        self._random = random.Random(7)
        self._number = 0
        self.log = self._open()

    def _open(self) -> SegmentLog:
        return SegmentLog.open(self.path, [ORDERS, SECRETS], **self._options)

    def reopen(self) -> None:
        self.log.close()
        self.log = self._open()

    def write(self, count: int) -> Position:
        """Changes of every kind, some in transactions of which one spans segments; durable, with where the log ends."""
        held = self.log.begin()
        later: list[tuple[Told, int]] = []
        first = 0
        for number in range(count):
            told = self._change()
            if number % 4 == 1:
                held.append(_change_of(told))
                later.append((told, self._number))
                first = first or self.log.appender.segment.id
            else:
                self.append(told)
            if number % 5 == 0:
                self.log.append(SECRETS.insert(Secret(number, "s" * 300))).wait()
        with self.log.begin() as lost:
            lost.append(ORDERS.insert(Order(-1, "rolled back")))
            lost.rollback()
        held.commit().wait()
        for told, made in later:
            self._count(told, made, first)
        return self.log.end

    def append(self, told: Told) -> None:
        """A change that counts by itself, and is durable then."""
        self.log.append(_change_of(told)).wait()
        self._count(told, self._number, self.log.appender.segment.id)

    def write_secrets(self, count: int) -> None:
        """Nothing for readers, in segments of its own if it is much."""
        for number in range(count):
            self.log.append(SECRETS.insert(Secret(number, "s" * 900))).wait()

    def clean(self) -> list[int]:
        """A fast consumer reads all there is, and `clean` takes what it had: the ids."""
        list(tailer.open(self.raw, consumer="fast").follow(once=True))
        return [held.segment for held in clean(self.raw, CleanOptions(), ages=AT_ONCE).logs]

    def discard(self, position: Position | None = None) -> None:
        """The writer forgets what lies before a position, by default all that it may."""
        assert self.log.discard_before(position or self.log.end) > 0

    def known(self) -> list[Told]:
        """The changes that what the writer still keeps tells whole."""
        kept = self.own()[0]
        return [told for told, segment in zip(self.changes, self.begun, strict=True) if segment >= kept]

    def rows(self) -> dict[int, str | None]:
        """The notes by number, as what the writer still keeps tells them."""
        newest: dict[int, tuple[int, Told]] = {}
        for told, made, segment in zip(self.changes, self.made, self.begun, strict=True):
            if segment >= self.own()[0] and newest.get(told[1], (0, told))[0] <= made:
                newest[told[1]] = made, told
        return {number: note for number, (_, (op, _, note)) in newest.items() if op != "delete_row"}

    def replayed(self) -> list[Told]:
        """What the log's own replay gives of the rows that readers see."""
        given = [each for each in self.log.replay("earliest") if each.definition.table == "orders"]
        return [_told_of(row) for each in given for row in each.change.rows]

    def own(self) -> list[int]:
        """Ids of the segments that the writer keeps."""
        return ids(self.path / "commitlog")

    def _change(self) -> Told:
        self._number += 1
        choice = self._random.randrange(10)
        number = self._random.randrange(1, self._number) if choice > 5 and self._number > 1 else self._number
        if choice > 7:
            return "delete_row", number, None
        note = f"{self._number} " + "n" * self._random.randrange(700)
        return ("update" if number != self._number else "insert"), number, note

    def _count(self, told: Told, made: int, segment: int) -> None:
        self.changes.append(told)
        self.made.append(made)
        self.begun.append(segment)


def _change_of(told: Told) -> Any:
    op, number, note = told
    if op == "delete_row":
        return ORDERS.delete({"number": number})
    if op == "update":
        return ORDERS.update({"number": number, "note": note})
    return ORDERS.insert(Order(number, note))


def _told_of(row: Any) -> Told:
    value = row.cells[0].value if row.cells else None
    ops = ("insert", "update", "delete_row")
    return ops[row.op], int.from_bytes(row.partition_key[0], "big"), None if value is None else value.decode()


def told(rows: Iterable[dict[str, Any]]) -> list[Told]:
    """The same of change rows."""
    return [
        (each["op"], each["partition_key"]["number"], each["columns"]["note"] if each["columns"] else None)
        for each in rows
    ]


def ids(folder: Path) -> list[int]:
    return sorted(int(path.stem.split("-")[2]) for path in folder.glob("*.log"))


def read(folder: Path, consumer: str | None = None, **options: Any) -> list[Told]:
    """What a run from the snapshot gives, to the log's end."""
    return told(as_rows(tailer.open(folder, consumer=consumer, **options).follow(once=True, start="snapshot")))
