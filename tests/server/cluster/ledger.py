"""The ledger of a workload: each write that was tried, and when the cluster acknowledged it, one JSON line for each.

A line is with the operating system before the next write is tried, so that it outlives any process of a test. Knows the
spelling of change rows as far as a write has to be found among them, and not who writes or reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO


@dataclass(frozen=True)
class Write:
    """One change of one table, in the words of a change row. `timestamp`: microseconds, unlike that of any other write.

    `range`: of a `delete_range` its bounds as a change row has them.
    """

    table: str
    op: str
    key: Mapping[str, Any]
    timestamp: int
    clustering: Mapping[str, Any] | None = None
    columns: Mapping[str, Any] | None = None
    range: Mapping[str, Any] | None = None

    def cql(self) -> str:
        """The statement that makes it."""
        using = f"USING TIMESTAMP {self.timestamp}"
        where = " AND ".join(f"{name} = {_literal(value)}" for name, value in self.row().items())
        if self.op == "insert":
            values = {**self.row(), **(self.columns or {})}
            texts = ", ".join(map(_literal, values.values()))
            return f"INSERT INTO {self.table} ({', '.join(values)}) VALUES ({texts}) {using}"
        if self.op == "update":
            changes = ", ".join(f"{name} = {_literal(value)}" for name, value in (self.columns or {}).items())
            return f"UPDATE {self.table} {using} SET {changes} WHERE {where}"
        return f"DELETE FROM {self.table} {using} WHERE {where}{self._bounds()}"

    def row(self) -> dict[str, Any]:
        """The values of its primary key, as far as it names them."""
        return {**self.key, **(self.clustering or {})}

    def _bounds(self) -> str:
        if self.range is None:
            return ""
        signs = {"start": (">", ">="), "end": ("<", "<=")}
        return "".join(
            f" AND {name} {signs[side][self.range[f'{side}_inclusive']]} {_literal(value)}"
            for side in signs
            for name, value in self.range[side].items()
        )


@dataclass(frozen=True)
class Entry:
    """A write that was tried. `acknowledged`: when (seconds since 1970), or None: it may be there or not."""

    write: Write
    coordinator: int
    level: str
    sent: float
    acknowledged: float | None
    refusal: str | None = None


class Ledger:
    """The file that a workload notes its writes in, a new one or one that goes on."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._out: TextIO = file.open("a")

    def close(self) -> None:
        self._out.close()

    def note(self, entries: Iterable[Entry]) -> None:
        self._out.write("".join(json.dumps(asdict(entry)) + "\n" for entry in entries))
        self._out.flush()

    def entries(self) -> list[Entry]:
        """All that were noted."""
        told = map(json.loads, self.file.read_text().splitlines())
        return [Entry(**{**entry, "write": Write(**entry["write"])}) for entry in told]

    def acknowledged(self) -> list[Entry]:
        return [entry for entry in self.entries() if entry.acknowledged is not None]


def _literal(value: object) -> str:
    if value is None:
        return "null"
    return f"'{value}'" if isinstance(value, str) else str(value)
