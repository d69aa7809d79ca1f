"""Only regular files are opened, whatever has the name of one. Nothing here may wait for the other side of a FIFO."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.framing.sidecar import Sidecar
from tailer.planning.survey import Survey
from tailer.segments.folder import DROPPED
from tailer.segments.looks import Looks, look
from tailer.segments.regular import open_regular
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import SourceSegments
from tailer.segments.source import FolderSource
from tailer.state.offset import NodeOffset
from tests.helpers.log_writer import LogFolder, completed, segment_of
from tests.helpers.other_files import OTHERS

SEGMENT = 1795258311984
LOG = f"CommitLog-7-{SEGMENT}.log"
SIDECAR = f"CommitLog-7-{SEGMENT}_cdc.idx"


@pytest.fixture(params=OTHERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_what_is_no_regular_file_counts_as_none(tmp_path: Path, kind: str) -> None:
    OTHERS[kind](tmp_path / LOG)
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / LOG)
    with pytest.raises(FileNotFoundError):
        SegmentFile(tmp_path / LOG, SEGMENT)
    with pytest.raises(FileNotFoundError), SourceSegments(FolderSource(tmp_path)).opened(SEGMENT):
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files


def test_a_regular_file_and_a_link_to_one_are_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"bytes")
    (tmp_path / LOG).symlink_to("file")
    for name in ("file", LOG):
        descriptor = open_regular(tmp_path / name)
        assert os.read(descriptor, 9) == b"bytes"
        os.close(descriptor)


def test_a_link_to_itself_is_no_file(tmp_path: Path) -> None:
    (tmp_path / LOG).symlink_to(LOG)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / LOG)
    assert (look(tmp_path).logs, look(tmp_path).others) == ({}, {LOG: "a link to itself"})


def test_a_look_names_it_and_passes_it_by(tmp_path: Path, kind: str) -> None:
    writer = segment_of(SEGMENT, [[b"any payload of an entry"]])
    LogFolder(tmp_path).put(writer, completed(writer))
    for name in ("CommitLog-7-5.log", "CommitLog-7-6_cdc.idx"):
        OTHERS[kind](tmp_path / name)
    found = look(tmp_path)
    assert found.others == {"CommitLog-7-5.log": kind, "CommitLog-7-6_cdc.idx": kind}
    assert (found.segments, list(found.sidecars)) == ([SEGMENT], [SEGMENT])
    assert found.odd == {5, 6}
    looks = Looks(tmp_path)
    for whole in (True, False, True):
        looks.look(whole=whole)
        assert looks.listing.others == found.others


def test_the_writers_own_file_of_what_it_dropped_may_be_none(tmp_path: Path, kind: str) -> None:
    OTHERS[kind](tmp_path / DROPPED)
    assert look(tmp_path).dropped is None


def test_a_survey_says_so_once(tmp_path: Path) -> None:
    """Also where it looks again and again, and a second name comes later."""
    os.mkfifo(tmp_path / "CommitLog-7-5.log")
    survey = Survey(FolderSource(tmp_path))
    said = []
    for _ in range(3):
        assert survey.look(NodeOffset()) == {}
        said += survey.take_notices()
    (tmp_path / "CommitLog-7-5_cdc.idx").mkdir()
    survey.look(NodeOffset())
    assert said == ["CommitLog-7-5.log is a FIFO, no regular file: it is passed by"]
    assert survey.take_notices() == ["CommitLog-7-5_cdc.idx is a folder, no regular file: it is passed by"]


def test_a_sidecar_is_as_new_as_what_was_read_of_it(tmp_path: Path) -> None:
    (tmp_path / SIDECAR).write_text("400")
    os.utime(tmp_path / SIDECAR, (1000.5, 1000.5))
    found = look(tmp_path).sidecars[SEGMENT]
    assert (found.content, found.modified) == (Sidecar(400, False), 1000.5)
