"""A survey that listens sees what one sees that lists the folder each time, whatever happens in between."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tailer.errors import LossError, SystemFailedError
from tailer.framing.name import SegmentName
from tailer.options.tail import TailOptions
from tailer.planning.sighting import Closed
from tailer.planning.survey import Survey
from tailer.segments import looks
from tailer.segments.looks import LIST_SECONDS
from tailer.segments.source import FolderSource
from tailer.segments.wake import InotifyWaker
from tailer.state.ids import Ids
from tailer.state.offset import NodeOffset
from tests.helpers.amount import examples
from tests.helpers.log_writer import LogFolder, SegmentWriter, completed, live, restarted, segment_of
from tests.helpers.tails import tail_parts
from tests.unit.planning.conftest import Clock

FIRST = 1_700_000_000_000
SEGMENTS = 8
CHANGES = 40
START = NodeOffset()


def writer_of(number: int) -> SegmentWriter:
    made = segment_of(FIRST + number, [[b"any payload of an entry"]] * 2)
    made.pad(len(made.data) + 40)
    return made


class Life:
    """A folder to which things happen."""

    def __init__(self, path: Path, seed: int) -> None:
        self.folder = LogFolder(path)
        self.random = random.Random(seed)
        self.writers = [writer_of(number) for number in range(SEGMENTS)]
        self.cleaned = Ids()
        self.now = 2_000_000_000.0

    def clock(self) -> float:
        return self.now

    def happens(self) -> None:
        """One change, or time that passes."""
        writer = self.random.choice(self.writers)
        log = self.folder.path / writer.name
        held = self.folder.path.with_name("commitlog") / writer.name
        match self.random.randrange(9):
            case 0 | 1 if not log.exists():
                self.folder.put(writer)
                if self.random.random() < 0.5 and not held.exists():
                    self.folder.hold(writer)
            case 2 | 3:
                texts = ["", "7", live(writer), completed(writer), restarted(writer), None]
                self.folder.sidecar(writer, self.random.choice(texts))
            case 4 if held.exists():
                self.folder.let_go(writer)
            case 5:
                self.folder.remove(writer)
            case 6 if log.exists():
                (self.folder.path / "new").write_bytes(log.read_bytes())
                (self.folder.path / "new").replace(log)
            case 7 if self.random.random() < 0.3:
                self.cleaned = self.cleaned.with_ids([FIRST + self.random.randrange(SEGMENTS)])
            case _:
                self.now += self.random.choice([0.1, 0.4, 700.0])

    def survey(self) -> Survey:
        return Survey(FolderSource(self.folder.path), cleaned=lambda: self.cleaned, quiet_seconds=600, clock=self.clock)


@pytest.mark.parametrize("seed", range(examples(60)))
def test_the_same_is_seen(seed: int, tmp_path: Path) -> None:
    life = Life(tmp_path / "cdc_raw", seed)
    listing, listening = life.survey(), life.survey()
    waker = InotifyWaker(life.folder.path)
    listening.listen(waker.names)
    for _ in range(CHANGES):
        for _ in range(life.random.randrange(4)):
            life.happens()
        late = ((FIRST + life.random.randrange(SEGMENTS), 0),) if life.random.random() < 0.3 else ()
        offset = NodeOffset(s=FIRST + life.random.randrange(SEGMENTS), p=late)
        # As if it were the first time: it asks for settled segments too.
        listing.listen(lambda: None)
        views = [dict(survey.look(offset)) for survey in (listing, listening)]
        assert views[0] == views[1]
        assert list(listing.segments()) == list(listening.segments())
        assert listing.dropped == listening.dropped
        assert listing.durable_ends(START) == listening.durable_ends(START)
        if life.random.random() < 0.3:
            segment = FIRST + life.random.randrange(SEGMENTS)
            for survey in (listing, listening):
                survey.closed[segment] = Closed(40, 40)
    for survey in (listing, listening):
        survey.close()
    waker.close()


class Heard:
    """Names as somebody hears of them; None is an overflow."""

    def __init__(self) -> None:
        self.names: Collection[str] | None = ()

    def __call__(self) -> Collection[str] | None:
        return self.names


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def survey(folder: LogFolder, clock: Clock, heard: Heard) -> Iterator[Survey]:
    made = Survey(FolderSource(folder.path), clock=clock)
    made.look(START)
    made.listen(heard)
    made.look(START)
    yield made
    made.close()


def test_where_nothing_is_heard_the_folder_is_listed_once_a_second(
    folder: LogFolder, survey: Survey, clock: Clock
) -> None:
    """A watch of a network folder hears nothing of what others do there."""
    folder.put(writer_of(1), completed(writer_of(1)))
    clock.now += LIST_SECONDS / 2
    assert dict(survey.look(START)) == {}
    clock.now += LIST_SECONDS / 2
    assert list(survey.look(START)) == [FIRST + 1]
    folder.put(writer_of(0), live(writer_of(0)))
    clock.now += LIST_SECONDS
    assert list(survey.look(START)) == [FIRST, FIRST + 1], "a lower id may appear late"


def test_an_overflow_lists_at_once(folder: LogFolder, survey: Survey, heard: Heard) -> None:
    folder.put(writer_of(1), completed(writer_of(1)))
    heard.names = None
    assert list(survey.look(START)) == [FIRST + 1]


def test_whoever_begins_to_listen_lists_once_more(folder: LogFolder, clock: Clock, heard: Heard) -> None:
    """What came between the last look and the watch nobody heard."""
    survey = Survey(FolderSource(folder.path), clock=clock)
    survey.look(START)
    folder.put(writer_of(1), completed(writer_of(1)))
    survey.listen(heard)
    assert list(survey.look(START)) == [FIRST + 1]


def test_a_clock_that_goes_back_lists_at_once(folder: LogFolder, survey: Survey, clock: Clock) -> None:
    folder.put(writer_of(1), completed(writer_of(1)))
    clock.now -= 3600
    assert list(survey.look(START)) == [FIRST + 1]


def test_link_counts_of_what_grows_are_fresh_though_nothing_is_heard(folder: LogFolder, survey: Survey) -> None:
    """The server takes away its own name in a folder that nobody watches."""
    old, new = writer_of(0), writer_of(1)
    for writer in (old, new):
        folder.put(writer, live(writer))
        folder.hold(writer)
    survey.listen(lambda: None)
    survey.look(START)
    survey.listen(tuple)
    survey.look(START)
    folder.let_go(old)
    assert [seen.finished for seen in survey.look(START).values()] == ["unlinked", None]


def test_a_segment_that_grew_behind_its_end_is_told_at_each_look(tmp_path: Path) -> None:
    """Whoever goes on after the error, and looks again, is told again: nothing is new then."""
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = writer_of(1)
    folder.put(writer, completed(writer))
    parts = tail_parts(folder.path, TailOptions(), writes=False)
    parts.survey.closed[FIRST + 1] = Closed(40, 40)
    parts.survey.listen(tuple)
    for _ in range(3):
        parts.survey.look(START)
        with pytest.raises(LossError, match="has grown since"):
            parts.log_ends.check_growth()
    parts.survey.close()


def test_what_was_heard_of_in_a_look_that_failed_is_shown_by_the_next(
    folder: LogFolder, survey: Survey, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers = [writer_of(number) for number in range(3)]
    folder.put(writers[0], completed(writers[0]))
    heard.names = (writers[0].name,)
    survey.look(START)
    for writer in writers[1:]:
        folder.put(writer, completed(writer))
    folder.remove(writers[0])
    heard.names = tuple(writer.name for writer in writers)
    with monkeypatch.context() as failing:
        failing.setattr(looks, "read_sidecar", no_more_files)
        with pytest.raises(SystemFailedError):
            survey.look(START)
    heard.names = ()
    assert [*survey.look(START)] == [FIRST + 1, FIRST + 2]


def no_more_files(folder: Path, name: SegmentName) -> None:
    raise SystemFailedError("too many open files")
