"""The store in dictionaries: for tests, and for what need not outlive the process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tailer.images.store import Due


@dataclass(slots=True)
class _Partition:
    rows: dict[bytes, bytes] = field(default_factory=dict)
    order: list[bytes] = field(default_factory=list)
    dues: list[tuple[int, bytes]] = field(default_factory=list)


class MemoryStore:
    """A `Store` in this process's memory."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[bytes, _Partition]] = defaultdict(dict)
        self._names: dict[str, list[bytes]] = defaultdict(list)
        self._dues: list[Due] = []
        self._meta: dict[bytes, bytes] = {}

    def get(self, table_id: str, partition: bytes, row: bytes) -> bytes | None:
        held = self._tables[table_id].get(partition)
        return None if held is None else held.rows.get(row)

    def put(
        self, table_id: str, partition: bytes, row: bytes, value: bytes, *, due: int | None, was_due: int | None
    ) -> None:
        held = self._tables[table_id].get(partition)
        if held is None:
            held = self._tables[table_id][partition] = _Partition()
            insort(self._names[table_id], partition)
        if row not in held.rows:
            insort(held.order, row)
        held.rows[row] = value
        if due != was_due:
            self._not_due(Due(was_due, table_id, partition, row) if was_due is not None else None, held)
            if due is not None:
                insort(held.dues, (due, row))
                insort(self._dues, Due(due, table_id, partition, row))

    def delete(self, table_id: str, partition: bytes, row: bytes, *, was_due: int | None) -> None:
        held = self._tables[table_id][partition]
        del held.rows[row]
        del held.order[bisect_left(held.order, row)]
        self._not_due(Due(was_due, table_id, partition, row) if was_due is not None else None, held)
        if not held.rows:
            del self._tables[table_id][partition]
            del self._names[table_id][bisect_left(self._names[table_id], partition)]

    def _not_due(self, was: Due | None, held: _Partition) -> None:
        if was is not None:
            del held.dues[bisect_left(held.dues, (was.at, was.row))]
            del self._dues[bisect_left(self._dues, was)]

    def scan(self, table_id: str, partition: bytes, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, bytes]]:
        held = self._tables[table_id].get(partition)
        if held is None:
            return iter(())
        keys = held.order[bisect_left(held.order, lower) : bisect_left(held.order, upper)]
        return iter([(key, held.rows[key]) for key in keys])

    def next_partition(self, table_id: str, after: bytes) -> bytes | None:
        names = self._names[table_id]
        at = bisect_right(names, after)
        return names[at] if at < len(names) else None

    def due(self, until: int, limit: int) -> list[Due]:
        end = bisect_left(self._dues, Due(until + 1, "", b"", b""))
        return self._dues[: min(end, limit)]

    def due_in(self, table_id: str, partition: bytes, until: int) -> list[bytes]:
        held = self._tables[table_id].get(partition)
        if held is None or not held.dues or held.dues[0][0] > until:
            return []
        return sorted(row for _, row in held.dues[: bisect_left(held.dues, (until + 1, b""))])

    def clear(self, table_id: str) -> None:
        self._tables.pop(table_id, None)
        self._names.pop(table_id, None)
        self._dues = [due for due in self._dues if due.table_id != table_id]

    def meta(self, key: bytes) -> bytes | None:
        return self._meta.get(key)

    def put_meta(self, key: bytes, value: bytes) -> None:
        self._meta[key] = value

    def drop_meta(self, key: bytes) -> None:
        self._meta.pop(key, None)

    def metas(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter([(key, self._meta[key]) for key in sorted(self._meta) if key.startswith(prefix)])
