"""Looks at a folder: what is read again, and what a completed sidecar spares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.format.sidecar import Sidecar
from tailer.offset import NodeOffset
from tailer.source.folder import look
from tailer.source.survey import Survey

LOG = "CommitLog-7-1795258311984.log"
SEGMENT = 1795258311984


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / LOG).write_bytes(bytes(1000))
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / LOG.replace(".log", "_cdc.idx")).write_text(text)


def test_a_growing_sidecar_is_read_at_each_look(folder: Path) -> None:
    write(folder, "400")
    first = look(folder)
    sidecar = folder / LOG.replace(".log", "_cdc.idx")
    times = (sidecar.stat().st_atime_ns, sidecar.stat().st_mtime_ns)
    write(folder, "500")
    # Same inode, size and time: what a coarse clock makes of two writes in a row.
    os.utime(sidecar, ns=times)
    content = look(folder, first).sidecars[SEGMENT].content
    assert content == Sidecar(500, False)


def test_a_completed_sidecar_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "400\nCOMPLETED")
    first = look(folder)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", None)
        second = look(folder, first)
    assert second.sidecars[SEGMENT] is first.sidecars[SEGMENT]
    assert second.logs == first.logs


@pytest.mark.parametrize("text", ["1000\nCOMPLETED", "", "400"])
def test_a_completed_sidecar_that_changed_is_read_again(folder: Path, text: str) -> None:
    write(folder, "400\nCOMPLETED")
    first = look(folder)
    write(folder, text)
    os.utime(folder / LOG.replace(".log", "_cdc.idx"), ns=(1, 1))
    assert look(folder, first).sidecars[SEGMENT] == look(folder).sidecars[SEGMENT]


def test_a_completed_sidecar_and_its_log_can_vanish(folder: Path) -> None:
    write(folder, "400\nCOMPLETED")
    first = look(folder)
    (folder / LOG.replace(".log", "_cdc.idx")).unlink()
    assert look(folder, first).sidecars == {}
    (folder / LOG).unlink()
    assert look(folder, first).logs == {}


def test_a_settled_segment_keeps_its_view_until_its_log_goes(folder: Path) -> None:
    write(folder, "400\nCOMPLETED")
    survey = Survey(folder)
    offset = NodeOffset(s=SEGMENT + 1)
    views = [survey.look(offset)[SEGMENT] for _ in range(3)]
    assert views[0] == views[1]
    assert views[1] is views[2]
    assert (views[0].log, views[0].sidecar, views[0].finished) == (True, True, "completed")
    (folder / LOG).unlink()
    assert not survey.look(offset)[SEGMENT].log
