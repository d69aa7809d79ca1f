"""The replay ends as the recording, and no sidecar is ever ahead of what was written and synced."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from tailer.demo.recording import RecordedSegment, Recording, load_recording
from tailer.demo.replay import Publication, count_publications, main, replay, write_recording

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recording() -> Recording:
    return load_recording()


def padded(segment: RecordedSegment) -> bytes:
    return segment.data + bytes(segment.size - len(segment.data))


def segment_id(segment: RecordedSegment) -> int:
    return int(segment.name.removesuffix(".log").split("-")[2])


def test_recording_is_small_and_whole(recording: Recording) -> None:
    """Three segments in use, each with its sections as their markers say, and an unused spare."""
    assert len(recording.segments) == 3
    for segment in recording.segments:
        number = segment_id(segment)
        edges = [20]
        while edges[-1] < len(segment.data):
            end, crc = struct.unpack_from(">II", segment.data, edges[-1])
            assert crc == zlib.crc32(struct.pack(">III", number & 0xFFFFFFFF, number >> 32, edges[-1]))
            edges.append(end)
        assert tuple(edges) == segment.edges
        assert segment.end == len(segment.data)
        assert segment.first_published in segment.edges
    assert recording.spare.edges == (20,)
    folder = ROOT / "tailer" / "demo" / "recording"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 400 * 1024


def test_recording_is_what_the_server_left(recording: Recording, sets_root: Path) -> None:
    last_stage = max((sets_root / "50-live" / "live").iterdir())
    for segment in recording.segments:
        assert (last_stage / segment.name).read_bytes() == padded(segment)


def test_replay_ends_byte_for_byte_as_recorded(recording: Recording, tmp_path: Path) -> None:
    pauses: list[float] = []
    seen: list[Publication] = []
    replay(recording, tmp_path, 24.0, published=seen.append, pause=pauses.append)
    assert sum(pauses) == pytest.approx(24.0)
    assert len(seen) == count_publications(recording)
    for segment in (*recording.segments, recording.spare):
        log = tmp_path / "cdc_raw" / segment.name
        assert log.read_bytes() == padded(segment)
        assert log.samefile(tmp_path / "commitlog" / segment.name)
        assert log.stat().st_nlink == 2
    for segment in recording.segments:
        sidecar = tmp_path / "cdc_raw" / segment.name.replace(".log", "_cdc.idx")
        assert sidecar.read_text() == f"{segment.end}\nCOMPLETED"
    assert len(list((tmp_path / "cdc_raw").iterdir())) == 7
    assert len(list((tmp_path / "commitlog").iterdir())) == 4


def test_sidecar_is_never_ahead_of_synced_bytes(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: dict[int, bytes] = {}
    fsync = os.fsync

    def note(descriptor: int) -> None:
        fsync(descriptor)
        synced[os.fstat(descriptor).st_ino] = os.pread(descriptor, 1 << 20, 0)

    monkeypatch.setattr(os, "fsync", note)
    recorded = {segment_id(segment): segment for segment in recording.segments}
    ends: dict[int, list[int]] = {}
    for publication in write_recording(recording, tmp_path):
        segment = recorded[publication.segment]
        log = tmp_path / "cdc_raw" / segment.name
        text = log.with_name(segment.name.replace(".log", "_cdc.idx")).read_text()
        assert text == (f"{publication.end}\nCOMPLETED" if publication.completed else str(publication.end))
        assert synced[log.stat().st_ino][: publication.end] == segment.data[: publication.end]
        assert publication.completed == (publication.end == segment.end)
        ends.setdefault(publication.segment, []).append(publication.end)
    for number, segment in recorded.items():
        first = segment.edges.index(segment.first_published)
        assert ends[number] == list(segment.edges[first:])


def test_next_segment_has_entries_but_no_section_before_the_old_one_is_completed(
    recording: Recording, tmp_path: Path
) -> None:
    for publication in write_recording(recording, tmp_path):
        following = tmp_path / "cdc_raw" / f"CommitLog-7-{publication.segment + 1}.log"
        assert following.exists()
        assert following.read_bytes()[20:28] == bytes(8)
        if publication.completed and publication.segment != segment_id(recording.segments[-1]):
            assert any(following.read_bytes()[28:])


def test_folder_with_these_segments_is_refused(
    recording: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    list(write_recording(recording, tmp_path))
    assert main([str(tmp_path), "--seconds", "0"]) == 8
    assert "could not be written" in capsys.readouterr().err


def test_own_process_prints_each_publication(recording: Recording, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tailer.demo.replay", str(tmp_path), "--seconds", "0.2"]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    assert [(line["segment"], line["end"]) for line in lines if line["completed"]] == [
        (segment_id(segment), segment.end) for segment in recording.segments
    ]
    assert len(lines) == count_publications(recording)
    assert all(before["at"] <= after["at"] for before, after in pairwise(lines))
