"""What a loop tells of itself becomes numbers: held to what was put into the log, at times that the test says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import SinkError, SystemFailedError
from tailer.metrics import declared as m
from tailer.metrics.declared import Metric
from tailer.metrics.follower import Follower
from tailer.metrics.health import STUCK_SECONDS
from tailer.metrics.samples import BOUNDS, Counted
from tailer.options.tail import TailOptions
from tailer.segments.source import FolderSource
from tailer.sinks.base import Rows
from tailer.state.offset import NodeOffset
from tailer.tail.follow import follow
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.tails import open_tail

FIRST = 1_700_000_000_001
TABLE, OTHER = simple_table("ks", "t"), simple_table("ks", "other", 2)
BEGAN = 5_000_000.0
RUN = ("billing", "local")


class Run:
    """A run over a folder of the test's, each of whose readings goes by the test's clock. `takes`: how long the sink is
    at each batch."""

    def __init__(self, parent: Path) -> None:
        self.now = BEGAN
        self.takes = 0.0
        self.fails = False
        self.seen: list[dict[Metric, dict[tuple[str, ...], Any]]] = []
        self.folder = LogFolder(parent / "cdc_raw")
        self.follower = Follower(
            FolderSource(self.folder.path), "local", "billing", 10**9, lambda: self.now, lambda: self.now
        )

    def put(self, writer: SegmentWriter, sidecar: str, when: float) -> None:
        self.folder.put(writer, sidecar)
        os.utime(self.folder.path / writer.sidecar_name, (when, when))

    def write(self, batch: Rows) -> None:
        """The sink."""
        self.seen.append(self.values())
        self.now += self.takes
        if self.fails:
            raise SinkError("full")

    def close(self) -> None:
        """Nothing is kept back."""

    def once(self, **options: Any) -> None:
        settings = TailOptions(consumer="billing", **options).for_run(once=True)
        with open_tail(self.folder.path, settings) as tail:
            follow(tail, self, once=True, say=lambda line: None, watch=self.follower)

    def values(self) -> dict[Metric, dict[tuple[str, ...], Any]]:
        found: dict[Metric, dict[tuple[str, ...], Any]] = {}
        for sample in self.follower.samples():
            found.setdefault(sample.metric, {})[sample.labels] = sample.value
        return found

    def value(self, metric: Metric, labels: tuple[str, ...] = RUN) -> Any:
        return self.values()[metric][labels]


def buckets(counted: Counted) -> dict[float | None, int]:
    return {bound: count for bound, count in zip((*BOUNDS, None), counted.counts, strict=True) if count}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def two_tables() -> SegmentWriter:
    rows = [insert_payload(TABLE, number, "a", number) for number in range(3)]
    return segment_of(FIRST, [[create_payload(TABLE), create_payload(OTHER)], rows, [insert_payload(OTHER, 1, "a", 1)]])


def test_rows_are_counted_by_table_and_timed(run: Run) -> None:
    writer = two_tables()
    run.put(writer, completed(writer), BEGAN - 7)
    run.takes = 0.3
    run.once()
    assert run.values()[m.ROWS] == {(*RUN, "ks", "t", "insert"): 3, (*RUN, "ks", "other", "insert"): 1}
    assert run.value(m.DELIVERED_ROWS) == 4
    to_read, to_delivered = run.value(m.TO_READ), run.value(m.TO_DELIVERED)
    assert buckets(to_read) == {10.0: 4}
    assert to_read.total == pytest.approx(28.0)
    assert buckets(to_delivered) == {0.5: 4}
    assert run.value(m.COMMITS) >= 1
    assert (run.value(m.LAG_BYTES), run.value(m.LAG_SECONDS), run.value(m.STALLED)) == (0, 0.0, 0.0)


def test_what_is_in_the_sink_s_hands_is_not_delivered(run: Run) -> None:
    writer = two_tables()
    run.put(writer, completed(writer), BEGAN - 7)
    run.once()
    (seen,) = run.seen
    assert (seen[m.DELIVERED_ROWS][RUN], seen[m.LAG_SEGMENTS][RUN], seen[m.LAG_SECONDS][RUN]) == (0, 1, 7.0)
    assert 0 < seen[m.LAG_BYTES][RUN] <= int(writer.end)


def test_a_sink_that_stands_still_shows(run: Run) -> None:
    writer = two_tables()
    run.put(writer, live(writer), BEGAN - 7)
    shown: list[Any] = []
    run.write = lambda batch: shown.extend(_stalled(run))  # type: ignore[method-assign]
    run.once(stopped=True)
    stalled, lag, stuck, ready = shown
    assert (stalled, lag) == (STUCK_SECONDS + 1, STUCK_SECONDS + 8)
    assert stuck == ["the loop of node local has not moved for 121 s"]
    assert ready == stuck
    assert run.value(m.STALLED) == 0.0
    assert run.follower.stuck() == []


def _stalled(run: Run) -> list[Any]:
    run.now += STUCK_SECONDS + 1
    return [run.value(m.STALLED), run.value(m.LAG_SECONDS), run.follower.stuck(), run.follower.unready()]


def test_who_has_caught_up_does_not_stand_still_when_something_comes(run: Run) -> None:
    writer = two_tables()
    run.put(writer, completed(writer), BEGAN)
    run.once()
    run.now += 3600
    more = segment_of(FIRST + 1, [[insert_payload(TABLE, 9, "a", 9)]])
    run.put(more, live(more), run.now - 2)
    assert (run.value(m.STALLED), run.value(m.LAG_SECONDS)) == (2.0, 2.0)


def test_it_is_ready_once_it_has_a_place_and_while_its_target_is_there(run: Run) -> None:
    assert run.follower.unready() == ["node local has no place in its log yet"]
    assert m.LAG_BYTES not in run.values()
    assert run.value(m.READY) == 0
    writer = two_tables()
    run.put(writer, completed(writer), BEGAN)
    run.once()
    assert run.value(m.READY) == 1
    away = SystemFailedError("the broker does not answer")
    run.follower.away(away)
    run.now += 5
    run.follower.away(away)
    run.now += 2
    assert run.follower.unready() == ["the target is away: the broker does not answer."]
    assert (run.value(m.AWAY), run.value(m.RETRIES), run.value(m.READY)) == (7.0, 2, 0)
    run.follower.away(None)
    assert (run.value(m.AWAY), run.value(m.READY)) == (0.0, 1)


def test_what_is_given_up_is_counted(run: Run) -> None:
    writer = two_tables()
    path = run.folder.put(writer, completed(writer))
    data = bytearray(path.read_bytes())
    data[writer.entries[2].start + 12] ^= 1
    path.write_bytes(data)
    run.once(on_error="quarantine")
    assert run.value(m.QUARANTINED) == 1
    assert run.value(m.LOSSES) == 0
    run.follower.left_out(3)
    assert run.value(m.REFUSED_ROWS) == 3


def test_losses_that_are_accepted_are_counted(run: Run) -> None:
    first, second = two_tables(), segment_of(FIRST + 1, [[insert_payload(TABLE, 9, "a", 9)]])
    third = segment_of(FIRST + 2, [[insert_payload(TABLE, 9, "b", 9)]])
    for writer in (first, second):
        run.put(writer, completed(writer), BEGAN)
    run.once(until=f"{FIRST + 1}:0")
    run.folder.remove(first)
    run.folder.remove(second)
    run.put(third, completed(third), BEGAN)
    run.once(accept_loss=True)
    assert run.value(m.LOSSES) == 1


def test_the_typed_form_is_counted_alike(run: Run) -> None:
    writer = two_tables()
    run.put(writer, completed(writer), BEGAN)
    run.once(table="ks.t")
    assert run.values()[m.ROWS] == {(*RUN, "ks", "t", "insert"): 3}
    assert sum(run.value(m.TO_READ).counts) == 3


def test_a_tail_that_was_stood_elsewhere_has_nothing_behind_it(run: Run) -> None:
    writer = two_tables()
    run.put(writer, completed(writer), BEGAN)
    with open_tail(run.folder.path, TailOptions(consumer="billing")) as tail:
        run.follower.began(tail)
        assert run.value(m.LAG_SEGMENTS) == 1
        tail.seek(NodeOffset(tail.offset.j, FIRST, int(writer.end), True, (), tail.offset.id), tail.memory)
        run.follower.looked(tail.step())
        assert run.value(m.LAG_SEGMENTS) == 0
