"""The demo: a log is written while a Spark query follows it and shows what arrives.

The writer is a process with a log of its own, killed once and recovered; or a recorded log of Cassandra's is replayed
as its server wrote it. Ends by itself, and checks itself: what the query showed must be what our own reader makes of
the finished log, and everything that the writer said to be durable must be in it.
"""

from __future__ import annotations

import platform
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Final, NamedTuple

import tailer
from tailer.definitions.journalled import JournalledTables
from tailer.demo.live import LiveWriter, percentile
from tailer.demo.screen import Screen
from tailer.errors import SystemFailedError
from tailer.spark.run import SinkRun, stop
from tailer.spark.session import check_java, check_pyspark, open_session
from tailer.state.home import FolderHome

if TYPE_CHECKING:
    from tailer.spark.run import SparkSession, StreamingQuery

WHOLE_SECONDS: Final = 95.0
"""What start-up and writing may take together: a slow start shortens the writing."""
WRITING_SECONDS: Final = (8.0, 25.0)
PATIENCE_SECONDS: Final = 60.0
"""How long the query's first rows may take, and its last ones once the writing has ended."""
POLL_SECONDS: Final = 0.05


class Story(NamedTuple):
    """What is shown: whose changes, which module writes them, whether it is killed, and what is said of it."""

    heading: str
    module: str
    killed: bool
    about: tuple[str, ...]
    log: str
    whole: str


SERVICE: Final = Story(
    "cdc-tail demo: changes of a service with a log of its own, as a Spark query gets them",
    "tailer.demo.writer",
    True,
    (
        "a shop in Python writes orders through writer_hooks, in transactions, to commitlog/ and cdc_raw/ in",
        "{folder}; it is killed (kill -9) half-way and started again",
    ),
    "a log of writer_hooks",
    "log",
)


def cassandra_story() -> Story:
    """The recorded server."""
    from tailer.demo.recording import load_recording

    recording = load_recording()
    return Story(
        "cdc-tail demo: changes of a Cassandra log, as a Spark query gets them",
        "tailer.demo.replay",
        False,
        (
            f"a log recorded from Apache Cassandra {recording.cassandra} ({len(recording.segments)} segments) is "
            "replayed into",
            "{folder}/cdc_raw: entries, fsync, sidecar, roll-over, as the server wrote it",
        ),
        f"a log of Cassandra {recording.cassandra}",
        "recording",
    )


def run_demo(stream: IO[bytes], story: Story, *, colour: bool, seconds: float | None) -> None:
    """Show it on `stream`. `seconds`: of the writing; None chooses so that the whole stays under two minutes.

    Raises UsageError without PySpark or Java, the query's error, and RuntimeError where the rows shown are not those
    expected.
    """
    check_pyspark()
    check_java()
    began = time.monotonic()
    with TemporaryDirectory(prefix="cdc-tail-demo-") as parent, LiveWriter(story.module, parent) as writer:
        folder = Path(parent) / "cdc_raw"
        tables = JournalledTables([FolderHome(folder)]).definition
        screen = Screen(stream, writer.published, tables, colour=colour, clock=time.monotonic)
        screen.heading(story.heading)
        for line in story.about:
            screen.say(line.format(folder=parent))
        screen.say("starting Spark (a JVM and its Python workers), which takes the longest")
        with _session(screen) as session:
            run, query = _start(session, folder, screen)
            left = WHOLE_SECONDS - (time.monotonic() - began)
            least, most = WRITING_SECONDS
            took = seconds if seconds is not None else max(least, min(most, left))
            screen.say(f"the query runs; now the rest of the log is written, over {took:.0f} s")
            writer.go(took / 2 if story.killed else took)
            if story.killed:
                _kill_once(writer, query, screen, took / 2)
            expected = _follow(run, query, writer, screen, folder)
            _summarise(screen, session.version, story, writer, expected)


@contextmanager
def _session(screen: Screen) -> Iterator[SparkSession]:
    session = open_session("cdc-tail demo", lambda line: None, master="local[2]")
    try:
        screen.say(f"Spark {session.version} is up; starting the query: readStream.format('cdc_tail')")
        yield session
    finally:
        stop(session)


def _start(session: SparkSession, folder: Path, screen: Screen) -> tuple[SinkRun, StreamingQuery]:
    """The query, when it has shown what was there: its workers have started, and from then on rows come at once."""
    _wait(lambda: folder.is_dir())
    run = SinkRun(session, {"path": str(folder), "consumer": "demo"}, screen)
    query = run.start(str(folder.with_name("checkpoint")), once=False)
    _wait(lambda: run.rows > 0 or not query.isActive)
    return run, query


def _kill_once(writer: LiveWriter, query: StreamingQuery, screen: Screen, seconds: float) -> None:
    """A crash in the middle of the writing, a little before it would have ended, and a new process behind it."""
    until = time.monotonic() + seconds * 0.9
    _wait(lambda: time.monotonic() >= until or not (writer.running and query.isActive))
    durable = writer.kill()
    screen.say(f"kill -9 of the writer: {durable} changes and transactions were acknowledged by then")
    time.sleep(1.0)
    writer.again()
    _wait(lambda: len(writer.said) > 1 or not writer.running)
    if len(writer.said) > 1:
        screen.say(f"started again: it recovered its log, and found order {writer.said[-1]['orders']} to be its last")
    if writer.running:
        writer.go(seconds)


def _follow(run: SinkRun, query: StreamingQuery, writer: LiveWriter, screen: Screen, folder: Path) -> list[str]:
    """Until the writing has ended and its rows were shown, or no more come; the rows expected."""
    while writer.running and query.isActive:
        time.sleep(POLL_SECONDS)
    if query.isActive and (failure := writer.failure()) is not None:
        raise SystemFailedError(f"the writer failed: {failure}")
    rows = [
        (str(event), (int(segment), int(offset)))
        for batch in tailer.open(folder).read()
        for event, segment, offset in zip(
            *(batch.column(name).to_pylist() for name in ("event_id", "segment", "offset")), strict=True
        )
    ]
    _check_promises(writer, [at for _, at in rows])
    expected = [event for event, _ in rows]
    _wait(lambda: len(screen.event_ids) >= len(expected) or not query.isActive)
    if not query.isActive:
        run.wait(query)
    return expected


def _check_promises(writer: LiveWriter, places: list[tuple[int, int]]) -> None:
    """Everything that was said to be durable, entry by entry, is in the log."""
    missing = []
    for segment, end in writer.promised():
        before = bisect_left(places, (segment, end))
        if before == 0 or places[before - 1][0] != segment:
            missing.append(f"{segment}:{end}")
    if missing:
        raise RuntimeError(f"{len(missing)} changes were acknowledged and are not in the log, the first {missing[0]}")


def _wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < until:
        time.sleep(POLL_SECONDS)


def _summarise(screen: Screen, spark: str, story: Story, writer: LiveWriter, expected: list[str]) -> None:
    shown, delays = screen.event_ids, screen.delays
    screen.heading("summary")
    screen.say(f"{len(shown)} changes in {screen.batches} micro-batches, from {writer.segments} segments")
    if delays:
        screen.say(f"made durable to change shown: {_percentiles(delays)}")
        screen.say(f"the second half of them, with a warmer JVM: {_percentiles(delays[len(delays) // 2 :])}")
    screen.say(f"Spark {spark}, Python {platform.python_version()}, {story.log}")
    if shown != expected:
        missing, again = len(set(expected) - set(shown)), len(shown) - len(set(shown))
        raise RuntimeError(
            f"the query showed {len(shown)} changes, the log has {len(expected)} "
            f"({missing} missing, {again} shown again, or in another order)"
        )
    screen.say(f"every change of the {story.whole} was shown, once, in the log's order")
    if story.killed:
        screen.say("and nothing that was acknowledged before the kill is missing")


def _percentiles(delays: list[float]) -> str:
    p50, p99 = (percentile(delays, share) * 1000 for share in (0.5, 0.99))
    return f"p50 {p50:.0f} ms, p99 {p99:.0f} ms"
