"""Data files of images to what takes rows one by one: a topic, a search engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import SinkError, UsageError
from tailer.images.image_rows import ImageRows
from tailer.shipping import file_rows
from tailer.shipping.bulk_actions import Actions
from tests.helpers.image_files import CAUSE, image, write_images
from tests.helpers.outlets import Target
from tests.helpers.web_server import Server
from tests.unit.shipping.test_to_bulk import Engine, engine, send, server
from tests.unit.shipping.test_to_outlet import once, target
from tests.unit.shipping.test_to_outlet import send as to_topic

__all__ = ["engine", "server", "target"]

KEY = {"id": 17, "at": "a"}
ONE, TWO = {**KEY, "total": 1.5}, {**KEY, "total": 2.5}
IMAGES = [
    image("insert", None, ONE),
    image("update", ONE, TWO, seq=10, changed=("total", "x")),
    image("expire", TWO, None, seq=11, write_ts=None, **dict.fromkeys(CAUSE)),
    image("schema", token=None, partition_key=None, clustering=None, changed=()),
    image("delete_range", clustering=None, range='{"start":null}', complete=False),
]


@pytest.mark.parametrize("form", ["rows", "arrow"])
def test_each_image_once_though_commits_are_lost(tmp_path: Path, target: Target, form: str) -> None:
    write_images(tmp_path, IMAGES, IMAGES[:2], format=form)
    target.fails = once((0, "after"), (1, "before"))
    assert to_topic(tmp_path) == 2
    expected = ImageRows([*IMAGES, *IMAGES[:2]]).json_lines().decode().splitlines()
    assert target.rows == [json.loads(line) for line in expected]
    ((key, _),) = target.places.items()
    assert (key.node, key.consumer) == ("images", "ship/ship/billing")


def test_envelopes_are_no_images_any_more(tmp_path: Path, target: Target) -> None:
    write_images(tmp_path, IMAGES[:1], format="debezium")
    with pytest.raises(UsageError, match="needs files of generic rows"):
        to_topic(tmp_path)


def test_documents_of_whole_rows(tmp_path: Path, engine: Engine, server: Server) -> None:
    other = {"clustering": '{"at":"b"}'}
    write_images(
        tmp_path,
        [
            image("insert", None, ONE),
            image("update", ONE, TWO, seq=10),
            image("upsert", None, {"id": 17, "at": "b", "x": 1}, seq=11, complete=False, **other),
            IMAGES[3],
            image("truncate", token=None, partition_key=None, clustering=None),
        ],
    )
    assert send(tmp_path, server) == 1
    assert engine.documents["shop.orders", '{"id":17,"at":"a"}'] == {
        **TWO, "@change": {"op": "update", "event_id": "n1:5:28:0", "partial": False},
    }  # fmt: skip
    assert engine.documents["shop.orders", '{"id":17,"at":"b"}']["@change"]["partial"] is True
    assert engine.versions["shop.orders", '{"id":17,"at":"a"}'] == 10
    write_images(tmp_path, [IMAGES[2], image("update", ONE, TWO, seq=8)])
    said: list[str] = []
    assert send(tmp_path, server, said=said) == 1
    assert set(engine.documents) == {("shop.orders", '{"id":17,"at":"b"}')}
    assert said == ["1 changes were older than the documents that are there, which were left as they are"]


@pytest.mark.parametrize(
    ("op", "more"), [("delete_range", {}), ("delete_partition", {}), ("truncate", {"complete": False}), ("drop", {})]
)
def test_what_the_api_has_no_action_for(op: str, more: dict[str, Any]) -> None:
    line = ImageRows([image(op, clustering=None, **more)]).json_lines().rstrip()
    with pytest.raises(SinkError, match=f"is a {op}, which the bulk API has no action for"):
        list(Actions("{keyspace}.{table}", leave_out=False).of_images([line]))
    actions = Actions("{keyspace}.{table}", leave_out=True)
    assert list(actions.of_images([line])) == []
    assert actions.left_out == 1


def test_batches_are_no_longer_than_those_of_rows(tmp_path: Path, target: Target) -> None:
    assert file_rows.BATCH_ROWS == 2
    write_images(tmp_path, IMAGES)
    assert to_topic(tmp_path) == 1
    assert max(target.commits) <= 4
