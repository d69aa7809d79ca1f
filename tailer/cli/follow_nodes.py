"""`cdc-tail follow` over several nodes: each in a thread of its own, and one after the other where rows go.

Chooses what is run for a node; how runs stand side by side is in `tailer/tail/side_by_side.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tailer.cli.as_owner import as_state_owner
from tailer.cli.monitoring import Watched
from tailer.cli.rows import Form, open_sink
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import CdcError, RefusedError, SystemFailedError
from tailer.options.amounts import moment_of
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.options.to_spark import waits_for_nodes
from tailer.planning.absent import MOUNT
from tailer.planning.two_positions import offset_text
from tailer.sinks.outlet import Outlet, OutletContext
from tailer.sinks.outlets import open_outlet
from tailer.state.folder_journal import FILE_NAME
from tailer.state.home import FolderHome
from tailer.tail.away import documented, nothing_at, of_state, reason
from tailer.tail.deliver import deliver
from tailer.tail.feed import Feed
from tailer.tail.follow import follow
from tailer.tail.guarded import GuardedOutlet, HeardWatch, SharedSink
from tailer.tail.kept import Unsaved
from tailer.tail.node_log import node_log, source_at, state_of
from tailer.tail.open import open_tail
from tailer.tail.patience import Patience
from tailer.tail.side_by_side import NodeRun, Pulse, side_by_side
from tailer.tail.tail import Tail
from tailer.tail.turn_lock import TurnLock
from tailer.tail.watch import Watch

Stopping = Callable[[], bool]
Deliver = Callable[[Tail, Pulse, Watch, Stopping], None]
"""Gives the rows of an open tail to where they go."""


def follow_nodes(
    places: Sequence[tuple[str, LogPlace]],
    options: TailOptions,
    to: str | None,
    form: Form,
    values: dict[str, Any],
    watched: Watched,
    stopping: Stopping,
) -> None:
    """Follow all of them until `stopping`, or with --once to their ends. Raises the documented errors."""
    nodes = nodes_of(places, replace(options, outlet=to is not None))
    say = STANDARD_ERROR.notice
    sink = SharedSink(lambda tables, typed: open_sink(form, tables, typed), one_form=form != "json")
    give = to_terminal(sink, values, say) if to is None else to_outlet(to, values, say)
    run_nodes(nodes, give, values, watched, stopping)
    sink.close()


@dataclass(frozen=True, slots=True)
class FollowedLog:
    """A node's log, where its state is (None: the node keeps it), and the options that it is followed with."""

    name: str
    place: LogPlace
    state: Path | None
    options: TailOptions


def nodes_of(places: Sequence[tuple[str, LogPlace]], options: TailOptions) -> list[FollowedLog]:
    """The logs of a run; from here on it is run by the user whose they are."""
    chosen = {name: options.among(places, name) for name, _ in places}
    nodes = [FollowedLog(name, place, state_of(place, chosen[name]), chosen[name]) for name, place in places]
    _become_owner([(node.place, node.state) for node in nodes])
    return nodes


def run_nodes(
    nodes: Sequence[FollowedLog],
    give: Deliver,
    values: dict[str, Any],
    watched: Watched,
    stopping: Stopping,
    meanwhile: Callable[[], None] = lambda: None,
    at_target: TurnLock | None = None,
) -> None:
    """Run all of them side by side; `meanwhile`, `at_target` as there. Raises the documented errors."""
    runs = []
    for node in nodes:
        watch = watched(source_at(node.place, node.options), node.options)
        run = _Run(node.place, node.state, node.options, watch, give)
        runs.append(NodeRun(node.name, node.place, node.state, run))
    waits = waits_for_nodes(values["on_node_lost"], several=len(nodes) > 1)
    say = STANDARD_ERROR.notice
    once = values["once"]
    side_by_side(runs, once=once, waits=waits, say=say, stopping=stopping, meanwhile=meanwhile, at_target=at_target)


class RunsBeside(Protocol):
    """What runs beside the nodes, and goes where their rows go."""

    at_target: TurnLock

    def waits(self) -> bool:
        """Whether a run with --once goes on until it is done, and then to the ends of the logs."""

    def look(self) -> None:
        """Now and then, and at the end; raises what ended it."""

    def is_done(self) -> bool: ...

    def report_end(self) -> None:
        """Raises where what it did is not complete."""


def run_beside(
    nodes: Sequence[FollowedLog],
    give: Callable[[dict[str, Any]], Deliver],
    values: dict[str, Any],
    watched: Watched,
    stopping: Stopping,
    look: Callable[[], None],
    beside: RunsBeside,
) -> None:
    """Run all nodes; with --once until what is beside them is done, if it is waited for, and then to their ends."""

    def meanwhile() -> None:
        look()
        beside.look()

    def ended() -> bool:
        return stopping() or beside.is_done()

    if values["once"] and beside.waits():
        going_on = {**values, "once": False}
        run_nodes(nodes, give(going_on), going_on, watched, ended, meanwhile, beside.at_target)
        beside.look()
        if stopping():
            return
        # Each consumer stands where that ended.
        nodes = [replace(node, options=replace(node.options, start="earliest")) for node in nodes]
    run_nodes(nodes, give(values), values, watched, stopping, meanwhile, beside.at_target)
    beside.look()
    beside.report_end()


def _become_owner(logs: Sequence[tuple[LogPlace, Path | None]]) -> None:
    """That of the first log folder that is there: all are one user's."""
    folders = [(place, state) for place, state in logs if isinstance(place, Path) and state is not None]
    for folder, state in sorted(folders, key=lambda each: nothing_at(*each))[:1]:
        as_state_owner(folder, state)


def to_terminal(sink: SharedSink, values: dict[str, Any], say: Callable[[str], None]) -> Deliver:
    """Of each node to one sink."""

    def give(tail: Tail, pulse: Pulse, watch: Watch, stopping: Stopping) -> None:
        follow(
            tail,
            sink.of(tail, pulse.target),
            once=values["once"],
            commit_every=values["commit_every"],
            say=say,
            stopping=stopping,
            watch=watch,
        )

    return give


def to_outlet(to: str, values: dict[str, Any], say: Callable[[str], None]) -> Deliver:
    """Of each node into an outlet of its own."""

    def give(tail: Tail, pulse: Pulse, watch: Watch, stopping: Stopping) -> None:
        def heard(error: CdcError | None) -> None:
            # While the target is away nothing is heard of the node, which is no fault of its own.
            pulse.beat()

        patience = Patience(values["retry_for"], say, stopping, (watch.away, tail.tell_away, heard))

        def made(context: OutletContext) -> Outlet:
            return GuardedOutlet(open_outlet(to, values, context), pulse.target)

        deliver(Feed(tail, made, patience, say, watch), once=values["once"], say=say, stopping=stopping)

    return give


class _Run:
    """One node's run, again and again."""

    def __init__(self, place: LogPlace, state: Path | None, options: TailOptions, watch: Watch, give: Deliver) -> None:
        self._place = place
        self._state = state
        self._options = options
        self._watch = watch
        self._give = give
        self._began = False
        self._identity = ""
        self._unsaved: Unsaved | None = None

    def __call__(self, pulse: Pulse, stopping: Stopping) -> None:
        try:
            self._check_state()
            log = node_log(self._place, self._options, stopping=stopping)
            with open_tail(log, self._options) as tail:
                self._check_identity(tail)
                if self._unsaved is not None:
                    # Or its rows would be given again, at each try, as long as nothing can be written there.
                    tail.catch_up(self._unsaved)
                    self._unsaved = None
                pulse.beat()
                try:
                    self._give(tail, pulse, HeardWatch(self._watch, pulse.beat), stopping)
                except RefusedError as error:
                    if error is pulse.blame or not of_state(error, self._state):
                        raise
                    # It was not there for a moment; one that really is another refuses when it is opened anew.
                    raise SystemFailedError(f"its state was away: {reason(error)}") from error
                finally:
                    if self._options.consumer is None:
                        # Nothing else keeps it while the node is away.
                        self._options = replace(self._options, start=offset_text(tail.taken))
                    elif not self._options.outlet:
                        # What rows go to may keep a position of its own, which counts then.
                        self._unsaved = tail.unsaved
        except (CdcError, OSError) as error:
            if not self._began and self._depends():
                refused = documented(error)
                refused.tell(f"node {self._options.node} is away, and is to begin at {self._options.start}")
                pulse.blame = refused
                raise refused from error
            raise

    def _check_state(self) -> None:
        """That a log which was open is not begun anew where its state is away."""
        state = None if self._options.consumer is None else self._state
        if self._began and state is not None and not (state / FILE_NAME).exists():
            raise SystemFailedError("its state folder is not there", file=str(state), remedy=MOUNT)

    def _check_identity(self, tail: Tail) -> None:
        if self._identity and tail.state_id != self._identity:
            raise RefusedError(
                f"node {self._options.node} has another state folder than before",
                file=None if self._state is None else str(self._state),
                expected=self._identity,
                found=tail.state_id,
                remedy="Is it another node's log? Give it a name of its own, or restore the folder.",
            )
        self._began = True
        if self._options.consumer is not None:
            self._identity = tail.state_id

    def _depends(self) -> bool:
        """Whether where it begins depends on when it comes: nothing says where it stood, or that it ever began."""
        start, consumer = self._options.start, self._options.consumer
        if start != "latest" and moment_of(start) is None:
            return False
        if consumer is None:
            return True
        if not isinstance(self._place, Path):
            # Who could say so is away.
            return True
        return self._options.node not in FolderHome(self._place, self._options.state).stands(consumer).nodes
