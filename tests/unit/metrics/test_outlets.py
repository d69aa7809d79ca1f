"""What the loop of outlets tells: rows count as delivered when they are committed, and a target that is away shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailer.metrics import declared as m
from tailer.metrics.declared import Metric
from tailer.metrics.follower import Follower
from tailer.options.tail import TailOptions
from tailer.segments.source import FolderSource
from tailer.sinks.outlet import Bounds
from tailer.tail.deliver import deliver
from tailer.tail.feed import Feed
from tailer.tail.patience import Patience
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.outlets import MemoryOutlet, Target, away
from tests.helpers.tails import open_tail

TABLE = simple_table("ks", "t")
RUN = ("billing", "local")
ROWS = 7


def log(parent: Path) -> Path:
    folder = LogFolder(parent / "cdc_raw")
    rows = [[insert_payload(TABLE, number, "a", number)] for number in range(ROWS)]
    writer = segment_of(1_700_000_000_001, [[create_payload(TABLE)], *rows])
    folder.put(writer, completed(writer))
    return folder.path


def value(follower: Follower, metric: Metric) -> Any:
    (found,) = (sample.value for sample in follower.samples() if (sample.metric, sample.labels) == (metric, RUN))
    return found


def run(
    folder: Path, target: Target, sleeps: Callable[[Follower], None] = lambda follower: None, **options: Any
) -> Follower:
    """One run that does not wait. `sleeps`: called where it waits for its target."""
    follower = Follower(FolderSource(folder), "local", "billing", 10**9)
    chosen = TailOptions(consumer="billing", settle_seconds=0.0, outlet=True, **options)
    with open_tail(folder, chosen) as tail:
        patience = Patience(60.0, [].append, told=(follower.away,), sleep=lambda seconds: sleeps(follower))
        feed = Feed(tail, lambda context: MemoryOutlet(target, context, Bounds(rows=3)), patience, [].append, follower)
        deliver(feed, once=True, say=[].append)
    return follower


def test_rows_are_delivered_when_they_are_committed(tmp_path: Path) -> None:
    target = Target()
    follower = run(log(tmp_path), target)
    assert value(follower, m.DELIVERED_ROWS) == len(target.rows) == ROWS
    assert sum(value(follower, m.TO_DELIVERED).counts) == ROWS
    assert value(follower, m.COMMITS) == len(target.commits)
    assert value(follower, m.LAG_BYTES) == 0
    again = run(tmp_path / "cdc_raw", target)
    assert (value(again, m.DELIVERED_ROWS), value(again, m.LAG_BYTES), value(again, m.READY)) == (0, 0, 1)


def test_a_target_that_is_away_shows_until_it_is_there(tmp_path: Path) -> None:
    seen: list[tuple[Any, ...]] = []

    def fails(number: int, when: str) -> None:
        if when == "before" and len(seen) < 3:
            raise away()

    def look(follower: Follower) -> None:
        names = (m.RETRIES, m.READY, m.DELIVERED_ROWS)
        seen.append((*(value(follower, name) for name in names), value(follower, m.LAG_BYTES) > 0, follower.unready()))

    target = Target(fails=fails)
    follower = run(log(tmp_path), target, look)
    away_for = ["the target is away: the list is away."]
    assert {tuple(map(str, each[1:])) for each in seen} == {("False", "0", "True", str(away_for))}
    assert value(follower, m.RETRIES) == 1 + max(each[0] for each in seen) - min(each[0] for each in seen)
    assert (value(follower, m.AWAY), value(follower, m.READY), value(follower, m.DELIVERED_ROWS)) == (0, 1, ROWS)


def test_rows_that_are_refused_are_counted(tmp_path: Path) -> None:
    target = Target(refuses=lambda row: row["columns"]["v"] == 4)
    follower = Follower(FolderSource(tmp_path / "cdc_raw"), "local", "billing", 10**9)
    chosen = TailOptions(consumer="billing", settle_seconds=0.0, outlet=True, on_error="quarantine")
    with open_tail(log(tmp_path), chosen) as tail:
        patience = Patience(60.0, [].append)
        feed = Feed(tail, lambda context: MemoryOutlet(target, context, Bounds()), patience, [].append, follower)
        deliver(feed, once=True, say=[].append)
    assert len(target.rows) == ROWS - 1
    assert value(follower, m.REFUSED_ROWS) == 1
