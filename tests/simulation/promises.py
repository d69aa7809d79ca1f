"""What a service that writes its own log was promised: no acknowledged write is lost, a transaction counts whole or not
at all, and what a reader was given stays."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from tests.simulation.consumers import ViolationError

KINDS: Final = ("insert", "insert", "update", "delete_row")
"""Operations, by an item's number."""


def text_of(item: int) -> str:
    return f"item {item}" + "." * (item % 50 * 20)


def kind_of(item: int) -> str:
    """The operation on an item."""
    return KINDS[item % len(KINDS)]


def values_of(item: int, *, noted: bool) -> dict[str, str]:
    """The values of an item's regular columns. `noted`: the later release of the service has column `note`."""
    return {"text": text_of(item), **({"note": str(item)} if noted else {})}


class Promises:
    """Of one service: known to the one who checks, whatever becomes of the service's processes."""

    node: str | None = None
    back = False

    def __init__(self) -> None:
        self.refused: list[str] = []
        """What the runs in turn ended with that could not open the log."""
        self._counted: dict[int, int] = {}
        """Each item that a reader may receive, with its number in the order of appends and commits."""
        self._together: dict[int, tuple[int, ...]] = {}
        """Each item of a committed transaction, with all items of that transaction."""
        self._noted: set[int] = set()
        """Items that were written with column `note`."""
        self._acknowledged: set[int] = set()
        """Acknowledged items that no reader has received yet."""
        self._order: list[int] = []
        """The items whose rows are in the log, as the first reader was given them."""
        self._numbers: dict[int, int] = {}
        self._places: list[tuple[int, int, str | None]] = []
        """Segment, offset and transaction of each row."""

    # What the service does

    def appends(self, item: int) -> None:
        """The service appends an item outside of a transaction."""
        self._counted[item] = len(self._counted)

    def commits(self, items: Iterable[int]) -> None:
        """The service commits a transaction with these items."""
        together = tuple(items)
        for item in together:
            self.appends(item)
            self._together[item] = together

    def refuses(self, items: Iterable[int]) -> None:
        """The log refused these items: no reader may receive them."""
        for item in items:
            if item in self._numbers:
                raise ViolationError(f"item {item} came, which was refused")
            self._counted.pop(item, None)
            self._together.pop(item, None)

    def notes(self, item: int) -> None:
        """The service writes this item with column `note`."""
        self._noted.add(item)

    def acknowledged(self, items: Iterable[int]) -> None:
        """These are durable."""
        self._acknowledged |= {*items} - self._numbers.keys()

    # What readers are given

    def number_of(self, row: dict[str, Any]) -> int:
        item = json.loads(row["partition_key"])["number"]
        expected = self._row(item)
        said = {name: row[name] for name in expected}
        if said != expected:
            raise ViolationError(f"the row of item {item} differs (expected, found): {expected}, {said}")
        place = row["segment"], row["offset"], row["txn"]
        if item in self._numbers:
            if self._places[self._numbers[item]] != place:
                raise ViolationError(f"item {item} came from {place}, and before from another place")
            return self._numbers[item]
        self._check_first(item, place)
        self._numbers[item] = len(self._order)
        self._places.append(place)
        self._order.append(item)
        self._acknowledged.discard(item)
        return self._numbers[item]

    def _row(self, item: int) -> dict[str, Any]:
        kind = kind_of(item)
        values = values_of(item, noted=item in self._noted)
        columns = None if kind == "delete_row" else json.dumps(values, separators=(",", ":"))
        return {"keyspace": "shop", "table": "items", "op": kind, "columns": columns}

    def _check_first(self, item: int, place: tuple[int, int, str | None]) -> None:
        """Check the order and the transaction of an item that a reader receives for the first time."""
        if item not in self._counted:
            raise ViolationError(f"item {item} came, which was never appended, or not committed")
        if self._order and self._counted[item] < self._counted[self._order[-1]]:
            raise ViolationError(f"item {item} came behind item {self._order[-1]}")
        together = self._together.get(item, (item,))
        if (place[2] is None) != (item not in self._together):
            raise ViolationError(f"item {item} came with transaction {place[2]}")
        if item != together[0] and (not self._places or self._places[-1] != place):
            raise ViolationError(f"item {item} came from {place} apart from its transaction")

    def check_whole(self) -> None:
        """Check that readers received each transaction whole or not at all."""
        for together in {*self._together.values()}:
            came = [item for item in together if item in self._numbers]
            if came and len(came) != len(together):
                raise ViolationError(f"of a transaction's items {together} came {came}")

    def place_of(self, number: int) -> tuple[int, int]:
        raise NotImplementedError("no service's clock goes back")

    def entry_of(self, number: int) -> tuple[int, str]:
        """The first row of the entry that a row is of, of those that came to somebody, and the entry's position."""
        number = min(number, len(self._places) - 1)
        segment, offset, _ = self._places[number]
        while number and self._places[number - 1][:2] == (segment, offset):
            number -= 1
        return number, f"{segment}:{offset}"

    def first_of(self, segment: int) -> int:
        """The number of the first row that stands in a segment or behind it."""
        return next((number for number, (each, *_) in enumerate(self._places) if each >= segment), len(self._places))

    def count(self) -> int:
        """What was acknowledged and came to nobody yet comes behind the others."""
        return len(self._order) + len(self._acknowledged)
