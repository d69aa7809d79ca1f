"""What a session of `cdc-tail stream` is for, a long computation or a stream that waits: its JVM compiles by that.

Told before the JVM starts, from options, names, sidecars and sizes: opens no segment and writes nothing. A guess: what
it says decides how fast rows come, and never which.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from tailer.limits import MIB
from tailer.options.log_place import LogPlace
from tailer.options.to_spark import SourceOptions
from tailer.planning.named_positions import is_json, offset_of_json
from tailer.position import Position
from tailer.sinks.text import size_text
from tailer.spark.backlog import backlog
from tailer.spark.present import there
from tailer.state.home import Home
from tailer.state.offset import NodeOffset
from tailer.tail.node_log import node_log

ONCE_BYTES: Final = 64 * MIB
"""From so much log on a run that ends with it is done sooner by a JVM that compiles fully."""

LIVE_BYTES: Final = 256 * MIB
"""The same of a stream that waits for the first rows: its start counts more."""

LATEST: Final = "latest"


class Purpose(NamedTuple):
    """`long`: enough is computed that a JVM should compile fully. `why`: for who reads the settings."""

    long: bool
    why: str


def purpose(source: SourceOptions, checkpoint: Path | None, *, once: bool) -> Purpose:
    """What a query over `source` is for whose position is kept in `checkpoint`, if anywhere."""
    behind = sum(_behind(name, place, source, checkpoint) for name, place in there(source))
    least = ONCE_BYTES if once else LIVE_BYTES
    what = "a run that ends with what is there" if once else "a stream"
    size, bound = size_text(behind), size_text(least)
    if behind >= least:
        return Purpose(True, f"the JVM compiles fully: {what}, with {size} of log before it ({bound} or more)")
    return Purpose(False, f"the JVM compiles little, to start soon: {what}, with {size} of log before it")


def _behind(node: str, place: LogPlace, source: SourceOptions, checkpoint: Path | None) -> int:
    """Bytes of one node's log between its position and what its sidecars promise: a bound, see `docs/spark.md`."""
    options = source.of(node, once=True)
    with closing((log := node_log(place, options)).source):
        at = _begun(node, log.home, options.consumer, checkpoint)
        if at is None:
            if options.start == LATEST:
                return 0
            at = _named(options.start, node)
        found = log.source.look()
    ends = {each: file.content.end for each, file in found.sidecars.items() if file.content and each in found.logs}
    left: int = backlog(at, ends)["bytes"]
    return left


def _named(start: str, node: str) -> NodeOffset:
    if is_json(start):
        return offset_of_json(start, node)
    at = Position.parse(start)
    return NodeOffset() if at is None else NodeOffset(s=at.segment, o=at.offset, done=False)


def _begun(node: str, home: Home, consumer: str | None, checkpoint: Path | None) -> NodeOffset | None:
    """Where a query stands that has begun; None for a new one. The checkpoint decides, the consumer follows it."""
    if consumer is None or checkpoint is None or not any((checkpoint / "offsets").glob("[0-9]*")):
        return None
    held = home.stands(consumer).nodes.get(node)
    return None if held is None else held.offset
