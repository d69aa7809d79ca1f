"""Options, offsets and errors of the data source: words and values, nothing opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CorruptError, LossError, RefusedError, UsageError
from tailer.options.to_spark import SPARK, parse_options
from tailer.position import Position
from tailer.spark.errors import CdcTailError, find_error, told
from tailer.spark.offsets import SourceOffset, decode_offset
from tailer.spark.session import settings
from tailer.state.offset import NodeOffset


def test_defaults() -> None:
    options = parse_options({"path": "/var/lib/cassandra/cdc_raw"})
    assert options.places == (("local", Path("/var/lib/cassandra/cdc_raw")),)
    assert (options.tail.consumer, options.tail.start, options.ending) == ("spark", "earliest", "latest")
    assert (options.max_bytes, options.wait_seconds, options.tick_seconds) == (None, 0.5, 40)
    assert not options.tail.accept_loss
    assert options.of("local", once=False).node == "local"


def test_names_are_not_case_sensitive_and_values_are_parsed() -> None:
    options = parse_options(
        {
            "PATH": "b=/b,a=/a",
            "tables": "shop.*, billing.invoices",
            "FailOnDataLoss": "FALSE",
            "maxbytespertrigger": "64m",
            "waitMillis": "0",
            "onError": "quarantine",
            "stateDir": "/state",
            "startingOffsets": "17:20",
        }
    )
    assert options.places == (("a", Path("/a")), ("b", Path("/b")))
    assert options.tail.tables == ("shop.*", "billing.invoices")
    assert options.tail.accept_loss
    assert options.tail.quarantine
    assert options.max_bytes == 64 * 1024 * 1024
    assert options.of("b", once=True).state == Path("/state/b")
    assert options.tail.start == "17:20"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"partitions": "4"}, ["partitions", *SPARK]),
        ({"minPartitions": "0"}, ["minPartitions", "whole number"]),
        ({"table": "shop.*"}, ["keyspace.table", "shop.*"]),
        ({"table": "shop.a", "tables": "shop.b"}, ["shop.a", "shop.b"]),
        ({"metaPrefix": "a b"}, ["metaPrefix"]),
        ({"onError": "skip"}, ["onError", "stop", "quarantine", "'skip'"]),
        ({"readOn": "nowhere"}, ["readOn", "executors", "driver"]),
        ({"failOnDataLoss": "maybe"}, ["failOnDataLoss", "true", "false"]),
        ({"waitMillis": "-1"}, ["waitMillis", "0 or more"]),
        ({"maxBytesPerTrigger": "0"}, ["maxBytesPerTrigger", "64m"]),
        ({"startingOffsets": "oldest"}, ["startingOffsets", "earliest", "latest", "JSON"]),
        ({"startingOffsets": "{oops"}, ["startingOffsets", "JSON"]),
        ({"consumer": "a/b"}, ["consumer", "'a/b'"]),
        ({"node": "a", "path": "b=/b"}, ["node", "path"]),
        ({"path": "a=/a,a=/b"}, ["two folders"]),
        ({"path": ""}, ["no log folder"]),
        ({"node": "a b"}, ["node", "'a b'"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_option_names_the_valid_ones(given: dict[str, str], words: list[str]) -> None:
    with pytest.raises(UsageError) as error:
        parse_options({"path": "/x", **given})
    assert [word for word in words if word not in error.value.sentence()] == []


def test_a_folder_may_hold_an_equals_sign() -> None:
    assert parse_options({"path": "/data/day=1/cdc_raw"}).places == (("local", Path("/data/day=1/cdc_raw")),)


def test_an_offset_has_keys_and_nodes_in_fixed_order() -> None:
    offset = SourceOffset(3, {"b": NodeOffset(2, 5, 70, False, ((4, 10),)), "a": NodeOffset()})
    text = (
        '{"v":1,"t":3,"nodes":{"a":{"j":0,"s":0,"o":0,"done":true,"p":[]},'
        '"b":{"j":2,"s":5,"o":70,"done":false,"p":[[4,10]]}}}'
    )
    assert json.dumps(offset.as_json(), separators=(",", ":")) == text
    assert decode_offset(json.loads(text)) == offset


def test_with_the_id_of_a_state_an_offset_is_of_the_second_version() -> None:
    offset = SourceOffset(3, {"b": NodeOffset(2, 5, 70, False, (), "00ff00ff00ff00ff"), "a": NodeOffset()})
    text = (
        '{"v":2,"t":3,"nodes":{"a":{"j":0,"s":0,"o":0,"done":true,"p":[]},'
        '"b":{"j":2,"s":5,"o":70,"done":false,"p":[],"id":"00ff00ff00ff00ff"}}}'
    )
    assert json.dumps(offset.as_json(), separators=(",", ":")) == text
    assert decode_offset(json.loads(text)) == offset


@pytest.mark.parametrize(
    "data",
    [{"v": 99, "t": 0, "nodes": {}}, {}, 7, {"v": 1, "t": "x", "nodes": {}}, {"v": 1, "t": 0, "nodes": {"a": 1}}],
)
def test_offsets_of_others_are_refused(data: Any) -> None:
    with pytest.raises(RefusedError):
        decode_offset(data)


@pytest.mark.parametrize("error", [LossError("gone", at=Position(1, 2), remedy="Bring it back."), CorruptError("torn")])
def test_an_error_survives_a_traceback(error: LossError | CorruptError) -> None:
    with pytest.raises(CdcTailError) as raised, told():
        raise error
    assert str(raised.value) == f"[CDC-{error.code}] {error.sentence()}"
    text = (
        f"[STREAM_FAILED] …: Traceback …\n  File x\ntailer.spark.errors.CdcTailError: {raised.value}\n SQLSTATE: 38000"
    )
    found = find_error(text)
    assert type(found) is type(error)
    assert found is not None
    assert found.sentence() == error.sentence()
    assert find_error("[STREAM_FAILED] something else") is None


def test_system_errors_have_a_code_too() -> None:
    with pytest.raises(CdcTailError, match=r"\[CDC-8\] No space left on device \(/x\)"), told():
        raise OSError(28, "No space left on device", "/x")


def test_the_checkpoint_manager_moved_with_4_1() -> None:
    name = "spark.sql.streaming.checkpointFileManagerClass"
    assert ".streaming.FileSystem" in settings((4, 0))[name]
    assert ".streaming.checkpointing.FileSystem" in settings((4, 1))[name]
