"""Typed images of every recorded set: value by value what generic ones have, which add up to what SELECT showed.

Of tables without static columns, whose rows need no join, what they add up to is held to SELECT itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from tailer.errors import DefinitionError
from tailer.images.image import Image
from tailer.images.typed import TypedImages
from tailer.rebuild import Table
from tailer.rows.image_ops import OF_ONE_ROW
from tailer.schema.typed import TypedOptions, typed_table
from tests.helpers.arrow_rows import spelled_rows, without_empty
from tests.helpers.imaged import images_of
from tests.helpers.rebuilt import INCOMPLETE, MISFITS, SETS, recorded, spelled, tables_of
from tests.oracle.jsontext import loads

pytestmark = pytest.mark.slow

STRINGS = TypedOptions(decimals="string", case_sensitive=True)


def form(table: Table) -> TypedImages:
    dropped = {column.name for column in table.definition.columns if column.dropped}
    return TypedImages(typed_table(table.definition, (), STRINGS), dropped)


def of_table(told: Sequence[Image], table: Table) -> list[Image]:
    return [image for image in told if image.table_id.replace("-", "") == table.definition.id]


def rows_of(rows: pa.StructArray) -> pa.Table:
    """The rows that are there, with the table's own columns alone."""
    there = rows.drop_null()
    return pa.table({field.name: there.field(field.name) for field in there.type}).drop_columns(["_known"])


def last_of_each(images: Sequence[Image]) -> list[Image]:
    mine = (image for image in images if image.op in OF_ONE_ROW)
    return list({(image.partition_key, image.clustering, image.is_static): image for image in mine}.values())


@pytest.mark.parametrize("name", SETS)
def test_they_have_what_select_shows(name: str, sets_root: Path) -> None:
    recording = recorded(name, sets_root)
    told, compared = images_of(recording), 0
    for table_name, table in tables_of(recording).items():
        images = of_table(told, table)
        if table_name in MISFITS:
            with pytest.raises(DefinitionError, match="no place in its Arrow type"):
                form(table).to_arrow(images)
            continue
        made = form(table).to_arrow(images)
        for side in ("before", "after"):
            texts = [loads(text) for image in images if (text := getattr(image, side)) is not None]
            rows, names = made[side], {c.name for c in table.definition.columns if not c.dropped}
            live = [{name: value for name, value in row.items() if name in names} for row in texts]
            shown = [spelled({name: value for name, value in row.items() if value is not None}) for row in live]
            assert spelled_rows(rows_of(rows), table) == without_empty_and_nulls(shown)
            assert rows.drop_null().field("_known").to_pylist() == [list(row) for row in live]
        lines = form(table).rows(images).json_lines().splitlines()
        texts = [form(table).texts(made[side]) for side in ("before", "after")]
        for line, *sides in zip(lines, *texts, strict=True):
            assert all(b"null" if text is None else text.encode() in line for text in sides)
        if not any(column.kind == "static" for column in table.definition.columns) and table_name not in INCOMPLETE:
            last = form(table).to_arrow(last_of_each(images))
            assert spelled_rows(rows_of(last["after"]), table) == without_empty_and_nulls(recording.shown[table_name])
            compared += len(recording.shown[table_name])
    assert compared > 0


def without_empty_and_nulls(rows: Sequence[str]) -> list[str]:
    """Of what the typed form cannot tell from null nothing is left."""
    plain = (loads(row) for row in without_empty(rows))
    return sorted(spelled({name: value for name, value in row.items() if value is not None}) for row in plain)
