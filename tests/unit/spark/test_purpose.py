"""What a session of `stream` is for: by how much log lies before its position, and whether it ends by itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.errors import RefusedError
from tailer.options.to_spark import parse_options
from tailer.spark.purpose import LIVE_BYTES, ONCE_BYTES, Purpose, purpose
from tailer.spark.session import JVM_OPTIONS, settings
from tailer.state.consumers import ConsumerFile, NodeState, write_consumer
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset

LITTLE = "-XX:TieredStopAtLevel=1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "cdc_raw"
    folder.mkdir()
    return folder


def segment(folder: Path, number: int, size: int, sidecar: str | None = None) -> None:
    """A segment's file of that many bytes, which take no room, and its sidecar."""
    name = f"CommitLog-7-{number}"
    (folder / f"{name}.log").touch()
    os.truncate(folder / f"{name}.log", size)
    if sidecar is not None:
        (folder / f"{name}_cdc.idx").write_text(sidecar)


def judged(folder: Path, checkpoint: Path | None = None, *, once: bool = True, **options: str) -> Purpose:
    return purpose(parse_options({"path": str(folder), **options}), checkpoint, once=once)


def begun(folder: Path, checkpoint: Path, offset: NodeOffset) -> None:
    """A query that stands at an offset."""
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "offsets" / "0").write_text("v1")
    state = state_folder(folder)
    (state / "consumers").mkdir(parents=True)
    write_consumer(state, ConsumerFile("spark", {"local": NodeState(offset)}))


@pytest.mark.parametrize(("once", "least"), [(True, ONCE_BYTES), (False, LIVE_BYTES)])
def test_a_backlog_of_enough_bytes_makes_a_long_run(folder: Path, once: bool, least: int) -> None:
    segment(folder, 7, least // 2, f"{least // 2}\nCOMPLETED")
    segment(folder, 8, least, f"{least // 2 - 1}")
    assert not judged(folder, once=once).long
    (folder / "CommitLog-7-8_cdc.idx").write_text(f"{least // 2}")
    assert judged(folder, once=once).long


def test_the_reason_has_the_size_and_the_kind_of_run(folder: Path) -> None:
    segment(folder, 7, LIVE_BYTES, f"{LIVE_BYTES}")
    assert judged(folder).why == (
        "the JVM compiles fully: a run that ends with what is there, with 256.0M of log before it (64.0M or more)"
    )
    assert judged(folder, startingOffsets="latest", once=False).why == (
        "the JVM compiles little, to start soon: a stream, with 0 of log before it"
    )


def test_segments_that_nobody_vouches_for_do_not_count(folder: Path) -> None:
    segment(folder, 7, 2 * LIVE_BYTES)
    segment(folder, 8, 2 * LIVE_BYTES, "")
    (folder / "CommitLog-7-9_cdc.idx").write_text(f"{LIVE_BYTES}")
    assert not judged(folder).long


def test_only_what_lies_behind_the_position_counts(folder: Path, tmp_path: Path) -> None:
    segment(folder, 7, LIVE_BYTES, f"{LIVE_BYTES}\nCOMPLETED")
    segment(folder, 8, ONCE_BYTES, f"{ONCE_BYTES}")
    assert judged(folder).long
    assert judged(folder, startingOffsets="8:0").long
    assert not judged(folder, startingOffsets="8:1").long
    assert not judged(folder, startingOffsets="latest").long
    assert judged(folder, startingOffsets='{"j":0,"s":8,"o":0,"done":false,"p":[]}').long
    assert not judged(folder, startingOffsets='{"j":0,"s":8,"o":1,"done":false,"p":[]}').long
    checkpoint = tmp_path / "checkpoint"
    begun(folder, checkpoint, NodeOffset(s=8, o=1, done=False))
    assert not judged(folder, checkpoint).long
    assert not judged(folder, checkpoint, startingOffsets="earliest").long, "it counts for a new checkpoint only"
    assert judged(folder, tmp_path / "another").long
    assert judged(folder, None).long
    assert judged(folder, checkpoint, consumer="another").long


def test_several_nodes_count_together_and_one_may_come_later(tmp_path: Path) -> None:
    for node in "ab":
        (tmp_path / node).mkdir()
        segment(tmp_path / node, 7, ONCE_BYTES, f"{ONCE_BYTES // 2}")
    options = parse_options({"path": f"a={tmp_path}/a,b={tmp_path}/b,c={tmp_path}/c"})
    assert purpose(options, None, once=True).long
    assert not purpose(parse_options({"path": f"a={tmp_path}/a,c={tmp_path}/c"}), None, once=True).long


def test_a_consumer_file_that_is_not_understood_is_refused_here_too(folder: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    begun(folder, checkpoint, NodeOffset())
    (state_folder(folder) / "consumers" / "spark.json").write_text("{")
    with pytest.raises(RefusedError, match=r"spark\.json"):
        judged(folder, checkpoint)


@pytest.mark.parametrize("version", [(4, 0), (4, 3)])
def test_a_long_run_differs_in_how_much_is_compiled_and_in_nothing_else(version: tuple[int, int]) -> None:
    live, long = settings(version), settings(version, long=True)
    assert LITTLE in live.pop(JVM_OPTIONS)
    assert LITTLE not in long.pop(JVM_OPTIONS)
    assert live == long
