"""Tables that images keep in DuckDB and PostgreSQL, in their own types: they are what SELECT showed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tailer.errors import CdcError
from tailer.schema.model import TableDefinition
from tests.golden.test_kept_tables import as_json, into
from tests.helpers.amount import ALL
from tests.helpers.imaged import images_of
from tests.helpers.rebuilt import INCOMPLETE, recorded, spelled, tables_of
from tests.oracle.jsontext import Json, Number, loads
from tests.unit.sinks.database.conftest import postgresql, server
from tests.unit.sinks.database.targets import Postgresql

__all__ = ["postgresql", "server"]

pytestmark = pytest.mark.slow

SETS = ("40-cases", "50-cases") if ALL else ("50-cases",)
EXTREME = {
    "cdc.ck_all", "cdc.ck_all_desc", "cdc.compact_dense", "cdc.compact_keys", "cdc.pk_all", "cdc.pk_date",
    "cdc.scalars", "cdc.scalars_empty",
}  # fmt: skip
"""Dates and times beyond what databases have, empty values of numbers, keys with a null in them."""
REFUSED = {
    # And names that differ in their case.
    "duckdb": {*EXTREME, "CdcMixed.Table_Two"},
    # And NUL in a text, and a key of 35 columns.
    "postgresql": {*EXTREME, "cdc.pk_text", "cdc.ck35"},
}
TIMES = {
    "duckdb": ("strftime({} AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S.%gZ')", "CAST({} AS VARCHAR)"),
    "postgresql": ("""to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS"Z"')""", "CAST({} AS text)"),
}

Ask = Callable[[str], list[tuple[Any, ...]]]


def rows_of(ask: Ask, kind: str, table: str, definition: TableDefinition) -> Iterator[dict[str, Json]]:
    """Its rows, each column asked as a text where the driver would make something of it."""
    of_time, of_text = TIMES[kind]
    types = {column.name: column.type for column in definition.columns if not column.dropped and column.type != "empty"}
    plain = ("boolean", "tinyint", "smallint", "int", "bigint", "counter", "time", "float", "double", "blob")
    how = {
        name: "{}" if type_ in plain else of_time if type_ == "timestamp" else of_text for name, type_ in types.items()
    }
    asked = ", ".join(how[name].format('"' + name.replace('"', '""') + '"') for name in types)
    for row in ask(f'SELECT {asked} FROM "{table}" WHERE cdc_tail_complete'):
        yield {name: as_json(value, types[name]) for name, value in zip(types, row, strict=True)}


def by_value(row: dict[str, Json], definition: TableDefinition) -> str:
    """Decimals by their value: a database counts zeros at the end, or does not."""
    decimals = {column.name for column in definition.columns if column.type == "decimal"}
    return spelled(
        {
            name: Number(Decimal(str(value)).normalize()) if name in decimals and value not in (None, "") else value
            for name, value in row.items()
        }
    )


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str, Ask]:
    """Its kind, what `--to` is given, and how it is asked."""
    if request.param == "duckdb":
        file = tmp_path / "kept.duckdb"

        def ask(question: str) -> list[tuple[Any, ...]]:
            with duckdb.connect(file) as connection:
                return connection.execute(question).fetchall()

        return "duckdb", f"duckdb:{file}", ask
    made: Postgresql = request.getfixturevalue("postgresql")
    return "postgresql", made.to, made.ask


@pytest.mark.parametrize("name", SETS)
def test_they_are_what_select_shows(name: str, sets_root: Path, database: tuple[str, str, Ask]) -> None:
    kind, to, ask = database
    recording = recorded(name, sets_root)
    images, refused, wrong = images_of(recording), {}, {}
    for number, (table, of) in enumerate(tables_of(recording).items()):
        mine = [image for image in images if f"{image.keyspace}.{image.table}" == table]
        try:
            into(to, mine, {of.definition.id: of.definition}, name, f"kept_{number}", f"c{number}")
        except CdcError as error:
            refused[table] = error.sentence()
            continue
        found = [by_value(row, of.definition) for row in rows_of(ask, kind, f"kept_{number}", of.definition)]
        expected = sorted(by_value(loads(row), of.definition) for row in recording.shown[table])
        if sorted(found) != expected:
            wrong[table] = set(found) ^ set(expected)
    assert set(wrong) == set(INCOMPLETE) & set(recording.shown), wrong
    assert set(refused) == REFUSED[kind], refused
