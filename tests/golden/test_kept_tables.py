"""Tables that images keep, by `--mode table`: of every recorded set they are what the server answered to SELECT.

`make test` takes some of the sets, `make soak SOAK=databases` all.
"""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tailer.images.image import Image, arrow_schema
from tailer.images.image_rows import ImageRows
from tailer.schema.model import TableDefinition
from tailer.sinks.outlet import ImagesForm, OutletContext, OutletKey, Place, ReportsEnd
from tailer.sinks.outlets import open_outlet
from tests.helpers.amount import ALL
from tests.helpers.data_files import GIVEN, refuse
from tests.helpers.imaged import images_of
from tests.helpers.rebuilt import INCOMPLETE, SETS, recorded, spelled, tables_of
from tests.oracle.jsontext import Json, Number, Real, loads

pytestmark = pytest.mark.slow

OWN = ("cdc_tail_seq", "cdc_tail_complete")
SOME = ("40-cases", "41-cases", "50-cases", "50-killed-lz4", "50-crash-gap", "50-live")
REFUSED = {
    "cdc.compact_dense": "has no value for b in its key",
    "cdc.compact_keys": "has no value for b in its key",
    "CdcMixed.Table_Two": "for one column",
}
"""Tables that SQLite has no room for, and why."""
TEXTS = ("ascii", "text", "varchar", "uuid", "timeuuid", "inet", "duration", "date", "timestamp")
"""The types whose values stand as text, as those of classes of Java's do; those of others as JSON."""


def sqlite_rows(file: Path) -> Callable[[str], Iterator[dict[str, Any]]]:
    def rows(table: str) -> Iterator[dict[str, Any]]:
        with closing(sqlite3.connect(file)) as database:
            database.row_factory = sqlite3.Row
            yield from (dict(row) for row in database.execute(f'SELECT * FROM "{table}"'))

    return rows


def into(
    to: str,
    images: list[Image],
    definitions: dict[str, TableDefinition],
    seed: str,
    table: str = "{keyspace}_{table}",
    consumer: str = "c",
) -> None:
    """Images into an outlet, in commits of any size."""
    form = ImagesForm(True, arrow_schema)
    context = OutletContext(
        OutletKey("5f4e", "images", consumer), definitions.get, None, refuse, [].append, images=form
    )
    values = {**GIVEN, "mode": "table", "into": table}
    outlet, chance = open_outlet(to, values, context), random.Random(seed)
    at, before = 0, outlet.open()
    try:
        while at < len(images):
            count = chance.choice((1, 7, 500))
            outlet.write(ImageRows(images[at : at + count]))
            at += count
            behind = Place(f'{{"images":{at}}}')
            outlet.commit(before, behind)
            before = behind
        assert isinstance(outlet, ReportsEnd)
        outlet.report_end()
    finally:
        outlet.close()


def shown(row: dict[str, Any], definition: TableDefinition) -> str:
    """A row of the database as `spelled` has the server's."""
    types = {column.name: column.type for column in definition.columns}
    assert row.pop(OWN[0]) is not None
    assert row.pop(OWN[1])
    return spelled({name: as_json(value, types[name]) for name, value in row.items()})


def as_time(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:09}"


def unsigned(row: str, definition: TableDefinition) -> str:
    """SQLite has no sign of a zero."""
    reals = {column.name for column in definition.data_columns if column.type in ("float", "double")}
    found = loads(row)
    return spelled(
        {name: Number("0.0") if name in reals and value == "-0.0" else value for name, value in found.items()}
    )


def as_json(value: Any, type_: str) -> Json:
    if value is None or (isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity")):
        return None
    if value == "":
        # An empty value, which types of numbers have too.
        return value
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if type_ == "boolean":
        return bool(value)
    if type_ == "time":
        return as_time(value)
    if type_ in ("float", "double"):
        number = float(value)
        return None if math.isinf(number) else Number(Real(number, type_ == "double").text())
    return value if type_ in TEXTS or type_.startswith("'") or isinstance(value, int) else loads(value)


@pytest.mark.parametrize("name", SETS if ALL else SOME)
def test_they_are_what_select_shows(name: str, sets_root: Path, tmp_path: Path) -> None:
    recording = recorded(name, sets_root)
    tables = tables_of(recording)
    definitions = {table.definition.id: table.definition for table in tables.values()}
    file = tmp_path / "kept.db"
    images = [image for image in images_of(recording) if f"{image.keyspace}.{image.table}" not in REFUSED]
    into(f"sqlite:{file}", images, definitions, name)
    rows, wrong = sqlite_rows(file), {}
    for table, of in tables.items():
        if table not in REFUSED:
            found = sorted(shown(row, of.definition) for row in rows(table.replace(".", "_")))
            expected = sorted(unsigned(row, of.definition) for row in recording.shown[table])
            if found != expected:
                wrong[table] = set(found) ^ set(expected)
    assert set(wrong) == set(INCOMPLETE) & set(recording.shown), wrong
