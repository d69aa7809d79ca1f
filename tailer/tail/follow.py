"""The loop of a follower: step, read, sink, save; wait when there is nothing. Knows no sink's form."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from tailer.errors import CdcError, HeldBackError
from tailer.options.kinds import CommitEvery
from tailer.planning.absent import nothing_to_read
from tailer.position import Position
from tailer.sinks.base import Sink
from tailer.tail.step import Step
from tailer.tail.tail import Tail
from tailer.tail.watch import NO_WATCH, Watch

WAIT_SECONDS: Final = 1.0
STALLED_SECONDS: Final = 60.0
"""After this long without progress while a higher segment grows, a warning names the segment that is waited for."""

REOPEN: Final = "Open the log again with the program that writes it: that finds what is durable and closes it."
"""What helps where the writer of a native log died."""

EVERY_BATCH: Final = CommitEvery("batch")

Say = Callable[[str], None]
"""Takes one line for the user (not a row). One that begins with `warning: ` is of what is lost, left out or stuck."""


@dataclass(slots=True)
class Delivered:
    """What a run has delivered."""

    rows: int = 0
    quarantined: int = 0


def follow(
    tail: Tail,
    sink: Sink,
    *,
    once: bool,
    commit_every: CommitEvery = EVERY_BATCH,
    say: Say,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = NO_WATCH,
    clock: Callable[[], float] = time.monotonic,
) -> Delivered:
    """Deliver what is there (`once`) or for ever, until `stopping`. Positions move after the sink took the rows, batch
    by batch. `watch` is told of all of it.

    Raises the documented errors; with `once`, HeldBackError where promised rows wait behind an unfinished segment.
    """
    delivered = Delivered()
    saver = _Saver(tail, commit_every, watch, clock)
    stalled = Stalled(say, clock)
    watch.began(tail)
    try:
        for step in steps(tail, once=once, say=say, stopping=stopping, watch=watch):
            stalled.note(step)
            for taken in _deliver(tail, step, sink, saver, watch):
                delivered.rows += taken
                if stopping():
                    break
            else:
                tail.advance(step)
                watch.delivered(tail.offset)
                saver.save_due()
    except CdcError:
        # What was taken before it is not given again, as far as that was asked for.
        saver.save_due()
        raise
    finally:
        delivered.quarantined = tail.quarantined
        say_last(tail, say)
    saver.save()
    return delivered


def say_last(tail: Tail, say: Say) -> None:
    """Write the notices that are due when a run ends."""
    for sentence in tail.last_notices():
        say(sentence)


def _deliver(tail: Tail, step: Step, sink: Sink, saver: _Saver, watch: Watch) -> Iterator[int]:
    """A step's rows, given to the sink: how many each batch had. What was taken before is saved first."""
    for task in step.tasks:
        for batch in tail.read(task):
            saver.save_due()
            watch.read(task, batch)
            sink.write(batch)
            tail.took(step, task, batch)
            watch.delivered(tail.taken)
            saver.rows += len(batch)
            yield len(batch)
        tail.took(step, task)


def steps(
    tail: Tail,
    *,
    once: bool,
    say: Say,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = NO_WATCH,
) -> Iterator[Step]:
    """Steps that bring something, and one before each wait in between. The caller advances the tail behind each step.

    Ends when `stopping` says so, at `--until`, and with `once` when nothing more comes.
    """
    for step in looks(tail, once=once, say=say, stopping=stopping, watch=watch):
        yield step
        if not step.brings:
            tail.wait(WAIT_SECONDS)


def looks(
    tail: Tail,
    *,
    once: bool,
    say: Say,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = NO_WATCH,
) -> Iterator[Step]:
    """The same without a wait: behind a step that brings nothing whoever asks may wait."""
    while not stopping():
        step = tail.step()
        watch.looked(step)
        for notice in step.notices:
            say(notice)
        if step.brings:
            yield step
            if step.finished:
                return
            continue
        if step.finished:
            return
        ends = once and not (step.waiting or step.absent or step.held)
        error = tail.undecided() if step.error is None and ends else step.error
        if error is not None:
            to = tail.accept(error)
            if to is None:
                raise error
            say(acceptance(error, to, tail.offset.position))
        elif once and not step.waiting:
            if step.absent:
                raise nothing_to_read(tail.where, tail.offset.position)
            if step.held is not None:
                raise held_back(tail, step.held)
            if (sentence := unclosed(tail)) is not None:
                say(sentence)
            return
        else:
            yield step


def acceptance(error: CdcError, to: Position, stands: Position) -> str:
    """What is said of a loss that was accepted. `to`: where it ends."""
    # What lies behind the position is not read on from there.
    where = "it is left out" if to < stands else f"reading goes on at segment {to.segment}"
    return f"warning: {error.sentence()} Accepted: {where}."


def held_back(tail: Tail, held: tuple[int, int]) -> HeldBackError:
    """The error of a run that does not wait, with both remedies."""
    unfinished, behind = held
    remedy = (
        "If no server writes this folder any more, run again with --stopped; if this segment was left behind, "
        "with --assume-finished-after SECONDS."
    )
    if tail.is_native(unfinished):
        remedy = REOPEN
    return HeldBackError(
        f"promised rows of segment {behind} and later are held back behind segment {unfinished}, which is not finished",
        file=tail.log_name(unfinished),
        remedy=remedy,
    )


def unclosed(tail: Tail) -> str | None:
    """What `--stopped` cannot give of a native log: bytes that its writer had not published may not be on the disk."""
    if not tail.options.stopped:
        return None
    left = tail.unfinished()
    if not left or not tail.is_native(left[0]):
        return None
    return f"warning: segment {left[0]} was not closed by its writer: what was not published is not read. {REOPEN}"


class _Saver:
    """Saves the position behind what was taken as often as was asked for. `rows`: taken since the last time."""

    def __init__(self, tail: Tail, every: CommitEvery, watch: Watch, clock: Callable[[], float]) -> None:
        self.rows = 0
        self._tail = tail
        self._every = every
        self._watch = watch
        self._clock = clock
        self._saved_at = clock()
        self._saved = tail.offset

    def save_due(self) -> None:
        """Save behind what was taken, where that is enough."""
        unit, number = self._every
        taken = self._tail.taken
        due = (
            unit == "batch"
            or (unit == "segment" and (taken.done or taken.s != self._saved.s))
            or (unit == "rows" and self.rows >= number)
            or (unit == "ms" and (self._clock() - self._saved_at) * 1000 >= number)
        )
        if due:
            self.save()

    def save(self) -> None:
        if (taken := self._tail.taken) != self._saved:
            self._tail.save()
            self._saved = taken
            self._watch.saved()
        self.rows = 0
        self._saved_at = self._clock()


class Stalled:
    """Warns once when rows have been held back behind one segment for long."""

    def __init__(self, say: Say, clock: Callable[[], float]) -> None:
        self._say = say
        self._clock = clock
        self._since: tuple[int, float] | None = None
        self._warned: int | None = None

    def note(self, step: Step) -> None:
        if step.held is None:
            self._since = None
            return
        unfinished, behind = step.held
        if self._since is None or self._since[0] != unfinished or step.tasks:
            self._since = (unfinished, self._clock())
        elif self._clock() - self._since[1] >= STALLED_SECONDS and self._warned != unfinished:
            self._warned = unfinished
            self._say(
                f"warning: rows of segment {behind} and later wait for segment {unfinished}, which has not grown for "
                f"{STALLED_SECONDS:.0f} s; if it was left behind, use --assume-finished-after SECONDS"
            )
