"""SELECT at ALL beside the kept tables and the fold of the images, row by row and value by value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.cluster.hour.fold import Fold
from tests.server.cluster.hour.recording import COMPLETE, SEQ, Definition, recorded
from tests.server.cluster.hour.values import of_json, of_postgresql, of_sqlite

EXAMPLES = 6
TRUE = (True, 1, "true")

Spelled = Mapping[str, str]
"""A row without its nulls."""


@dataclass(frozen=True)
class Difference:
    """One row or value. `column` is None where the row is on one side alone."""

    table: str
    source: str
    key: str
    column: str | None
    select: str | None
    found: str | None
    complete: bool | None

    def __str__(self) -> str:
        what = self.column or ("row is missing" if self.select else "row is not in SELECT")
        found = f"{self.source} {self.found}, complete {self.complete}"
        return f"{self.table} {self.key} {what}: SELECT {self.select}, {found}"


@dataclass
class Compared:
    """One table of one source. `incomplete`: rows that are there and not known whole."""

    select: int = 0
    rows: int = 0
    missing: int = 0
    extra: int = 0
    differing: int = 0
    incomplete: int = 0
    twice: int = 0
    examples: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not (self.missing or self.extra or self.differing or self.twice)


def selected(folder: Path, tables: Mapping[str, Definition]) -> dict[str, dict[str, Spelled]]:
    """By table and key, the rows of SELECT at ALL."""
    found: dict[str, dict[str, Spelled]] = {name: {} for name in tables}
    for name, row in recorded(folder, "select"):
        spelled = _spelled(tables[name], row, of_json)
        found[name][_key(tables[name], spelled)] = spelled
    return found


def kept(folder: Path, source: str, tables: Mapping[str, Definition]) -> dict[str, list[tuple[Spelled, bool]]]:
    """By table, the rows that a database keeps, and whether each says that it is complete."""
    spell = of_sqlite if source == "sqlite" else of_postgresql
    found: dict[str, list[tuple[Spelled, bool]]] = {name: [] for name in tables}
    for name, row in recorded(folder, f"kept-{source}"):
        complete = row.pop(COMPLETE) in TRUE
        row.pop(SEQ)
        found[name].append((_spelled(tables[name], row, spell), complete))
    return found


def folded(fold: Fold, tables: Mapping[str, Definition]) -> dict[str, list[tuple[Spelled, bool]]]:
    """By table, the rows that the images come to."""
    return {name: list(fold.shown_rows(table)) for name, table in tables.items()}


def compared(
    source: str, table: Definition, select: Mapping[str, Spelled], rows: Iterable[tuple[Spelled, bool]]
) -> Compared:
    """One table of one source beside SELECT."""
    made = Compared(select=len(select))
    left = dict(select)
    seen = set()
    for row, complete in rows:
        key = _key(table, row)
        made.rows += 1
        made.incomplete += not complete
        if key in seen:
            made.twice += 1
            _example(made, Difference(table.name, source, key, "(row twice)", None, json.dumps(row), complete))
        seen.add(key)
        wanted = left.pop(key, None)
        if wanted is None and key not in select:
            made.extra += 1
            _example(made, Difference(table.name, source, key, None, None, json.dumps(row), complete))
        elif wanted is not None:
            different = list(_values(wanted, row))
            made.differing += bool(different)
            for column, theirs, mine in different:
                _example(made, Difference(table.name, source, key, column, theirs, mine, complete))
    made.missing = len(left)
    for key, row in left.items():
        _example(made, Difference(table.name, source, key, None, json.dumps(row), None, None))
    return made


def _values(select: Spelled, row: Spelled) -> Iterator[tuple[str, str | None, str | None]]:
    for name in sorted({*select, *row}):
        if select.get(name) != row.get(name):
            yield name, select.get(name), row.get(name)


def _example(made: Compared, difference: Difference) -> None:
    if len(made.examples) < EXAMPLES:
        made.examples.append(difference)


def _key(table: Definition, row: Spelled) -> str:
    return json.dumps([row.get(name) for name in table.key], ensure_ascii=False)


def _spelled(table: Definition, row: Mapping[str, Any], spell: Callable[[str, Any], str | None]) -> Spelled:
    """A column that the table has not any more is spelled as text: its value has to be null."""
    found = {name: spell(table.types.get(name, "text"), value) for name, value in row.items()}
    return {name: value for name, value in found.items() if value is not None}
