"""`cdc-tail status`: segments, consumers and their lag, what clean would free, the disk cap; or a health check.

Parses options and shows what `retention/gather.py` gathers. Writes nothing, so it works on read-only mounts and beside
all else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import typer

from tailer.cli.command import command
from tailer.cli.rows import Form, output_form
from tailer.cli.status_text import away_lines, node_lines
from tailer.errors import CdcError, HeldBackError, LossError, RefusedError, SystemFailedError, UsageError
from tailer.options.amounts import Lag
from tailer.options.log_place import LogPlace, NodeUrl
from tailer.options.to_terminal import DIRS
from tailer.position import Position
from tailer.retention.clean import CleanOptions
from tailer.retention.status import AwayNode, ConsumerStatus, NodeStatus
from tailer.sinks.terminal import terminal_columns
from tailer.sinks.text import printable, size_text
from tailer.typed_decode import decode_json

if TYPE_CHECKING:
    from tailer.options.tail import TailOptions

app = typer.Typer(add_completion=False)

SECOND_LOOK_SECONDS: Final = 2.0
"""Changes that came just now are in no consumer's file yet: only who stands still between two looks lags."""

Found = Sequence[NodeStatus | AwayNode]
"""What there is to tell of each node."""

_CLEAR: Final = "\x1b[H\x1b[2J"


@command(app, "status", {"folder": DIRS}, epilog="Example: cdc-tail status /var/lib/cassandra/cdc_raw --max-lag 5min")
def status(
    folder: str,
    node: str,
    watch: bool,
    every: float,
    max_lag: Lag | None,
    output: Form | None,
    values: dict[str, Any],
) -> None:
    """Show a log folder: its segments, its consumers and their lag, what clean would free, how near the disk cap is."""
    from tailer.options.to_spark import places_of

    if max_lag is not None and watch:
        raise UsageError("--max-lag with --watch", remedy="A health check looks once: leave --watch out.")

    def look() -> Found:
        return _all_there(places_of(folder, node), values)

    form = output_form(output)
    if watch:
        _watch(look, form, every)
    found = look() if max_lag is None else _look_twice(look, max_lag)
    _write(found, form)
    if max_lag is not None and (problem := health(found, max_lag)) is not None:
        raise problem


def _status_of(place: LogPlace, options: TailOptions, values: Mapping[str, Any]) -> NodeStatus:
    """Of a folder as it is now, or of a node as it tells it. `options`: this node's; `values`: the command's."""
    from tailer.options.cassandra_yaml import server_settings
    from tailer.retention.gather import observe

    if not isinstance(place, Path):
        return asked_status(place, options, values["cap"])
    file = values["cassandra_yaml"]
    settings = None if file is None else server_settings(file)
    how = CleanOptions(stopped=options.stopped)
    return observe(options.node, place, state=options.state, cap=values["cap"], settings=settings, options=how)


def _look_twice(look: Callable[[], Found], limit: Lag) -> Found:
    """The second look where the first one found somebody late."""
    found = look()
    if _late(_there(found), limit):
        time.sleep(SECOND_LOOK_SECONDS)
        found = look()
    return found


def asked_status(url: NodeUrl, options: TailOptions, cap: int | None) -> NodeStatus:
    """What a node tells of itself. Raises the documented errors."""
    from tailer.remote.status import status_text

    text = status_text(url, options, cap)
    try:
        found = decode_json(text, NodeStatus)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise SystemFailedError("the node's status is of a form that is not understood", found=str(error)) from None
    return msgspec.structs.replace(found, node=options.node, folder=str(url))


def health(everything: Found, limit: Lag) -> CdcError | None:
    """What a monitor should hear of first: a node that is away, a consumer not understood or none at all, lost changes,
    a lag."""
    for away in everything:
        if isinstance(away, AwayNode):
            return SystemFailedError(f"node {away.node} is away: {away.problem}", file=away.folder)
    found = _there(everything)
    for each in found:
        if each.problems or not each.consumers:
            return RefusedError(
                each.problems[0] if each.problems else "no consumer is registered: nobody reads this log",
                file=each.folder,
            )
    for each in found:
        for consumer in each.consumers:
            if consumer.pending:
                return LossError(
                    f"`clean --force` deleted what consumer {consumer.consumer} had not read",
                    at=Position(consumer.pending[0], 0),
                    file=each.folder,
                )
    late = _late(found, limit)
    if not late:
        return None
    worst = max(late, key=lambda each: (each.lag.seconds, each.lag.bytes))
    lag = worst.lag
    return HeldBackError(
        f"consumer {worst.consumer} ({worst.node}) lags",
        expected=f"at most {limit.seconds} s"
        if limit.seconds is not None
        else f"at most {size_text(limit.bytes or 0)}",
        found=f"{size_text(lag.bytes)} in {lag.segments} segments, for {lag.seconds:.0f} s",
        remedy="" if worst.running else "It is not running.",
    )


def _all_there(places: Sequence[tuple[str, LogPlace]], values: Mapping[str, Any]) -> Found:
    """Of several nodes one that is away says nothing of the others; of one alone it is the error."""
    from tailer.options.tail import tail_options
    from tailer.tail.away import documented, lost_by
    from tailer.tail.node_log import state_of

    found: list[NodeStatus | AwayNode] = []
    for name, place in places:
        options = tail_options(values).of_node(name, several=len(places) > 1)
        try:
            found.append(_status_of(place, options, values))
        except (CdcError, OSError) as error:
            if len(places) == 1 or not lost_by(error, place, state_of(place, options)):
                raise
            found.append(AwayNode(name, str(place), documented(error).sentence()))
    return found


def _there(found: Found) -> list[NodeStatus]:
    return [each for each in found if isinstance(each, NodeStatus)]


def _late(found: Sequence[NodeStatus], limit: Lag) -> list[ConsumerStatus]:
    return [each for node in found for each in node.consumers if _over(each, limit)]


def _over(consumer: ConsumerStatus, limit: Lag) -> bool:
    if limit.seconds is not None:
        return consumer.lag.seconds > limit.seconds
    return consumer.lag.bytes > (limit.bytes or 0)


def _watch(look: Callable[[], Found], form: Form, every: float) -> None:
    """Until interrupted; on a terminal each report takes the place of the one before."""
    while True:
        found = look()
        if form == "pretty" and sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
        _write(found, form)
        sys.stdout.flush()
        time.sleep(every)


def _write(found: Found, form: Form) -> None:
    if form == "json":
        sys.stdout.writelines(msgspec.json.encode(each).decode() + "\n" for each in found)
        return
    now, columns = time.time(), terminal_columns(sys.stdout, os.environ)
    for each in found:
        lines = away_lines(each, columns) if isinstance(each, AwayNode) else node_lines(each, now, columns)
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
