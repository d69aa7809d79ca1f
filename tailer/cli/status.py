"""`cdc-tail status`: segments, consumers and their lag, what clean would free, the disk cap; or a health check.

Parses options and shows what `retention/gather.py` gathers. Writes nothing, so it works on read-only mounts and beside
all else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import typer

from tailer.cli.command import command
from tailer.cli.rows import Form, output_form
from tailer.cli.status_text import node_lines
from tailer.errors import CdcError, HeldBackError, LossError, RefusedError, UsageError
from tailer.options.amounts import Lag
from tailer.options.to_terminal import DIRS
from tailer.position import Position
from tailer.retention.clean import CleanOptions
from tailer.retention.status import ConsumerStatus, NodeStatus
from tailer.sinks.terminal import terminal_columns
from tailer.sinks.text import printable, size_text

app = typer.Typer(add_completion=False)

SECOND_LOOK_SECONDS: Final = 2.0
"""Changes that came just now are in no consumer's file yet: only who stands still between two looks lags."""

_CLEAR: Final = "\x1b[H\x1b[2J"


@command(app, "status", {"folder": DIRS}, epilog="Example: cdc-tail status /var/lib/cassandra/cdc_raw --max-lag 5min")
def status(
    folder: str,
    node: str,
    state: Path | None,
    stopped: bool,
    cap: int | None,
    watch: bool,
    every: float,
    max_lag: Lag | None,
    output: Form | None,
) -> None:
    """Show a log folder: its segments, its consumers and their lag, what clean would free, how near the disk cap is."""
    from tailer.options.to_spark import folders_of
    from tailer.retention.gather import observe

    if max_lag is not None and watch:
        raise UsageError("--max-lag with --watch", remedy="A health check looks once: leave --watch out.")
    options = CleanOptions(stopped=stopped)

    def look() -> list[NodeStatus]:
        return [observe(name, each, state=state, cap=cap, options=options) for name, each in folders_of(folder, node)]

    form = output_form(output)
    if watch:
        _watch(look, form, every)
    found = look()
    if max_lag is not None and _late(found, max_lag):
        time.sleep(SECOND_LOOK_SECONDS)
        found = look()
    _write(found, form)
    if max_lag is not None and (problem := health(found, max_lag)) is not None:
        raise problem


def health(found: Sequence[NodeStatus], limit: Lag) -> CdcError | None:
    """What a monitor should hear of first: a consumer not understood or none at all, lost changes, a lag."""
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


def _late(found: Sequence[NodeStatus], limit: Lag) -> list[ConsumerStatus]:
    return [each for node in found for each in node.consumers if _over(each, limit)]


def _over(consumer: ConsumerStatus, limit: Lag) -> bool:
    if limit.seconds is not None:
        return consumer.lag.seconds > limit.seconds
    return consumer.lag.bytes > (limit.bytes or 0)


def _watch(look: Callable[[], list[NodeStatus]], form: Form, every: float) -> None:
    """Until interrupted; on a terminal each report takes the place of the one before."""
    while True:
        found = look()
        if form == "pretty" and sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
        _write(found, form)
        sys.stdout.flush()
        time.sleep(every)


def _write(found: Sequence[NodeStatus], form: Form) -> None:
    if form == "json":
        sys.stdout.writelines(msgspec.json.encode(each).decode() + "\n" for each in found)
        return
    now, columns = time.time(), terminal_columns(sys.stdout, os.environ)
    sys.stdout.writelines(f"{printable(line)}\n" for each in found for line in node_lines(each, now, columns))
