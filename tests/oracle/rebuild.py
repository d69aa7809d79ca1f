"""A table's rows rebuilt from change rows: last write wins, for tables of scalar columns without TTL.

Just enough to hold the oracle's rows against the server's own SELECT.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.jsontext import Json, dumps

NEVER = -(2**63)


class UnsupportedError(Exception):
    """The table needs a rule that is not here."""


@dataclass
class _Row:
    clustering: dict[str, Json]
    live: int = NEVER
    cells: dict[str, tuple[int, Json]] = field(default_factory=dict)

    def delete(self, stamp: int) -> None:
        self.live = self.live if self.live > stamp else NEVER
        self.cells = {name: cell for name, cell in self.cells.items() if cell[0] > stamp}

    @property
    def exists(self) -> bool:
        return self.live > NEVER or any(value is not None for _, value in self.cells.values())

    @property
    def values(self) -> dict[str, Json]:
        return {name: value for name, (_, value) in self.cells.items() if value is not None}


@dataclass
class _Partition:
    key: dict[str, Json]
    static: _Row = field(default_factory=lambda: _Row({}))
    rows: dict[str, _Row] = field(default_factory=dict)
    deletions: list[tuple[int, Mapping[str, Any] | None, str | None]] = field(default_factory=list)
    """Timestamp, and the range or the row that it is about (neither: the whole partition)."""


class Table:
    """Feed it a table's change rows in any order; `rows` are those alive at the end."""

    def __init__(self, desc: Iterable[bool]) -> None:
        self._desc = tuple(desc)
        self._partitions: dict[str, _Partition] = {}

    def change(self, row: Mapping[str, Any]) -> None:
        if row["ttl"] is not None or "ttl" in dumps(row["cells"]):
            raise UnsupportedError("TTL")
        partition = self._partitions.setdefault(dumps(row["partition_key"]), _Partition(row["partition_key"]))
        if row["op"].startswith("delete"):
            of_row = dumps(row["clustering"]) if row["op"] == "delete_row" else None
            partition.deletions.append((row["write_ts"], row["range"], of_row))
            return
        if row["is_static"]:
            mine = partition.static
        else:
            mine = partition.rows.setdefault(dumps(row["clustering"]), _Row(row["clustering"] or {}))
        if row["op"] == "insert":
            mine.live = max(mine.live, row["write_ts"])
        for name, value in row["columns"].items():
            stamp = ((row["cells"] or {}).get(name) or {}).get("write_ts", row["write_ts"])
            _put(mine, name, stamp, value)

    def rows(self) -> list[dict[str, Json]]:
        made = []
        for partition in self._partitions.values():
            self._apply_deletions(partition)
            alive = [row for row in partition.rows.values() if row.exists]
            static = partition.static.values
            made += [{**partition.key, **row.clustering, **static, **row.values} for row in alive]
            if not alive and partition.static.exists:
                made.append({**partition.key, **static})
        return made

    def _apply_deletions(self, partition: _Partition) -> None:
        for stamp, bounds, of_row in partition.deletions:
            for name, row in partition.rows.items():
                if (of_row in (None, name)) and (bounds is None or self._within(list(row.clustering.values()), bounds)):
                    row.delete(stamp)
            if bounds is None and of_row is None:
                partition.static.delete(stamp)

    def _within(self, values: list[Json], bounds: Mapping[str, Any]) -> bool:
        """Whether clustering values lie in a range whose bounds stand in clustering order."""
        for side, sign in (("start", 1), ("end", -1)):
            prefix = list((bounds[side] or {}).values())
            order = self._compare(values[: len(prefix)], prefix) * sign
            if order < 0 or (order == 0 and not bounds[f"{side}_inclusive"]):
                return False
        return True

    def _compare(self, left: list[Json], right: list[Json]) -> int:
        for mine, theirs, desc in zip(left, right, self._desc, strict=False):
            a, b = _sortable(mine), _sortable(theirs)
            if a != b:
                return (1 if a > b else -1) * (-1 if desc else 1)
        return 0


def _put(row: _Row, name: str, stamp: int, value: Json) -> None:
    old_stamp, old = row.cells.get(name, (NEVER, None))
    if stamp == old_stamp and value is not None and old is not None and dumps(value) != dumps(old):
        raise UnsupportedError("two values at one time")
    if stamp > old_stamp or (stamp == old_stamp and value is None):
        row.cells[name] = (stamp, value)


def _sortable(value: Json) -> Any:
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return value.encode()
    raise UnsupportedError("clustering order of this type")
