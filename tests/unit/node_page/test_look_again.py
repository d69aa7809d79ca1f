"""Hints: what changes in a log or its state ends a wait, nothing else does; and where there can be none."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tailer.node_page import look_again as module
from tailer.node_page.look_again import Hints
from tailer.segments.wake import PollWaker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cdc_raw"
    made.mkdir()
    return made


def changes(folder: Path, state: Path) -> dict[str, Callable[[], object]]:
    return {
        "a sidecar is written": lambda: (folder / "CommitLog-7-1_cdc.idx").write_text("5"),
        "it is written over": lambda: (folder / "CommitLog-7-1_cdc.idx").write_text("6"),
        "it goes": (folder / "CommitLog-7-1_cdc.idx").unlink,
        "the state is made": lambda: (state / "consumers").mkdir(parents=True),
        "a consumer moves": lambda: (state / "consumers" / "c.json").write_text("{}"),
        "quarantine": lambda: (state / "quarantine").mkdir(),
    }


def test_each_change_ends_a_wait(folder: Path) -> None:
    state = folder.with_name("cdc_raw.cdc_tail")
    hints = Hints(folder, state)
    for name, change in changes(folder, state).items():
        # Before, so that the wait need not be interrupted: what is written in the state is seen at a wait's end.
        change()
        assert hints.wait(0.2), name
        assert not hints.wait(0.02), name
    hints.close()


def test_a_log_that_grows_ends_a_wait_at_once(folder: Path) -> None:
    hints = Hints(folder, folder / "state")
    timer = threading.Timer(0.05, lambda: (folder / "CommitLog-7-1_cdc.idx").write_text("5"))
    timer.start()
    began = time.monotonic()
    assert hints.wait(30.0)
    assert time.monotonic() - began < 15.0
    timer.join()
    hints.close()


def test_another_folder_of_that_name(folder: Path) -> None:
    hints = Hints(folder, folder / "state")
    folder.rename(folder.with_name("old"))
    assert hints.wait(0.1)
    folder.mkdir()
    assert hints.wait(0.1)
    assert not hints.wait(0.02)
    (folder / "CommitLog-7-1_cdc.idx").write_text("5")
    assert hints.wait(0.1)
    shutil.rmtree(folder)
    assert hints.wait(0.1)
    assert not hints.wait(0.02)
    hints.close()


def test_without_inotify_new_names_are_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "open_waker", lambda folder: PollWaker())
    hints = Hints(folder, folder / "state")
    assert not hints.wait(0.01)
    (folder / "CommitLog-7-1.log").touch()
    assert hints.wait(0.01)


def test_closed_while_somebody_waits(folder: Path) -> None:
    hints = Hints(folder, folder / "state")
    heard: list[bool] = []
    thread = threading.Thread(target=lambda: heard.append(hints.wait(0.2)))
    thread.start()
    time.sleep(0.05)
    hints.close()
    thread.join()
    assert heard == [False]
    assert not hints.wait(0.1)
