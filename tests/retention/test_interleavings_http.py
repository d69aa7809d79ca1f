"""The interleavings of `test_interleavings.py` with consumers elsewhere, who read it by HTTP from the node.

Their leases end and are taken over, they register while `clean` runs, are moved by hand on the node, lose answers, and
the node is started anew under them. Nobody whose name was taken moves anything any more.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import strategies
from hypothesis.stateful import precondition, rule

from tailer.errors import CdcError, LossError, NodeAwayError, RefusedError
from tailer.options.listen import LOCAL, Listen
from tailer.retention.clean import CleanOptions, clean
from tailer.serve import listing
from tailer.serve.options import Bounds, ServeOptions
from tailer.state.cleaned import read_cleaned
from tailer.state.consumers import consumer_path, read_consumer
from tailer.tail.tail import Tail
from tailer.wire.paths import LEASE_SECONDS
from tests.helpers.served import OPEN, ServedNode
from tests.retention.far import Far
from tests.retention.test_interleavings import (
    AT_ONCE,
    NAMES,
    NUMBERS,
    Interleavings,
    Reader,
    forgets_at_once,
    interleave,
    later,
)

__all__ = ["forgets_at_once"]

EXAMPLES, STEPS = 180, 20
LONGER, LONGER_STEPS = 3000, 32
BESIDE = "three"
"""It reads beside the log, as it does without HTTP, among the others."""

ENDED = LEASE_SECONDS + 1.0
names = strategies.sampled_from(NAMES)


class InterleavingsOverHttp(Interleavings):
    """`left`: readers that go on though their name is another one's by now."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self.far: dict[str, Far] = {}
        self.left: list[tuple[str, Far]] = []
        self.port = 0
        self.node = self._serve()

    # --- the node ---

    @rule()
    def serve_anew(self) -> None:
        """Its leases are on record; who has one goes on."""
        self.node.stop()
        self.node = self._serve()

    @rule()
    def time_goes_by(self) -> None:
        """Every lease ends. Nobody took a name meanwhile: each reader goes on."""
        self.seconds += ENDED

    @rule()
    def locks_are_let_go(self) -> None:
        self.seconds += ENDED
        self.node.run(self.node.node.sweep())

    # --- readers ---

    @rule(name=names)
    def second_reader(self, name: str) -> None:
        """As long as one is heard of, another one does not get its name."""
        if (far := self._reading(name)) is not None:
            far.tail.tell_away(None)
            with pytest.raises(RefusedError, match="is in use by"):
                Far(self.node.url, name)

    @rule(name=names)
    def taken_over(self, name: str) -> None:
        """It is silent for long; another one takes its name, and it comes back."""
        if self._reading(name) is not None:
            self._leave(name)
            self._opened(name)

    @precondition(lambda self: self.left)
    @rule(number=NUMBERS, steps=strategies.integers(0, 3))
    def comes_back(self, number: int, steps: int) -> None:
        """Whose name is another one's moves nothing."""
        name, far = self.left.pop(number % len(self.left))
        before = self._files(name)
        with pytest.raises(RefusedError):
            _go_on(far.tail, steps)
        assert self._files(name) == before
        far.kill()
        assert self._files(name) == before

    @rule(name=names, number=NUMBERS, drops=strategies.booleans())
    def is_moved_and_comes_back(self, name: str, number: int, drops: bool) -> None:
        """By hand on the node, while it is silent; nobody has read in that name since. One that was moved to where it
        stood may go on: it is told apart by that alone where the node was started anew."""
        if self._reading(name) is not None:
            stood = self._stands(name)
            self.drop(name) if drops else self.seek(name, number)
            for place in [place for place, (left, _) in enumerate(self.left) if left == name][-1:]:
                if self._stands(name) == stood:
                    self.left.pop(place)[1].kill()
                else:
                    self.comes_back(place, number % 2)

    @rule(name=names, steps=strategies.sampled_from([1, 9]))
    def loses_an_answer(self, name: str, steps: int) -> None:
        """What it saves arrives, and it dies without having heard so."""
        if (far := self._reading(name)) is not None:
            reader = self.readers[name]
            for _ in range(steps):
                self._step(reader)
            far.link.loses_answers = True
            with pytest.raises(NodeAwayError):
                reader.save()
            reader.kept = {segment: set(ranges) for segment, ranges in reader.given.items()}
            self.kill(name)

    @rule(name=names)
    def loses_the_node(self, name: str) -> None:
        """What it saves does not arrive."""
        if self._reading(name) is not None:
            reader = self.readers[name]
            self._step(reader)
            self.node.stop()
            with pytest.raises(NodeAwayError):
                reader.save()
            self.kill(name)
            self.node = self._serve()

    @rule(name=names)
    def registers_while_clean_runs(self, name: str) -> None:
        """Its place is found, and then `clean` takes segments before it is saved: there are some that all have read."""
        if name == BESIDE:
            return
        self.drop(name)
        self.roll(True, True)
        self.close(0, 2)
        self.release(0, False)
        for other in self.readers:
            self.read(other, 9, True)

        def between() -> None:
            before = self._before()
            clean(self.server.path, CleanOptions(no_consumers=not self.readers), ages=AT_ONCE, clock=later)
            self._check_taken(before)

        try:
            far = self._far(name, f"{min(self._there())}:0", between)
        except LossError:
            # It asked for one that is gone by now, and is told so.
            return
        there = self._there()
        stands = far.tail.offset
        assert stands.done or stands.s in there, f"{name} begins in segment {stands.s}, which is gone"
        self.readers[name] = Reader(min(there, default=self.server.active.id), there, tail=far.tail)
        if any(True for _ in read_cleaned(self.state).segments.above(stands.s)):
            # It began by name before some that are gone: it is told that they are, as after `seek`.
            self.drop(name)

    # --- how it is done ---

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            for _, far in [*self.far.items(), *self.left]:
                with suppress(CdcError):
                    far.kill()
            self.node.stop()
        assert self.node.faults == []

    def _serve(self) -> ServedNode:
        options = ServeOptions(self.server.path, Listen(LOCAL, self.port), OPEN, bounds=Bounds(stop_seconds=1.0))
        node = ServedNode(options, lambda: self.seconds, later)
        self.port = node.port
        return node

    def _open(self, name: str) -> Tail:
        if name == BESIDE:
            return super()._open(name)
        return self._far(name).tail

    def _far(self, name: str, *more: Any) -> Far:
        try:
            far = Far(self.node.url, name, *more)
        except RefusedError:
            # The one before was killed, and nobody knows.
            self.seconds += ENDED
            far = Far(self.node.url, name, *more)
        self.far[name] = far
        return far

    def _reading(self, name: str) -> Far | None:
        """The process that reads in this name; None where nobody can, and of who reads beside the log."""
        self._opened(name)
        return self.far.get(name)

    def _end(self, name: str, tail: Tail) -> None:
        if name in self.far:
            self.far.pop(name).kill()
        else:
            super()._end(name, tail)

    def _leave(self, name: str) -> bool:
        """Its reader is heard of no more for long, and has not ended. Whether there is one."""
        far = self.far.pop(name, None)
        if far is not None:
            self.left.append((name, far))
            reader = self.readers[name]
            reader.tail, reader.given = None, {segment: set(ranges) for segment, ranges in reader.kept.items()}
            self.seconds += ENDED
        return far is not None

    def _free(self, name: str) -> None:
        """It is heard of no more, whether it has ended or not, and the node lets go of its name."""
        if not self._leave(name):
            self.kill(name)
            self.seconds += ENDED
        self.node.run(self.node.node.sweep())

    def _stands(self, name: str) -> object:
        return read_consumer(consumer_path(self.state, name), name).nodes

    def _files(self, name: str) -> list[bytes]:
        path = consumer_path(self.state, name)
        return [path.read_bytes()] if path.exists() else []


def _go_on(tail: Tail, steps: int) -> None:
    for _ in range(steps):
        tail.advance(tail.step())
    tail.save()


@pytest.fixture
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node joins no changes: nobody waits for them here."""
    monkeypatch.setattr(listing, "JOINED_SECONDS", 0.0)


def test_a_compaction_that_was_killed_has_a_number_for_readers_elsewhere_too(
    without_fsync: None, forgets_at_once: None, looks_at_once: None
) -> None:
    """Between its base and the journal behind it, which nobody writes in before the next reader comes."""
    run = InterleavingsOverHttp()
    try:
        run.something_is_there()
        run.restart()
        run.read_a_part(name="one", number=1)
        run.close(more=0, number=0)
        run.is_moved_and_comes_back(name="two", number=0, drops=False)
        run.is_moved_and_comes_back(name="one", number=0, drops=True)
        run.clean_killed(number=3)
        run.seek(name="two", number=0)
        run.everybody_reads()
    finally:
        run.teardown()


@pytest.mark.slow
def test_nothing_needed_goes_over_http(without_fsync: None, forgets_at_once: None, looks_at_once: None) -> None:
    interleave(EXAMPLES, STEPS, InterleavingsOverHttp)


@pytest.mark.soak
def test_longer_interleavings_over_http(without_fsync: None, forgets_at_once: None, looks_at_once: None) -> None:
    interleave(LONGER, LONGER_STEPS, InterleavingsOverHttp)
