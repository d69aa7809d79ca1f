"""What the commands show of themselves to monitoring, where `--metrics` or OpenTelemetry's environment asks for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tailer.cli.standard_error import STANDARD_ERROR
from tailer.cli.stream_progress import LOOK_SECONDS, Read

if TYPE_CHECKING:
    from tailer.metrics.monitor import Monitor
    from tailer.metrics.streaming import Stream
    from tailer.options.tail import TailOptions
    from tailer.options.to_spark import SourceOptions
    from tailer.segments.source import Source
    from tailer.tail.watch import Watch

Watched = Callable[["Source", "TailOptions"], "Watch"]
"""Who is told of the loop over a log; of several logs each has its own."""


@contextmanager
def watches(values: Mapping[str, Any]) -> Iterator[Watched]:
    """For loops of this process, until the context ends. `values`: the command's options."""
    with monitor(values) as shown:
        yield lambda source, options: _watch(shown, source, options, values["cap"])


@contextmanager
def monitor(values: Mapping[str, Any]) -> Iterator[Monitor | None]:
    """What shows things from now on; None where nobody asks. UsageError where it cannot be had."""
    from tailer.metrics.monitor import Monitor, wanted

    if not wanted(values["metrics"], os.environ):
        yield None
        return
    with Monitor(values["metrics"], os.environ, STANDARD_ERROR.notice) as shown:
        yield shown


def _watch(shown: Monitor | None, source: Source, options: TailOptions, cap: int | None) -> Watch:
    if shown is None:
        from tailer.tail.watch import NO_WATCH

        return NO_WATCH
    from tailer.metrics.follower import Follower

    follower = Follower(source, options.node, options.consumer, cap)
    shown.add(follower)
    return follower


class QueryWatch:
    """Who is told of a query: nobody, or its figures."""

    def __init__(self, stream: Stream | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._looked = clock()

    def told(self, progress: Mapping[str, Any]) -> None:
        """One micro-batch's progress."""
        if self._stream is not None:
            self._stream.take(progress)

    def beside(self, watch: Callable[[Read], None]) -> Callable[[Read], None]:
        """What is called often while the query runs: `watch`, and what makes `told` hear of micro-batches."""
        stream = self._stream
        if stream is None:
            return watch

        def both(read: Read) -> None:
            watch(read)
            stream.turned()
            if self._clock() - self._looked >= LOOK_SECONDS:
                self._looked = self._clock()
                read()

        return both


@contextmanager
def query_watch(values: Mapping[str, Any], source: SourceOptions) -> Iterator[QueryWatch]:
    """For a Spark query, until the context ends."""
    with monitor(values) as shown:
        if shown is None:
            yield QueryWatch(None)
            return
        stream = _stream(source, values["cap"])
        shown.add(stream)
        yield QueryWatch(stream)


def _stream(source: SourceOptions, cap: int | None) -> Stream:
    from tailer.metrics.streaming import GivenUp, Stream
    from tailer.spark.backlog import GivenUp as Journalled
    from tailer.spark.present import homes
    from tailer.tail.node_log import source_at

    consumer, before = source.tail.consumer, {}
    logs = {node: source_at(place, source.of(node, once=False)) for node, place in source.places}
    for node, home in homes(source).items():
        before[node] = GivenUp(**Journalled(home.journal(writable=False), consumer).counts())
    return Stream(logs, consumer, cap, before)
