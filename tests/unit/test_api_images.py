"""`tailer.open(image=…)`: Arrow batches of images, each taken when the next one is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import tailer
from tailer.images import Image
from tailer.images.typed import TypedImages
from tailer.schema.model import Column, TableDefinition
from tailer.schema.typed import TypedOptions, typed_table
from tests.helpers.log_writer import (
    TS,
    Cell,
    Liveness,
    LogFolder,
    Row,
    Update,
    alter_payload,
    create_payload,
    encode_mutation,
    i32,
    insert_payload,
    live,
    segment_of,
)
from tests.helpers.logs.model import Column as LogColumn
from tests.unit.spark.test_nodes_away import TABLE, Log

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
    (row,) = TypedImages(typed_table(newest, (), TypedOptions())).to_arrow([image]).to_pylist()
    assert row["after"] == {"id": 1, "a": None, "b": None, "_known": ["id", "b"]}


def test_typed_ones_of_a_log_that_alters_its_table(tmp_path: Path) -> None:
    """The columns are those of all the log that there is; a run that goes on when one comes later has not got it."""
    later = LogColumn("w", "regular", "int")
    altered = replace(TABLE, columns=(*TABLE.columns, later))
    alter = alter_payload(TABLE, later, TS + 2)
    row = Row((b"b",), Liveness(TS + 3), None, (("w", Cell(i32(7), TS + 3, like_row=1)),))
    first = [create_payload(TABLE)], [insert_payload(TABLE, 1, "a", 1, TS + 1)]
    second = [alter], [encode_mutation((Update(altered, i32(2), (row,)),))]
    folder = LogFolder(tmp_path / "cdc_raw")
    whole, begun = segment_of(1_700_000_000_001, [*first, *second]), segment_of(1_700_000_000_001, [*first])
    folder.put(begun, live(begun))
    opened = tailer.open(folder.path, consumer="c", table="ks.t", image="after")
    rows = opened.follow()
    assert next(rows).to_pylist()[0]["after"] == {"pk": 1, "ck": "a", "v": 1, "_known": ["pk", "ck", "v"]}
    folder.put(whole, live(whole))
    taken: list[dict[str, Any]] = []
    with pytest.raises(tailer.DefinitionError, match='column "w", for which'):
        # The image of the ALTER may come in a batch of its own.
        taken.extend(image for batch in islice(rows, 2) for image in batch.to_pylist())
    after = {"pk": 2, "ck": "b", "v": None, "w": 7, "_known": ["pk", "ck", "v", "w"]}
    taken += images(opened.follow(once=True))
    assert [(each["op"], each["after"]) for each in taken] == [("schema", None), ("insert", after)]
    look = tailer.open(folder.path, table="ks.t", image="after")
    assert images(look.follow(once=True))[-1]["after"] == after


def test_typed_ones_of_a_column_of_the_key_that_was_renamed() -> None:
    newest = TableDefinition("0" * 32, "ks", "t", (msgspec.structs.replace(KEY, name="key"), *DATA))
    (row,) = (
        TypedImages(typed_table(newest, (), TypedOptions())).to_arrow([of_row("insert", '{"id":1,"a":2}')]).to_pylist()
    )
    assert row["after"] == {"key": 1, "a": 2, "b": None, "_known": ["key", "a"]}


def test_typed_ones_behind_an_alter() -> None:
    """A column that came is refused, or left out; of one that went there is nothing to say."""
    later = TableDefinition("0" * 32, "ks", "t", (KEY, DATA[0], msgspec.structs.replace(DATA[1], dropped=True)))
    gone, came = (of_row("insert", text) for text in ('{"id":1,"a":2,"b":3}', '{"id":1,"a":2,"c":3}'))
    shown = {"id": 1, "a": 2, "_known": ["id", "a"]}
    options = (TypedOptions(on_change="fail"), TypedOptions(on_change="ignore"))
    strict, tolerant = (TypedImages(typed_table(later, (), each), {"b"}) for each in options)
    assert [form.to_arrow([gone]).to_pylist()[0]["after"] for form in (strict, tolerant)] == [shown, shown]
    assert tolerant.to_arrow([came]).to_pylist()[0]["after"] == shown
    with pytest.raises(tailer.DefinitionError, match='column "c", for which'):
        strict.to_arrow([came])


def test_a_range_has_no_rows_before_it(log: Log) -> None:
    with pytest.raises(tailer.UsageError, match="images of a range"):
        tailer.open(log.path, image="after").read()
