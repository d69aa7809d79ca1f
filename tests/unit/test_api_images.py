"""`tailer.open(image=…)`: Arrow batches of images, each taken when the next one is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import tailer
from tailer.images import Image
from tailer.images.typed import TypedImages
from tailer.schema.model import Column, TableDefinition
from tailer.schema.typed import TypedOptions
from tests.unit.spark.test_nodes_away import Log

KEY = Column("id", "partition_key", "int", 0)
DATA = Column("a", "regular", "int"), Column("b", "regular", "int")


@pytest.fixture
def log(tmp_path: Path) -> Log:
    made = Log(tmp_path / "cdc_raw")
    made.write("a", "b")
    return made


def images(batches: Any) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def after(rows: list[dict[str, Any]]) -> list[Any]:
    return [json.loads(row["after"])["ck"] for row in rows]


def test_images_of_what_is_new(log: Log) -> None:
    opened = tailer.open(log.path, consumer="c", image="both")
    found = images(opened.follow(once=True))
    assert [row["op"] for row in found] == ["insert", "insert"]
    assert after(found) == ["a", "b"]
    assert found[0]["changed"] == ["v"]
    assert images(opened.follow(once=True)) == []
    log.write("c")
    assert after(images(opened.follow(once=True))) == ["c"]


def test_what_was_not_taken_comes_again(log: Log) -> None:
    opened = tailer.open(log.path, consumer="c", image="after")
    batches = opened.follow(once=True)
    first = images([next(batches)])
    batches.close()  # type: ignore[attr-defined]
    again = images(opened.follow(once=True))
    assert again[: len(first)] == first


def test_without_a_consumer_for_a_look(log: Log) -> None:
    opened = tailer.open(log.path, image="after")
    assert after(images(opened.follow(once=True))) == ["a", "b"]
    assert after(images(opened.follow(once=True))) == ["a", "b"]
    with pytest.raises(tailer.UsageError, match="kept under the name of a consumer"):
        next(opened.follow())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"image": "whole"}, "image: expected after or both"),
        ({"image_state": "x"}, "--image-state is for images"),
        ({"image": "both", "tokens": "5..1"}, "tokens: expected a range of tokens"),
    ],
)
def test_wrong_use_is_told(log: Log, options: dict[str, Any], told: str) -> None:
    with pytest.raises(tailer.UsageError, match=told):
        tailer.open(log.path, **options)


def of_row(op: Any, after: str) -> Image:
    return Image("ks", "t", "0", 1, '{"id":1}', None, False, None, op, None, after, (), 1, 1, None, op == "insert")


def test_typed_ones_of_one_table(log: Log) -> None:
    opened = tailer.open(log.path, consumer="c", table="ks.t", image="both")
    (batch,) = opened.follow(once=True)
    assert batch.schema.field("after").type == pa.struct(
        [("pk", pa.int32()), ("ck", pa.string()), ("v", pa.int32()), ("_known", pa.list_(pa.string()))]
    )
    rows = batch.to_pylist()
    assert [row["before"] for row in rows] == [None, None]
    assert [row["after"] for row in rows] == [
        {"pk": number, "ck": value, "v": number, "_known": ["pk", "ck", "v"]} for number, value in enumerate("ab")
    ]
    assert list(opened.follow(once=True)) == []


def test_typed_ones_of_rows_that_are_known_in_part() -> None:
    newest = TableDefinition("0" * 32, "ks", "t", (KEY, *DATA))
    image = of_row("upsert", '{"id":1,"b":null}')
    (row,) = TypedImages(newest, TypedOptions()).to_arrow([image]).to_pylist()
    assert row["after"] == {"id": 1, "a": None, "b": None, "_known": ["id", "b"]}


def test_typed_ones_behind_an_alter() -> None:
    """A column that came is refused, or left out; of one that went there is nothing to say."""
    later = TableDefinition("0" * 32, "ks", "t", (KEY, DATA[0], msgspec.structs.replace(DATA[1], dropped=True)))
    gone, came = (of_row("insert", text) for text in ('{"id":1,"a":2,"b":3}', '{"id":1,"a":2,"c":3}'))
    shown = {"id": 1, "a": 2, "_known": ["id", "a"]}
    strict, tolerant = (TypedImages(later, TypedOptions(on_change=how)) for how in ("fail", "ignore"))  # type: ignore[arg-type]
    assert [form.to_arrow([gone]).to_pylist()[0]["after"] for form in (strict, tolerant)] == [shown, shown]
    assert tolerant.to_arrow([came]).to_pylist()[0]["after"] == shown
    with pytest.raises(tailer.DefinitionError, match='column "c", for which'):
        strict.to_arrow([came])


def test_a_range_has_no_rows_before_it(log: Log) -> None:
    with pytest.raises(tailer.UsageError, match="images of a range"):
        tailer.open(log.path, image="after").read()
