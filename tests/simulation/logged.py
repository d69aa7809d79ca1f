"""What a Cassandra node has logged, and the change rows that must come of it: by what was written."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from tests.helpers.images.tables import ModelTable
from tests.helpers.logs.frame import SectionPlace
from tests.simulation.consumers import ViolationError
from tests.simulation.database import Change

_NESTED: Final = ("partition_key", "clustering", "columns", "range", "cells", "txn", "attrs")


def row_of(line: bytes | str) -> dict[str, Any]:
    """A change row of a line of JSON, as the Python API gives it."""
    row: dict[str, Any] = json.loads(line)
    for name in _NESTED:
        if row[name] is not None:
            row[name] = json.dumps(row[name], separators=(",", ":"), ensure_ascii=False)
    return row


@dataclass(frozen=True)
class Logged:
    """A change in the log. `at`: its segment, and the logical offset of its entry."""

    at: tuple[int, int]
    change: Change

    @property
    def is_captured(self) -> bool:
        return any(update.table.cdc for update in self.change.mutation)


class Ledger:
    """Of one node: known to the one who checks, whatever becomes of the node's processes. `back`: its clock goes back,
    and the order of its segments is another one for each consumer."""

    def __init__(self, node: str, *, back: bool = False) -> None:
        self.node, self.back = node, back
        self.durable: list[Logged] = []
        """In the order of the log; what is missing in the files does not count."""
        self.written: dict[int, list[tuple[SectionPlace, bytes, list[Logged]]]] = {}
        """Of each segment all sections with their bytes, synced or not."""
        self._places: dict[tuple[int, int], Change] = {}
        self._changes: set[int] = set()
        self._rows: list[dict[str, Any]] = []
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._segments: list[int] = []
        """Of each row."""
        self._in_segment: dict[int, list[int]] = {}
        """The rows of each segment."""
        self.aside: dict[str, dict[str, Any]] = {}
        """By `event_id` the rows of a table that no definition names."""

    def settle(self, segment: int, sections: int) -> None:
        """So many sections of a segment are durable."""
        for _, _, logged in self.written[segment][:sections]:
            for each in logged:
                if each.at not in self._places:
                    self._places[each.at] = each.change
                    self.durable.append(each)
                    self._changes.add(id(each.change))
                    for row in each.change.rows(self.node, *each.at):
                        if each.change.aside:
                            self.aside[row["event_id"]] = row
                            continue
                        self._in_segment.setdefault(segment, []).append(len(self._rows))
                        self._segments.append(segment)
                        self._numbers[*each.at, row["row"]] = len(self._rows)
                        self._rows.append(row)

    def change_at(self, segment: int, offset: int) -> Change | None:
        """What is durable at a place."""
        return self._places.get((segment, offset))

    def has(self, change: Change) -> bool:
        """Whether it is durable."""
        return id(change) in self._changes

    def number_of(self, row: dict[str, Any], masked: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> int:
        """See `Expected`. `masked`: what masks make of a row that is expected."""
        number = self._number(row["segment"], row["offset"], row["row"])
        expected = self._rows[number] if masked is None else masked(self._rows[number])
        differing = {name: (value, row[name]) for name, value in expected.items() if row[name] != value}
        if differing:
            raise ViolationError(f"the row {row['event_id']} differs (expected, found): {differing}")
        return number

    def found(self, segment: int, offset: int, row: int) -> tuple[int, dict[str, Any], ModelTable]:
        """The number of a row that came from a place, what it says, and its table as it was then."""
        number = self._number(segment, offset, row)
        expected, change = self._rows[number], self._places[segment, offset]
        tables = [table for table, _ in change.written] + ([change.truncates[0]] if change.truncates else [])
        return number, expected, next(table for table in tables if table.id == expected["table_id"])

    def _number(self, segment: int, offset: int, row: int) -> int:
        number = self._numbers.get((segment, offset, row))
        if number is None:
            raise ViolationError(f"a row came that is not durable: row {row} of {segment}:{offset}")
        return number

    def place_of(self, number: int) -> tuple[int, int]:
        """The segment of a row, and which of its rows it is."""
        segment = self._segments[number]
        return segment, self._in_segment[segment].index(number)

    def entry_of(self, number: int) -> tuple[int, str]:
        """The first row of the entry that a row is of, and the entry's position as text."""
        row = self._rows[number]
        at = row["segment"], row["offset"]
        return self._numbers[*at, 0], "{}:{}".format(*at)

    def first_of_tables(self, tables: Collection[str], first: int, end: int) -> int | None:
        """The first row of these tables of those from one on, before another one; None where there is none."""
        return next((number for number in range(first, end) if self._rows[number]["table"] in tables), None)

    def first_of(self, segment: int) -> int:
        """The number of the first row that stands in a segment or behind it."""
        return next((number for number, each in enumerate(self._segments) if each >= segment), len(self._rows))

    def count(self) -> int:
        return len(self._rows)
