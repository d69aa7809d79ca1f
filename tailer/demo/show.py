"""The demo: a recorded log is replayed as a server writes it, while a Spark query follows it and shows what arrives.

Ends by itself, and checks itself: what the query showed must be what our own reader makes of the finished log.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Final

import tailer
from tailer.demo.publications import Replaying, percentile
from tailer.demo.recording import Recording, load_recording
from tailer.demo.screen import Screen
from tailer.errors import SystemFailedError
from tailer.spark.run import SinkRun, stop
from tailer.spark.session import check_java, open_session

if TYPE_CHECKING:
    from tailer.spark.run import SparkSession, StreamingQuery

WHOLE_SECONDS: Final = 95.0
"""What start-up and replay may take together: a slow start shortens the replay."""
REPLAY_SECONDS: Final = (8.0, 25.0)
PATIENCE_SECONDS: Final = 60.0
"""How long the query's first rows may take, and its last ones once the replay has ended."""
POLL_SECONDS: Final = 0.05


def run_demo(stream: IO[bytes], *, colour: bool, seconds: float | None) -> None:
    """Show it on `stream`. `seconds`: of the replay; None chooses so that the whole stays under two minutes.

    Raises UsageError without Java, the query's error, and RuntimeError where the rows shown are not those expected.
    """
    check_java()
    began = time.monotonic()
    recording = load_recording()
    with TemporaryDirectory(prefix="cdc-tail-demo-") as parent, Replaying(Path(parent)) as replay:
        folder = Path(parent) / "cdc_raw"
        screen = Screen(stream, replay.published, colour=colour, clock=time.monotonic)
        _introduce(screen, recording, folder)
        with _session(screen) as session:
            run, query = _start(session, folder, screen)
            left = WHOLE_SECONDS - (time.monotonic() - began)
            least, most = REPLAY_SECONDS
            took = seconds if seconds is not None else max(least, min(most, left))
            screen.say(f"the query runs; now the rest of the log is written, over {took:.0f} s")
            replay.go(took)
            expected = _follow(run, query, replay, screen, folder)
            _summarise(screen, session.version, recording, replay, expected)


def _introduce(screen: Screen, recording: Recording, folder: Path) -> None:
    segments = len(recording.segments)
    screen.heading("cdc-tail demo: changes of a Cassandra log, as a Spark query gets them")
    screen.say(f"a log recorded from Apache Cassandra {recording.cassandra} ({segments} segments) is replayed into")
    screen.say(f"{folder}: entries, fsync, sidecar, roll-over, as the server wrote it")
    screen.say("starting Spark (a JVM and its Python workers), which takes the longest")


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


def _follow(run: SinkRun, query: StreamingQuery, replay: Replaying, screen: Screen, folder: Path) -> list[str]:
    """Until the replay has ended and its rows were shown, or no more come; the rows expected."""
    while replay.running and query.isActive:
        time.sleep(POLL_SECONDS)
    if query.isActive and (failure := replay.failure()) is not None:
        raise SystemFailedError(f"the replay failed: {failure}")
    expected = [str(id) for batch in tailer.open(folder).read() for id in batch.column("event_id").to_pylist()]
    _wait(lambda: len(screen.event_ids) >= len(expected) or not query.isActive)
    if not query.isActive:
        run.wait(query)
    return expected


def _wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < until:
        time.sleep(POLL_SECONDS)


def _summarise(screen: Screen, spark: str, recording: Recording, replay: Replaying, expected: list[str]) -> None:
    shown, delays = screen.event_ids, screen.delays
    screen.heading("summary")
    screen.say(f"{len(shown)} changes in {screen.batches} micro-batches, from {len(recording.segments)} segments")
    if delays:
        screen.say(f"sidecar written to change shown: {_percentiles(delays)} ({replay.count} sidecars)")
        screen.say(f"the second half of them, with a warmer JVM: {_percentiles(delays[len(delays) // 2 :])}")
    versions = f"Spark {spark}, Python {platform.python_version()}, a log of Cassandra {recording.cassandra}"
    screen.say(versions)
    if shown != expected:
        missing, again = len(set(expected) - set(shown)), len(shown) - len(set(shown))
        raise RuntimeError(
            f"the query showed {len(shown)} changes, the recording has {len(expected)} "
            f"({missing} missing, {again} shown again, or in another order)"
        )
    screen.say("every change of the recording was shown, once, in the log's order")


def _percentiles(delays: list[float]) -> str:
    p50, p99 = (percentile(delays, share) * 1000 for share in (0.5, 0.99))
    return f"p50 {p50:.0f} ms, p99 {p99:.0f} ms"
