"""The figures of a Spark query: out of progress as Spark writes it, and its folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.metrics import declared as m
from tailer.metrics.streaming import GivenUp, Stream
from tailer.segments.source import FolderSource
from tests.helpers.log_writer import one_row_log, one_row_segment, simple_table

FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")


def progress(end: object, latest: object, rows: int = 10) -> dict[str, Any]:
    source = {"startOffset": None, "endOffset": end, "latestOffset": latest, "numInputRows": rows}
    return {"batchId": 0, "numInputRows": rows, "durationMs": {"triggerExecution": 250}, "sources": [source]}


def offset(segment: int, at: int, *, done: bool) -> dict[str, Any]:
    return {"v": 2, "t": 0, "nodes": {"n1": {"j": 3, "s": segment, "o": at, "done": done, "p": [], "id": "ab"}}}


def values(stream: Stream) -> dict[tuple[Any, ...], Any]:
    return {(sample.metric, *sample.labels): sample.value for sample in stream.samples()}


@pytest.mark.parametrize("form", [lambda told: told, json.dumps], ids=["object", "text"])
def test_progress_becomes_numbers(tmp_path: Path, form: Callable[[Any], Any]) -> None:
    folder = one_row_log(tmp_path / "cdc_raw", TABLE, FIRST, 3)
    now = [100.0]
    before = {"n1": GivenUp(losses=1, quarantined=4)}
    stream = Stream({"n1": FolderSource(folder.path)}, "lake", 10**9, before, lambda: now[0])
    assert stream.unready() == ["the query has not begun"]
    run = ("lake", "n1")
    assert (m.LAG_BYTES, *run) not in values(stream)
    stream.turned()
    assert stream.unready() == []
    latest = {**offset(FIRST + 2, 50, done=False), "givenUp": {"n1": {"losses": 1, "quarantined": 6}}}
    stream.take(progress(form(offset(FIRST + 1, 0, done=True)), form(latest)))
    stream.take(progress(form(offset(FIRST + 1, 0, done=True)), form(None)))
    found = values(stream)
    assert (found[m.STREAM_ROWS, "lake"], sum(found[m.STREAM_BATCH, "lake"].counts)) == (20, 2)
    assert found[m.STREAM_BATCH, "lake"].total == pytest.approx(0.5)
    assert found[m.LAG_BYTES, *run] == int(one_row_segment(TABLE, FIRST, 2).end)
    assert found[m.LAG_SEGMENTS, *run] == 1
    assert (found[m.LOSSES, *run], found[m.QUARANTINED, *run], found[m.READY, *run]) == (0, 2, 1)
    now[0] += 200
    assert stream.stuck() == ["the query has not moved for 200 s"]
    assert values(stream)[m.READY, *run] == 0


def test_a_node_that_was_removed_is_told_of_no_more(tmp_path: Path) -> None:
    folder = one_row_log(tmp_path / "cdc_raw", TABLE, FIRST, 3)
    stream = Stream({"n1": FolderSource(folder.path), "n2": FolderSource(folder.path)}, "lake", 10**9)
    both = offset(FIRST, 0, done=True)
    both["nodes"]["n2"] = both["nodes"]["n1"]
    stream.take(progress(both, None))
    assert (m.LAG_BYTES, "lake", "n2") in values(stream)
    stream.take(progress({**both, "v": 3, "nodes": {**both["nodes"], "n2": {"removed": "ab"}}}, None))
    assert (m.LAG_BYTES, "lake", "n2") not in values(stream)
    assert (m.LAG_BYTES, "lake", "n1") in values(stream)


def test_what_older_versions_do_not_tell_is_left_out(tmp_path: Path) -> None:
    folder = one_row_log(tmp_path / "cdc_raw", TABLE, FIRST, 2)
    stream = Stream({"n1": FolderSource(folder.path)}, None)
    stream.turned()
    stream.take(progress(offset(FIRST, 0, done=False), "null"))
    found = values(stream)
    assert (m.LOSSES, "none", "n1") not in found
    assert found[m.LAG_SEGMENTS, "none", "n1"] == 2
