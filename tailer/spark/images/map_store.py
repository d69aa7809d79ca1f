"""A `Store` of one table's rows in maps of bytes: those of one bucket, for one batch. Knows no fact."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Final

from tailer.images.store import Due
from tailer.spark.images.calendar import Calendar, Entry
from tailer.spark.images.head import Head, Row
from tailer.spark.images.maps import Held, HeldWhole, Maps

_DUE: Final = b"calendar"
_REMIND: Final = b"reminders"


class MapStore:
    """Of the table `table_id` (32 hex digits) alone. Nothing is in the maps before `flush`."""

    def __init__(self, table_id: str, maps: Maps) -> None:
        self._table_id = table_id
        self._about = HeldWhole(maps.about)
        self._heads, self._rows, self._names, self._dues = map(Held, maps[1:])
        self._partitions: dict[bytes, Head] = {}
        self._there: list[bytes] | None = None
        """The partitions that the maps had, in order, once that was asked for: there may be many."""
        self._made: list[bytes] = []
        """In order those that came since."""
        self._calendar = Calendar(self._dues, b"d", self._about.get(_DUE), self._is_due)
        self._reminders = Calendar(self._dues, b"r", self._about.get(_REMIND), lambda entry: True)

    def get(self, table_id: str, partition: bytes, row: bytes) -> bytes | None:
        held = self._of(partition).get(row)
        return None if held is None else held.value

    def put(
        self, table_id: str, partition: bytes, row: bytes, value: bytes, *, due: int | None, was_due: int | None
    ) -> None:
        head = self._of(partition)
        if not head and self._there is not None and not _has(self._there, partition):
            insort(self._made, partition)
        head.put(row, Row(due, value))
        if due != was_due:
            self._not_due(partition, row, was_due)
            if due is not None:
                self._calendar.add(Entry(due, partition, row))

    def delete(self, table_id: str, partition: bytes, row: bytes, *, was_due: int | None) -> None:
        head = self._of(partition)
        head.delete(row)
        self._not_due(partition, row, was_due)

    def scan(self, table_id: str, partition: bytes, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter([(key, row.value) for key, row in self._of(partition).between(lower, upper)])

    def next_partition(self, table_id: str, after: bytes) -> bytes | None:
        if self._there is None:
            self._there = sorted({*self._heads.keys(), *(name for name, head in self._partitions.items() if head)})
        return min(filter(None, (self._next(names, after) for names in (self._there, self._made))), default=None)

    def _next(self, names: list[bytes], after: bytes) -> bytes | None:
        """The first of them behind another one that has not lost all of its rows in this batch."""
        at = bisect_right(names, after)
        while at < len(names) and not self._partitions.get(names[at], True):
            at += 1
        return names[at] if at < len(names) else None

    def due(self, until: int, limit: int) -> list[Due]:
        return [Due(each.second, self._table_id, each.partition, each.row) for each in self._calendar.due(until)][
            :limit
        ]

    def due_in(self, table_id: str, partition: bytes, until: int) -> list[bytes]:
        return sorted(each.row for each in self._calendar.due(until) if each.partition == partition)

    def clear(self, table_id: str) -> None:
        for name in self._heads.keys() - self._partitions.keys():
            self._of(name)
        for head in self._partitions.values():
            head.clear()
        self._calendar.clear()
        self._reminders.clear()
        self._there, self._made = None, []

    def meta(self, key: bytes) -> bytes | None:
        return self._about.get(key)

    def put_meta(self, key: bytes, value: bytes) -> None:
        self._about.put(key, value)

    def drop_meta(self, key: bytes) -> None:
        self._about.remove(key)

    def metas(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter([(key, value) for key, value in self._about.items() if key.startswith(prefix)])

    def remind(self, second: int, partition: bytes) -> None:
        """Have a partition looked at again, behind a second."""
        self._reminders.add(Entry(second, partition, b""))

    def reminded(self, until: int) -> list[bytes]:
        """The partitions that are to be looked at by second `until`, each once; nobody is reminded again."""
        entries = self._reminders.due(until)
        for entry in entries:
            self._reminders.gone(entry)
        return sorted({entry.partition for entry in entries})

    @property
    def next_due(self) -> int | None:
        """A second before which nothing is due, and no partition to be looked at."""
        found = [least for least in (self._calendar.least, self._reminders.least) if least is not None]
        return min(found, default=None)

    def flush(self) -> None:
        """Put into the maps what has changed."""
        for name, head in self._partitions.items():
            if head.changed:
                kept = head.flush()
                if kept is None:
                    self._heads.remove(name)
                else:
                    self._heads.put(name, kept)
        for name, calendar in ((_DUE, self._calendar), (_REMIND, self._reminders)):
            slots = calendar.flush()
            if slots != (self._about.get(name) or b"\x90"):
                self._about.put(name, slots)
        for held in (self._heads, self._rows, self._names, self._dues, self._about):
            held.flush()

    def _of(self, partition: bytes) -> Head:
        head = self._partitions.get(partition)
        if head is None:
            packed = self._heads.get(partition)
            head = self._partitions[partition] = Head(partition, packed, self._rows, self._names)
        return head

    def _not_due(self, partition: bytes, row: bytes, was_due: int | None) -> None:
        if was_due is not None:
            self._calendar.gone(Entry(was_due, partition, row))

    def _is_due(self, entry: Entry) -> bool:
        row = self._of(entry.partition).get(entry.row)
        return row is not None and row.due == entry.second


def _has(names: list[bytes], name: bytes) -> bool:
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name
