"""Several nodes' runs side by side, each in a thread of its own: one that is away, or hangs, blocks only itself.

What rows go to is called by one of them at a time. Knows no loop: a run is what the caller says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tailer.errors import CdcError
from tailer.options.log_place import LogPlace
from tailer.tail import away
from tailer.tail.away import LostNodes, documented, lost_by, silent
from tailer.tail.follow import Say
from tailer.tail.turn_lock import TurnLock

SILENT_SECONDS: Final = 60.0
"""A node of which nothing was seen or heard for so long counts as away."""

_SLICE_SECONDS: Final = 0.1
_END_SECONDS: Final = 5.0
"""A run that was asked to end, and of which nothing was heard for so long, is left behind: the process ends it."""


class Pulse:
    """What one node's run says of itself as it goes. Another thread reads it."""

    def __init__(self, at_target: TurnLock, found: Callable[[], None], clock: Callable[[], float]) -> None:
        self._at_target = at_target
        self._found = found
        self._clock = clock
        self._beat = clock()
        self._busy_there = False
        self.blame: BaseException | None = None
        """What came from where rows go, and not from the node."""

    def beat(self) -> None:
        """The node answers."""
        self._beat = self._clock()
        self._found()

    @contextmanager
    def target(self) -> Iterator[None]:
        """While rows are handed over: nobody else does so, and nothing that fails or takes long is the node's."""
        self._busy_there = True
        try:
            with self._at_target:
                yield
        except Exception as error:
            self.blame = error
            raise
        finally:
            self._beat, self._busy_there = self._clock(), False

    def silence(self) -> float:
        """For how long nothing was heard, in seconds."""
        return 0.0 if self._busy_there else self._clock() - self._beat


Run = Callable[[Pulse, Callable[[], bool]], None]
"""One node's run: opens its log, delivers until it is asked to stop, and gives everything back. Called again after the
node was away. Calls `Pulse.beat` at each look, and what rows go to within `Pulse.target`."""


@dataclass(slots=True)
class NodeRun:
    """A node, and what is run for it. `state`: its state folder, None where the node keeps it."""

    name: str
    place: LogPlace
    state: Path | None
    run: Run


def side_by_side(
    nodes: Sequence[NodeRun],
    *,
    once: bool,
    waits: bool,
    say: Say,
    stopping: Callable[[], bool] = lambda: False,
    meanwhile: Callable[[], None] = lambda: None,
    at_target: TurnLock | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Run all nodes until `stopping`, or (`once`) each to its end.

    `waits`: a node that is away is waited for while the others go on; with `once` it is left out, and said. An error
    of another kind ends all runs, with `once` when each has come to its end; it is raised. `meanwhile`: called now and
    then while no run is at its target, though all nodes be away; not with `once`. An error of its is raised likewise.
    `at_target`: held by whoever is there, for who else goes there.
    """
    _SideBySide(nodes, once, waits, say, stopping, meanwhile, at_target or TurnLock(), clock).run()


class _SideBySide:
    def __init__(
        self,
        nodes: Sequence[NodeRun],
        once: bool,
        waits: bool,
        say: Say,
        stopping: Callable[[], bool],
        meanwhile: Callable[[], None],
        at_target: TurnLock,
        clock: Callable[[], float],
    ) -> None:
        self._nodes = nodes
        self._once = once
        self._waits = waits
        self._lock = threading.RLock()
        self._say = say
        self._stopping = stopping
        self._meanwhile = meanwhile
        self._clock = clock
        self._ending = False
        self._errors: list[BaseException] = []
        self._left_out: list[CdcError] = []
        self._lost = LostNodes(self._said, clock)
        self._at_target = at_target
        self._pulses = {node.name: Pulse(self._at_target, self._finder(node.name), clock) for node in nodes}

    def run(self) -> None:
        # Threads are awaited by events, not by join: in Python 3.11 a join that Ctrl-C interrupts marks its thread as
        # ended (threading.Thread._wait_for_tstate_lock), and the process would end in the middle of its work.
        ended = {node.name: threading.Event() for node in self._nodes}
        for node in self._nodes:
            threading.Thread(
                target=self._thread, args=(node, ended[node.name]), name=f"cdc-tail-{node.name}", daemon=True
            ).start()
        try:
            while not all(event.is_set() for event in ended.values()) and not self._stop():
                for name, event in ended.items():
                    if not event.wait(_SLICE_SECONDS / len(ended)) and self._waits:
                        self._listen_to(name)
                if not self._once:
                    self._look()
        finally:
            self._ending = True
            for name, event in ended.items():
                while not event.is_set() and self._pulses[name].silence() < _END_SECONDS:
                    event.wait(_SLICE_SECONDS)
        if self._errors:
            raise self._errors[0]
        if self._left_out and len(self._left_out) == len(self._nodes):
            raise self._left_out[0]

    def _stop(self) -> bool:
        return self._ending or self._stopping()

    def _thread(self, node: NodeRun, ended: threading.Event) -> None:
        try:
            self._node(node)
        finally:
            ended.set()

    def _node(self, node: NodeRun) -> None:
        """In the node's thread."""
        pulse = self._pulses[node.name]
        while not self._stop():
            try:
                node.run(pulse, self._stop)
                return
            except (CdcError, OSError) as error:
                if error is pulse.blame or not (self._waits and lost_by(error, node.place, node.state)):
                    if isinstance(error, CdcError) and error.at is not None:
                        # Each node's log has positions and segments of its own.
                        error.tell(f"node {node.name}")
                    self._fail(error)
                    return
                self._lose(node.name, documented(error))
            except BaseException as error:
                # Raised where all runs are waited for; a thread has nobody to tell.
                self._fail(error)
                return
            if self._once:
                return
            self._sleep(away.RETRY_SECONDS)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._errors.append(error)
        # Who runs once comes to an end by itself, and what is there is delivered.
        self._ending = self._ending or not self._once

    def _lose(self, name: str, error: CdcError) -> None:
        with self._lock:
            self._lost.lose(name, error)
            if self._once:
                self._left_out.append(error)
                self._say(f"warning: this run ends without what node {name} has more; a later run goes on there")

    def _finder(self, name: str) -> Callable[[], None]:
        def found() -> None:
            if name in self._lost:
                with self._lock:
                    self._lost.found(name)

        return found

    def _look(self) -> None:
        if self._at_target.acquire(blocking=False):
            try:
                self._meanwhile()
            finally:
                self._at_target.release()

    def _listen_to(self, name: str) -> None:
        """Tell of a node that does not answer, and again of those that are away."""
        silence = self._pulses[name].silence()
        with self._lock:
            if silence >= SILENT_SECONDS and name not in self._lost:
                self._lost.lose(name, silent(silence))
            self._lost.remind()

    def _said(self, line: str) -> None:
        with self._lock:
            self._say(line)

    def _sleep(self, seconds: float) -> None:
        until = self._clock() + seconds
        while self._clock() < until and not self._stop():
            time.sleep(min(_SLICE_SECONDS, seconds))
