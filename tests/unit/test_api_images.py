"""`tailer.open(image=…)`: Arrow batches of images, each taken when the next one is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tailer
from tests.unit.spark.test_nodes_away import Log


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
        ({"image": "both", "table": "ks.t"}, "--typed and images"),
        ({"image": "both", "tokens": "5..1"}, "tokens: expected a range of tokens"),
    ],
)
def test_wrong_use_is_told(log: Log, options: dict[str, Any], told: str) -> None:
    with pytest.raises(tailer.UsageError, match=told):
        tailer.open(log.path, **options)


def test_a_range_has_no_rows_before_it(log: Log) -> None:
    with pytest.raises(tailer.UsageError, match="images of a range"):
        tailer.open(log.path, image="after").read()
