"""What `status` and `consumers` show fits a terminal, whatever the facts are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.cli.status_text import consumer_lines, node_lines
from tailer.retention.status import (
    Amount,
    CapStatus,
    CleanStatus,
    ConsumerStatus,
    Lag,
    NodeStatus,
    SegmentStatus,
    StateStatus,
)
from tailer.state.away import Away

NOW = 1_795_257_900.0
ONE = 1_795_257_859_471
POSITION = f"{ONE + 1}:33554432"


def consumer(name: str = "billing", **facts: Any) -> ConsumerStatus:
    ordinary: dict[str, Any] = {
        "consumer": name, "node": "local", "delivered": POSITION, "committed": POSITION, "done": False,
        "lag": Lag(0, 0, 0.0), "holds": Amount(1, 2048), "running": True, "moved": NOW - 3, "program": "p", "host": "h",
        "quarantined": 0, "lost": 0, "pending": [],
    }  # fmt: skip
    return ConsumerStatus(**(ordinary | facts))


def segment(number: int, *needed_by: str, **facts: Any) -> SegmentStatus:
    ordinary: dict[str, Any] = {"bytes": 32 << 20, "end": 33554432, "done": True, "links": 1, "cleaned": False}
    return SegmentStatus(ONE + number, "CommitLog.log", needed_by=list(needed_by), **(ordinary | facts))


def node(*segments: SegmentStatus, consumers: list[ConsumerStatus], **facts: Any) -> NodeStatus:
    ordinary: dict[str, Any] = {
        "waiting_for": None, "cap": CapStatus(4 << 30, 384 << 20, 0.094, False), "clean": CleanStatus(3, 96 << 20),
        "problems": [], "state": StateStatus("/f.cdc_tail", "0" * 16, 20 << 20, 41_234, 0, None),
    }  # fmt: skip
    held = ordinary | facts
    return NodeStatus("local", "/var/lib/cassandra/cdc_raw", list(segments), 0, consumers=consumers, **held)


def test_a_state_that_has_forgotten_says_up_to_where() -> None:
    state = StateStatus("/f.cdc_tail", "0" * 16, 3 << 20, 812, ONE, ONE + 5)
    lines = list(node_lines(node(consumers=[consumer()], state=state), NOW, 80))
    assert f"  state 3.0M, 812 records, forgot what is below segment {ONE}" in lines
    assert max(map(len, lines)) <= 80


def test_a_target_that_is_away() -> None:
    away = consumer(away=Away(NOW - 61, "table t of db on h: connection refused."))
    assert "its target has been away for 61 s: table t of db on h:" in " ".join(consumer_lines([away], NOW, 80))
    assert not any("away" in line for line in consumer_lines([consumer()], NOW, 80))


def test_a_node() -> None:
    segments = [segment(0, "billing", "lake", done=False), segment(1, end=None, cleaned=True)]
    behind = consumer("lake", running=False, committed=f"{ONE}:1", lag=Lag(85811, 3, 12.4), moved=NOW - 90000, lost=1)
    assert list(node_lines(node(*segments, consumers=[consumer(), behind], waiting_for=ONE), NOW, 80)) == [
        "local  /var/lib/cassandra/cdc_raw",
        "  2 segments, 384.0M of 4.0G (the server's default), 9.4 %",
        "  clean would free 3 segments, 96.0M",
        "  state 20.0M, 41234 records",
        f"  later segments wait for {ONE}, which is not finished",
        "  SEGMENT        BYTES  DURABLE END  STATE                 NEEDED BY",
        f"  {ONE}  32.0M     33554432  growing               billing, lake",
        f"  {ONE + 1}  32.0M   no sidecar  cleaned, linked anew  -",
        "  billing  local  running, moved 3 s ago",
        f"      delivered and committed {POSITION}",
        "      lag none; holds 1 segment, 2.0K",
        "  lake  local  stopped, moved 25 h ago",
        f"      delivered {POSITION}, committed {ONE}:1",
        "      lag 83.8K in 3 segments, for 12 s; holds 1 segment, 2.0K",
        "      1 losses accepted",
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), "-"),
        (("billing", "lake"), "billing, lake"),
        (("billing", "lake", "audit", "search", "warehouse"), "billing, lake, audit and 2 more"),
        (tuple(f"consumer-{number}" for number in range(300)), "consumer-0, consumer-1 and 298 more"),
        (("x" * 100,), "x" * 35 + "…"),
        (("x" * 100, "y"), "x" * 24 + "… and 1 more"),
    ],
)
def test_segments_name_as_many_consumers_as_fit(names: tuple[str, ...], expected: str) -> None:
    lines = list(node_lines(node(segment(0, *names, done=True), consumers=[]), NOW, 80))
    assert lines[-1] == f"  {ONE}  32.0M     33554432  done   {expected}"


def test_a_long_sentence_goes_on_below_and_a_long_word_stays_whole() -> None:
    path = "/a" * 60
    problem = (
        f"the consumer's file cannot be read ({path}): expected JSON, found something else that is no JSON at all."
    )
    lines = list(node_lines(node(consumers=[], problems=[problem]), NOW, 80))
    told = lines[lines.index("  PROBLEM: the consumer's file cannot be read") :]
    assert " ".join(line.strip() for line in told) == f"PROBLEM: {problem}"
    assert [line for line in told if len(line) > 80] == [f"    ({path}):"]


SIZES = st.integers(0, 2**50)
COUNTS = st.integers(0, 10**6)
NAMES = st.text("abcxyz-.", min_size=1, max_size=24)
CONSUMERS = st.builds(
    consumer, NAMES, node=NAMES, committed=st.sampled_from([POSITION, f"{ONE}:1"]), running=st.booleans(),
    lag=st.builds(Lag, SIZES, COUNTS, st.floats(0, 1e8)), holds=st.builds(Amount, COUNTS, SIZES), quarantined=COUNTS,
    lost=COUNTS, pending=st.lists(COUNTS, max_size=3), moved=st.floats(0, NOW),
)  # fmt: skip
SEGMENTS = st.builds(
    lambda names, **facts: segment(0, *names, **facts), st.lists(NAMES, max_size=9), bytes=SIZES, done=st.booleans(),
    end=st.none() | st.integers(0, 2**31 - 1), cleaned=st.booleans(),
)  # fmt: skip
SENTENCES = st.lists(NAMES, min_size=1, max_size=40).map(" ".join)


@given(
    segments=st.lists(SEGMENTS, max_size=3),
    consumers=st.lists(CONSUMERS, max_size=3),
    clean=st.builds(CleanStatus, COUNTS, SIZES, st.none() | SENTENCES),
    problems=st.lists(SENTENCES, max_size=2),
    columns=st.integers(80, 200),
)
def test_eighty_columns_are_enough(
    segments: list[SegmentStatus],
    consumers: list[ConsumerStatus],
    clean: CleanStatus,
    problems: list[str],
    columns: int,
) -> None:
    found = node(*segments, consumers=consumers, clean=clean, problems=problems, waiting_for=ONE)
    lines = [*node_lines(found, NOW, columns), *consumer_lines(consumers, NOW, columns)]
    assert [line for line in lines if len(line) > columns] == []
    for each in consumers:
        assert any(line.strip().startswith(each.consumer) for line in lines)
