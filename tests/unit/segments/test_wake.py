"""Waiting is a hint at best: with inotify absent, exhausted, overflowing or blind nothing is lost."""

from __future__ import annotations

import errno
import os
import resource
import select
import sys
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import inotify_simple
import pytest

from tailer.options.tail import TailOptions
from tailer.segments.wake import InotifyWaker, PollWaker, Waker, open_waker
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.tails import open_tail

ID = 1_700_000_000_001
TABLE = simple_table("ks", "t")
LONG = 5.0


def readable(waker: Waker) -> bool:
    descriptor = waker.descriptor()
    assert descriptor is not None
    return bool(select.select([descriptor], [], [], 0)[0])


def test_a_descriptor_is_readable_until_the_hint_is_taken(waker: Waker, tmp_path: Path) -> None:
    assert not readable(waker)
    (tmp_path / "a").touch()
    assert readable(waker)
    assert readable(waker), "looking takes nothing"
    assert waker.names() == {"a"}
    assert not readable(waker)
    assert PollWaker().descriptor() is None


@pytest.fixture
def waker(tmp_path: Path) -> Iterator[Waker]:
    made = InotifyWaker(tmp_path, poll_seconds=LONG)
    yield made
    made.close()


def waited(waker: Waker, seconds: float) -> tuple[bool, float]:
    begin = time.monotonic()
    return waker.wait(seconds), time.monotonic() - begin


class TestInotify:
    def test_a_sidecar_written_in_place_is_a_hint(self, waker: Waker, tmp_path: Path) -> None:
        (tmp_path / "CommitLog-7-1_cdc.idx").write_text("20")
        hinted, took = waited(waker, LONG)
        assert hinted
        assert took < LONG / 2

    @pytest.mark.parametrize("change", ["create", "delete", "rename", "link"])
    def test_a_name_that_changes_is_a_hint(self, change: str, tmp_path: Path) -> None:
        other = tmp_path / "outside"
        folder = tmp_path / "cdc_raw"
        folder.mkdir()
        other.write_text("x")
        (folder / "old").write_text("x")
        waker = InotifyWaker(folder, poll_seconds=LONG)
        match change:
            case "create":
                (folder / "new").touch()
            case "delete":
                (folder / "old").unlink()
            case "rename":
                other.rename(folder / "new")
            case "link":
                os.link(other, folder / "new")
        assert waker.wait(LONG)
        waker.close()

    def test_events_of_before_are_used_up_at_once(self, waker: Waker, tmp_path: Path) -> None:
        for number in range(50):
            (tmp_path / f"{number}").write_text("x")
        assert waker.wait(LONG)
        assert not waker.wait(0)

    def test_names_are_told_once(self, waker: Waker, tmp_path: Path) -> None:
        """Whether or not somebody waited for them."""
        (tmp_path / "one").write_text("x")
        assert waker.wait(LONG)
        (tmp_path / "two").write_text("x")
        assert set(waker.names() or ()) == {"one", "two"}
        assert waker.names() == set()

    def test_a_folder_that_goes_another_way_is_listed_from_then_on(self, tmp_path: Path) -> None:
        folder = tmp_path / "cdc_raw"
        folder.mkdir()
        waker = InotifyWaker(folder, poll_seconds=LONG)
        folder.rename(tmp_path / "other")
        folder.mkdir()
        (folder / "new").touch()
        assert waker.names() is None
        assert waker.names() is None
        waker.close()

    def test_without_events_the_poll_ends_the_wait(self, tmp_path: Path) -> None:
        waker = InotifyWaker(tmp_path, poll_seconds=0.05)
        hinted, took = waited(waker, LONG)
        assert (hinted, took < LONG / 2) == (False, True)
        waker.close()

    def test_an_overflow_is_a_hint_like_any_other(self, tmp_path: Path) -> None:
        """The kernel's queue holds so many events; what is dropped must not matter."""
        limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        if limit > 100_000:
            pytest.skip("the queue is too long to fill here")
        waker = InotifyWaker(tmp_path, poll_seconds=LONG)
        file = tmp_path / "a"
        other = tmp_path / "b"
        file.touch()
        for _ in range(limit // 2 + 100):
            file.rename(other)
            other.rename(file)
        assert waker.wait(LONG)
        (tmp_path / "after").touch()
        assert waker.wait(LONG), "the watch still works"
        assert waker.names() is None, "names were dropped"
        (tmp_path / "later").touch()
        assert waker.names() == {"later"}
        waker.close()

    def test_descriptors_above_1023(self, tmp_path: Path) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 1200:
            pytest.skip("too few descriptors are allowed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
        held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1050)]
        try:
            waker = InotifyWaker(tmp_path, poll_seconds=0.05)
            assert not waker.wait(LONG)
            (tmp_path / "new").touch()
            assert waker.wait(LONG)
            waker.close()
        finally:
            for descriptor in held:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_a_folder_that_vanishes(self, tmp_path: Path) -> None:
        folder = tmp_path / "cdc_raw"
        folder.mkdir()
        waker = InotifyWaker(folder, poll_seconds=0.05)
        folder.rmdir()
        for _ in range(5):
            waker.wait(LONG)
        waker.close()


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def fail(code: int) -> object:
    def refuse(*args: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


class TestFallback:
    def test_inotify_simple_is_not_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "inotify_simple", None)
        assert isinstance(open_waker(tmp_path), PollWaker)

    @pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSYS])
    def test_no_instance_left(self, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inotify_simple.INotify, "__init__", fail(code))
        assert isinstance(open_waker(tmp_path), PollWaker)

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.ENOMEM, errno.EACCES])
    def test_no_watch_left(self, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = open_descriptors()
        monkeypatch.setattr(inotify_simple.INotify, "add_watch", fail(code))
        assert isinstance(open_waker(tmp_path), PollWaker)
        assert open_descriptors() == before, "its descriptor is closed again"

    def test_a_poll_waits_its_time_and_no_longer(self) -> None:
        waker = PollWaker(0.05)
        hinted, took = waited(waker, LONG)
        assert (hinted, 0.04 < took < LONG / 2) == (False, True)
        assert waited(waker, 0)[1] < 0.04
        assert waker.names() is None
        waker.close()


class Deaf:
    """A waker that never hints: a network file system."""

    def wait(self, seconds: float) -> bool:
        time.sleep(min(seconds, 0.01))
        return False

    def names(self) -> Collection[str]:
        return ()

    def close(self) -> None: ...


class Lying(Deaf):
    """A waker that always hints."""

    def wait(self, seconds: float) -> bool:
        super().wait(seconds)
        return True


KINDS = {
    "inotify": open_waker,
    "poll": lambda folder: PollWaker(0.01),
    "deaf": lambda folder: Deaf(),
    "lying": lambda folder: Lying(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_whatever_wakes_us(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer in another thread appends, syncs, publishes; the follower gets every row once, in order."""
    monkeypatch.setattr("tailer.segments.source.open_waker", KINDS[kind])
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = segment_of(ID, [[create_payload(TABLE)]])
    folder.put(writer, live(writer))
    total = 40
    thread = threading.Thread(target=write, args=(folder, writer, total))
    thread.start()
    found: list[int] = []
    until = time.monotonic() + 30
    with open_tail(folder.path, TailOptions(), writes=False) as tail:
        while len(found) < total and time.monotonic() < until:
            step = tail.step()
            for task in step.tasks:
                found += [row for batch in tail.read(task) for row in batch.column("offset")]
            tail.advance(step)
            if not step.tasks:
                tail.wait(1.0)
    thread.join()
    assert found == [entry.start for entry in writer.entries[1:]]


def write(folder: LogFolder, writer: SegmentWriter, total: int) -> None:
    for number in range(total):
        writer.section([insert_payload(TABLE, number, "k", number)])
        with (folder.path / writer.name).open("r+b") as log:
            log.seek(writer.sections[-1].at)
            log.write(writer.data[writer.sections[-1].at :])
        folder.sidecar(writer, "")
        folder.sidecar(writer, live(writer))
        time.sleep(0.002)
