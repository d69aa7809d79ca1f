"""Retention under random interleavings of a server, its consumers and `clean`, killed anywhere (hypothesis stateful).

No segment goes that a registered consumer has not been given whole, what was cleaned never comes again, and in the end
everything goes that nobody needs. What must be given is what the made server wrote, not what our own code thinks of it.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tailer.errors import RefusedError
from tailer.options.tail import TailOptions
from tailer.position import Span
from tailer.retention import clean as cleaning
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.move_consumer import drop_consumer, seek_consumer
from tailer.retention.needed import Ages
from tailer.state.cleaned import read_cleaned
from tailer.state.consumers import consumer_path, read_consumer
from tailer.state.log_folder import state_folder
from tailer.tail.tail import Tail
from tests.helpers.amount import examples
from tests.helpers.tails import tail_parts
from tests.retention.killed import Killed, killed_at
from tests.retention.server import MadeServer

NAMES = ("one", "two", "three")
LATER = 10_000.0
"""Everything is as old as any rule asks for."""

AT_ONCE = Ages(0.0, 0.0)
NUMBERS = strategies.integers(0, 5)
EXAMPLES, STEPS = 1000, 20
LONGER, LONGER_STEPS = 10 * EXAMPLES, 32
"""Of interleavings that go on after much was forgotten."""


def later() -> float:
    return time.time() + LATER


@dataclass
class Reader:
    """A consumer as the test sees it. `due`: segments it must be given, `may`: which may be given too; `given`: logical
    ranges that it was given.

    `kept`: what it had been given when its position was last saved: nothing else may be taken away.
    """

    floor: int
    due: set[int]
    may: set[int] = field(default_factory=set)
    given: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    kept: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    tail: Tail | None = None

    def save(self) -> None:
        assert self.tail is not None
        self.tail.save()
        self.kept = {segment: set(ranges) for segment, ranges in self.given.items()}


class Interleavings(RuleBasedStateMachine):
    """One log folder, its server, up to three consumers."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="cdc-tail-retention-"))
        self.server = MadeServer(self.root)
        self.state = state_folder(self.server.path)
        self.readers: dict[str, Reader] = {}
        self.gone: set[int] = set()

    @initialize()
    def something_is_there(self) -> None:
        self.server.write(True)
        self.server.sync()

    # --- the server ---

    @rule(captured=strategies.booleans(), sync=strategies.booleans())
    def write(self, captured: bool, sync: bool) -> None:
        self.server.write(captured)
        if sync:
            self.server.sync()

    @rule(shown=strategies.sampled_from([True, True, False]), captured=strategies.booleans())
    def roll(self, shown: bool, captured: bool) -> None:
        self.server.roll(shown)
        self.server.write(captured)
        self.server.sync()
        self._new()

    @rule()
    def roll_twice_before_a_sync(self) -> None:
        """A segment is left with changes and without a sidecar: readers pass over it, and it gets one when closed."""
        self.roll(True, False)
        self.server.close_all()
        self.server.write(True)
        self.roll(True, True)

    @rule()
    def roll_past_a_missing_link(self) -> None:
        """A segment is left that is not in cdc_raw: readers pass over a hole, and it may turn up there."""
        self.roll(False, False)
        self.roll(True, True)

    @rule(number=NUMBERS, closes=strategies.booleans())
    def link_late(self, number: int, closes: bool) -> None:
        if number:
            self.server.show_closing(number, closes=closes)
        else:
            self.server.link_late()
        self._new()

    @rule(number=NUMBERS, more=strategies.integers(0, 2))
    def close(self, number: int, more: int) -> None:
        for _ in range(1 + more):
            self.server.close(number)

    @rule(number=NUMBERS, deletes_bare=strategies.booleans())
    def release(self, number: int, deletes_bare: bool) -> None:
        self.server.release(number, deletes_bare=deletes_bare)

    @rule()
    def restart(self) -> None:
        self.server.restart()
        self._new()

    # --- consumers ---

    @rule(name=strategies.sampled_from(NAMES), steps=strategies.sampled_from([1, 3, 9]), saves=strategies.booleans())
    def read(self, name: str, steps: int, saves: bool) -> None:
        reader = self._opened(name)
        if reader is not None:
            for _ in range(steps):
                self._step(reader)
            if saves:
                reader.save()

    @rule(name=strategies.sampled_from(NAMES), number=NUMBERS)
    def read_a_part(self, name: str, number: int) -> None:
        """It dies in the middle of a step, behind what it has saved of it."""
        reader = self._opened(name)
        if reader is not None:
            assert reader.tail is not None
            step = reader.tail.step()
            assert step.error is None, step.error
            for task in step.tasks[:number]:
                self._give(reader, task.span)
                reader.tail.took(step, task)
            reader.save()
            self.kill(name)

    @rule()
    def everybody_reads(self) -> None:
        for name in list(self.readers) or NAMES[:1]:
            self.read(name, 9, True)

    @rule(name=strategies.sampled_from(NAMES))
    def kill(self, name: str) -> None:
        """It forgets what it has not saved."""
        reader = self.readers.get(name)
        if reader is not None and reader.tail is not None:
            self._end(name, reader.tail)
            reader.tail = None
            reader.given = {segment: set(ranges) for segment, ranges in reader.kept.items()}

    @precondition(lambda self: self.readers)
    @rule(name=strategies.sampled_from(NAMES))
    def drop(self, name: str) -> None:
        self._free(name)
        if self.readers.pop(name, None) is not None:
            drop_consumer(self.state, name)

    @precondition(lambda self: self.readers)
    @rule(name=strategies.sampled_from(NAMES), number=NUMBERS)
    def seek(self, name: str, number: int) -> None:
        there = sorted(self._there())
        if name not in self.readers or not there:
            return
        target = there[number % len(there)]
        record = read_cleaned(self.state)
        if any(True for _ in record.segments.above(target)):
            return
        self._free(name)
        seek_consumer(self.server.path, name, f"{target}:0", clock=later)
        self.readers[name] = Reader(target, {segment for segment in there if segment >= target})

    # --- clean ---

    @rule()
    def clean(self) -> None:
        before = self._before()
        if self.readers:
            clean(self.server.path, ages=AT_ONCE, clock=later)
        else:
            with pytest.raises(RefusedError):
                clean(self.server.path, ages=AT_ONCE, clock=later)
        self._check_taken(before)

    @rule(number=strategies.integers(0, 14))
    def clean_killed(self, number: int) -> None:
        before = self._before()
        with suppress(Killed, RefusedError), killed_at(number):
            clean(self.server.path, ages=AT_ONCE, clock=later)
        self._check_taken(before)

    # --- the end ---

    def teardown(self) -> None:
        try:
            self._settle()
        finally:
            for reader in self.readers.values():
                if reader.tail is not None:
                    reader.tail.close()
            shutil.rmtree(self.root)

    def _settle(self) -> None:
        """The server starts anew, closes what it has, and writes two more segments; all read to the end; clean runs."""
        self.restart()
        self._opened("newcomer")
        for _ in range(2):
            self.roll(True, True)
        self.server.close_all()
        while any(made.closed and made.held for made in self.server.all.values()):
            self.server.release(0, deletes_bare=False)
        for name in list(self.readers):
            reader = self._opened(name)
            assert reader is not None
            while self._step(reader):
                pass
            reader.save()
            for segment in reader.due:
                missing = self._missing(segment, reader.given)
                assert not missing, f"consumer {name} was not given {missing} of segment {segment}"
        before = self._before()
        clean(self.server.path, CleanOptions(no_consumers=True), ages=AT_ONCE, clock=later)
        self._check_taken(before)
        left = {int(file.stem.split("-")[2].removesuffix("_cdc")) for file in self.server.path.iterdir()}
        assert left == {self.server.active.id}
        clean(self.server.path, CleanOptions(no_consumers=True), ages=AT_ONCE, clock=later)

    # --- how it is told ---

    def _there(self) -> set[int]:
        return self.server.present() - self.gone

    def _new(self) -> None:
        there = self._there()
        for name, reader in self.readers.items():
            reader.due |= {segment for segment in there if segment >= reader.floor}
            # What turns up below all that there was when it came is due too, as long as it stands before everything;
            # and comes once more from there on where it dies before it has saved that it stands elsewhere.
            saved = self._saved(name)
            reader.may |= there if saved == 0 else set()
            if (saved if reader.tail is None else reader.tail.offset.position.segment) == 0:
                reader.due |= there

    def _saved(self, name: str) -> int:
        """The segment in which a consumer stands by its file; 0: before everything."""
        (node,) = read_consumer(consumer_path(self.state, name), name).nodes.values()
        return node.offset.position.segment

    def _opened(self, name: str) -> Reader | None:
        reader = self.readers.get(name)
        if reader is not None and reader.tail is not None:
            return reader
        there = self._there()
        if reader is None and not there:
            return None
        tail = self._open(name)
        if reader is None:
            reader = self.readers[name] = Reader(min(there), there)
        reader.tail = tail
        return reader

    def _open(self, name: str) -> Tail:
        tail = Tail(tail_parts(self.server.path, TailOptions(consumer=name), wall=later))
        tail.open()
        return tail

    def _end(self, name: str, tail: Tail) -> None:
        """Its process ends."""
        tail.close()

    def _free(self, name: str) -> None:
        """Nobody reads in this name when it returns."""
        self.kill(name)

    def _step(self, reader: Reader) -> bool:
        assert reader.tail is not None
        step = reader.tail.step()
        assert step.error is None, step.error
        for task in step.tasks:
            self._give(reader, task.span)
        reader.tail.advance(step)
        return bool(step.tasks or step.moved)

    def _give(self, reader: Reader, span: Span) -> None:
        assert span.segment in reader.due | reader.may, f"segment {span.segment} is not due here"
        reader.given.setdefault(span.segment, set()).add((span.start, span.end))

    def _missing(self, segment: int, given: dict[int, set[tuple[int, int]]]) -> list[tuple[int, int]]:
        """Captured sections that are in none of the ranges."""
        made = self.server.all[segment]
        if not made.synced:
            return []
        ranges = given.get(segment, set())
        places = [(place.start, place.end) for place in made.writer.sections]
        return [(start, end) for start, end in places if not any(a <= start and end <= b for a, b in ranges)]

    def _before(self) -> set[int]:
        return self.server.present()

    def _check_taken(self, before: set[int]) -> None:
        record = read_cleaned(self.state)
        self.gone |= set(record.segments) | set(record.bare)
        for segment in before - self.server.present():
            made = self.server.all[segment]
            assert segment in self.gone, f"segment {segment} went unrecorded"
            assert made.closed or not made.held, f"segment {segment} is still written"
            for name, reader in self.readers.items():
                if segment in reader.due:
                    missing = self._missing(segment, reader.kept)
                    assert not missing, f"segment {segment} went, but {name} has not read {missing}"


@pytest.fixture
def forgets_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run of `clean` compacts the journal where a single record has become needless."""
    monkeypatch.setattr(cleaning, "FORGOTTEN_AT_LEAST", 1)


def interleave(count: int, steps: int, machine: type[Interleavings] = Interleavings) -> None:
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples(count), stateful_step_count=steps, deadline=None)
    )


@pytest.mark.slow
def test_nothing_needed_goes_and_all_else_does(without_fsync: None, forgets_at_once: None) -> None:
    interleave(EXAMPLES, STEPS)


@pytest.mark.soak
def test_longer_interleavings(without_fsync: None, forgets_at_once: None) -> None:
    interleave(LONGER, LONGER_STEPS)


def test_what_turns_up_below_a_consumer_that_has_not_begun_is_due_to_it(without_fsync: None) -> None:
    """It stands before everything, so its place is below segments that were missing when it came."""
    run = Interleavings()
    try:
        run.something_is_there()
        run.roll_past_a_missing_link()
        run.roll_past_a_missing_link()
        run.roll(True, True)
        run.close(0, 2)
        run.release(0, False)
        run.read("one", 9, True)
        run.clean()
        run._opened("two")
        there = run._there()
        run.link_late(3, False)
        (late,) = run._there() - there
        assert late < min(there), "it was missing below all others"
        assert late in run.readers["two"].due
    finally:
        run.teardown()
