"""`cdc-tail follow --from snapshot` without images: rows of the tables as their servers have them, and of the nodes'
logs from before that on, each to where it goes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from tailer.cli.follow_nodes import Deliver, Stopping, nodes_of, run_beside, to_outlet, to_terminal
from tailer.cli.monitoring import Watched
from tailer.cli.progress import snapshot_bars
from tailer.cli.rows import Form, open_sink
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.log_place import LogPlace
from tailer.options.snapshot import SnapshotOptions
from tailer.options.tail import TailOptions
from tailer.sinks.outlets import open_outlet
from tailer.tail.follow import Say
from tailer.tail.guarded import HeardWatch, SharedSink
from tailer.tail.patience import STOPPED, Patience, StoppedError, Told, hearing
from tailer.tail.side_by_side import Pulse
from tailer.tail.snapshot.nodes import servers_of
from tailer.tail.snapshot.pieces import DeliveredPieces, PrintedPieces, TakesPieces
from tailer.tail.snapshot.rows_beside import RowsBeside
from tailer.tail.snapshot.spooled import home_of
from tailer.tail.tail import Tail
from tailer.tail.watch import Watch


def follow_snapshot(
    places: Sequence[tuple[str, LogPlace]],
    options: TailOptions,
    snapshot: SnapshotOptions,
    to: str | None,
    form: Form,
    values: dict[str, Any],
    watched: Watched,
    stopping: Stopping,
) -> None:
    """Follow all nodes until `stopping`, or with --once the snapshot and the logs to their ends. Raises the documented
    errors."""
    if options.consumer is None:
        raise UsageError("a snapshot goes on where it was", remedy="Give the run a name: --consumer NAME.")
    if snapshot.rereads:
        raise UsageError("--older reread is for images", remedy="Ask for them: --image after; or leave it out.")
    nodes = nodes_of(places, replace(options, outlet=to is not None))
    say, told = STANDARD_ERROR.notice, list[Told]()
    sink = SharedSink(lambda tables, typed: open_sink(form, tables, typed), one_form=form != "json")
    patience = Patience(values["retry_for"], say, stopping, told)
    takes = PrintedPieces(sink.write) if to is None else _delivered(to, values, options.consumer, patience, say)
    servers = servers_of({node.name: node.options for node in nodes})
    states, ranges = {node.name: node.state for node in nodes}, options.schema_changes
    home = home_of(states.items(), options.consumer, "Name a folder for what is kept: --state DIR.")
    with snapshot_bars() as show:
        beside = RowsBeside(list(states), servers, snapshot, home, takes, say, ranges=ranges, show=show)
        with closing(beside):

            def give(values: dict[str, Any]) -> Deliver:
                given = to_terminal(sink, values, say) if to is None else to_outlet(to, values, say)
                return _noted(given, beside, told)

            try:
                try:
                    run_beside(nodes, give, values, watched, stopping, lambda: None, beside)
                finally:
                    beside.finish()
            except StoppedError:
                say(STOPPED)
    sink.close()


def _delivered(to: str, values: dict[str, Any], consumer: str, patience: Patience, say: Say) -> TakesPieces:
    return DeliveredPieces(lambda context: open_outlet(to, values, context), consumer, patience, say)


def _noted(give: Deliver, beside: RowsBeside, told: list[Told]) -> Deliver:
    """The same, and the snapshot hears how far each node is."""

    def noted(tail: Tail, pulse: Pulse, watch: Watch, stopping: Stopping) -> None:
        beside.begin(tail)
        with hearing(told, tail.tell_away, lambda error: pulse.beat()):
            give(tail, pulse, HeardWatch(watch, lambda: beside.note(tail)), stopping)

    return noted
