"""A table that is kept by its images, where the name has another table by now. Spark's frames are stood in for."""

from __future__ import annotations

from typing import Any, ClassVar
from unittest.mock import MagicMock
from uuid import UUID

import msgspec
import pytest

from tailer.errors import RefusedError
from tailer.images.image_rows import ImageRows
from tailer.rebuild import Table
from tailer.schema.model import Column, TableDefinition
from tailer.spark.image_merge import ImageMerge
from tailer.spark.merged import KeptImages

OLD, KNOWN, NEW = (f"0000000{number}-0000-1000-8000-000000000000" for number in (1, 2, 3))
TABLE = Table.of(TableDefinition(UUID(KNOWN).hex, "ks", "t", (Column("pk", "partition_key", "int", 0),)))


class Nowhere:
    """A place where no table is kept yet."""

    def __init__(self, spark: object, target: str) -> None:
        self.target = target

    def is_there(self) -> bool:
        return False


class Merge(ImageMerge):
    PREFIX = "_"
    place: ClassVar[Any] = Nowhere


@pytest.fixture(autouse=True)
def functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expressions of Spark need a session."""
    for name in ("col", "lit"):
        monkeypatch.setattr(f"pyspark.sql.functions.{name}", MagicMock())


def images_of(*ids: str) -> Any:
    """A frame with images of these tables of the name, and with none of the merged table."""
    frame = MagicMock(columns=ImageRows([]).to_arrow().schema.names)
    for name in ("where", "select", "distinct", "persist"):
        getattr(frame, name).return_value = frame
    frame.collect.return_value = [(id,) for id in ids]
    frame.isEmpty.return_value = True
    return frame


def merge(table: Any) -> Merge:
    return Merge(MagicMock(), "/lake/t", table)


def test_images_of_a_table_that_was_created_under_the_name_are_refused() -> None:
    with pytest.raises(RefusedError) as caught:
        merge(TABLE)(images_of(KNOWN, NEW), 0)
    error = caught.value
    assert (error.code, error.file, error.expected, error.found) == (
        6, "/lake/t", f"table id {UUID(KNOWN).hex}", UUID(NEW).hex,
    )  # fmt: skip
    assert "images of another table with the name ks.t: it was dropped and created again" in error.sentence()
    assert "table_definition" in error.remedy
    assert "includeSchemaChanges" not in error.remedy


def test_images_of_an_earlier_table_are_not() -> None:
    merge(TABLE)(images_of(OLD, KNOWN), 0)
    merge(Table(TABLE.definition, former=(UUID(NEW).hex,)))(images_of(NEW), 0)


def test_a_function_gives_the_newest_definition() -> None:
    merge(lambda: TABLE)(images_of(KNOWN, NEW), 0)


def test_images_of_the_table_that_is_kept_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table that is given was created behind it, with an id that tells no time."""
    given = msgspec.structs.replace(TABLE.definition, id="2" * 32)
    made = merge(Table.of(given))
    merged: list[Any] = []
    monkeypatch.setattr(made, "_begin", lambda: KeptImages(TABLE))
    monkeypatch.setattr(made, "_merge", lambda mine, table: merged.append(table.definition.id))
    made(images_of(KNOWN), 0)
    assert merged == ["2" * 32]
