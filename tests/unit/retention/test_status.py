"""What status tells: lag, held bytes, the cap, what is waited for; computed by hand from a look."""

from __future__ import annotations

import pytest

from tailer.cli.status import health
from tailer.errors import UsageError
from tailer.limits import MIB
from tailer.options.amounts import Lag as Limit
from tailer.options.kinds import LAG, SIZE, TIME
from tailer.retention.needed import HeldSegment, holders
from tailer.retention.status import (
    Amount,
    CapStatus,
    CleanStatus,
    ConsumerLook,
    ConsumerStatus,
    Lag,
    NodeStatus,
    StateStatus,
    cap_status,
    consumer_statuses,
    default_cap,
    lag,
    segment_statuses,
    waiting_for,
)
from tailer.state.consumers import ConsumerFile, Mark, NodeState
from tailer.state.offset import Memory, NodeOffset

NOW = 1_000_000.0
MOVED = NOW - 7.0


def held(segment: int, end: int = 1000, **more: object) -> HeldSegment:
    facts = {"log": True, "sidecar": True, "finished": True, "links": 1, "bytes": 1100, "changed": NOW, "written": NOW}
    facts |= {"end": end, "published": NOW - 100 + segment, "file": f"CommitLog-7-{segment}.log"}
    return HeldSegment(segment, **(facts | more))  # type: ignore[arg-type]


BARE = held(4, 0, sidecar=False, published=0.0)
LOGS = [held(1), held(2), held(3, 600, finished=False), BARE]


LAGS = {
    "nothing read": (NodeOffset(), Lag(2600, 3, 99.0)),
    "in the middle": (NodeOffset(0, 2, 300, False), Lag(1300, 2, 98.0)),
    "a segment read to its end": (NodeOffset(0, 2, 990, True), Lag(600, 1, 97.0)),
    "all there is": (NodeOffset(0, 3, 600, False), Lag(0, 0, 0.0)),
    "one passed over and got its sidecar": (NodeOffset(0, 3, 600, False, ((1, 400),)), Lag(600, 1, 99.0)),
    "one passed over without a sidecar": (NodeOffset(0, 5, 600, True, ((4, 0),)), Lag(0, 0, 0.0)),
}


@pytest.mark.parametrize(("at", "expected"), LAGS.values(), ids=list(LAGS))
def test_lag(at: NodeOffset, expected: Lag) -> None:
    assert lag(LOGS, at, NOW, MOVED) == expected


def test_lag_runs_from_the_last_move_where_a_sidecar_is_written_over_and_over() -> None:
    busy = [held(3, 600, finished=False, published=NOW - 0.1)]
    assert lag(busy, NodeOffset(0, 3, 500, False), NOW, MOVED).seconds == 7.0
    assert lag(busy, NodeOffset(0, 3, 600, False), NOW, MOVED).seconds == 0.0


def test_what_a_consumer_shows() -> None:
    ahead = (Mark(NodeOffset(0, 3, 100, False), Memory()),)
    state = NodeState(NodeOffset(0, 2, 300, False), Memory(), (2, 300), None, ahead)
    content = ConsumerFile("billing", {"dc1": state}, 1, MOVED, "a test", "here")
    look = ConsumerLook(content, True, {"dc1": 4, "dc2": 9}, 2, {7})
    assert consumer_statuses(look, LOGS, NOW) == [
        ConsumerStatus(
            consumer="billing",
            node="dc1",
            delivered="3:100",
            committed="2:300",
            done=False,
            lag=Lag(500, 1, 97.0),
            holds=Amount(3, 3300),
            running=True,
            moved=MOVED,
            program="a test",
            host="here",
            quarantined=4,
            lost=2,
            pending=[7],
        )
    ]


def test_segments_say_who_needs_them() -> None:
    own = holders([ConsumerFile("a", {"local": NodeState(NodeOffset(0, 2, 9, True), Memory(), (2, 9))})])
    found = segment_statuses([*LOGS, held(9, log=False)], own, {1})
    assert [(each.segment, each.end, each.done, each.needed_by, each.cleaned) for each in found] == [
        (1, 1000, True, [], True),
        (2, 1000, True, ["a"], False),
        (3, 600, False, ["a"], False),
        (4, None, True, ["a"], False),
    ]


def test_what_later_segments_wait_for() -> None:
    assert waiting_for(LOGS) is None
    assert waiting_for([held(1, finished=False), held(2)]) == 1
    assert waiting_for([held(1, finished=False, sidecar=False), held(2)]) is None


def test_the_cap() -> None:
    assert default_cap(1000 * 1024 * MIB) == 4096 * MIB
    assert default_cap(8 * 1024 * MIB + 5) == 1024 * MIB
    assert cap_status(None, 1024 * MIB, 1000 * 1024 * MIB) == CapStatus(4096 * MIB, 1024 * MIB, 0.25, False)
    assert cap_status(200, 50, 0) == CapStatus(200, 50, 0.25, True)


def a_node(*consumers: ConsumerStatus, problems: list[str] | None = None) -> NodeStatus:
    clean, cap, state = CleanStatus(0, 0), CapStatus(1, 0, 0.0, True), StateStatus("/f.cdc_tail", None, 0, 0, 0, None)
    return NodeStatus("n", "/f", [], 0, None, cap, clean, state, list(consumers), problems or [])


def a_consumer(seconds: float, size: int, pending: list[int] | None = None) -> ConsumerStatus:
    behind = Lag(size, 1, seconds)
    return ConsumerStatus(
        "c", "n", "1:0", "1:0", False, behind, Amount(0, 0), True, 0.0, "", "", 0, 0, pending or []
    )  # fmt: skip


HEALTH = {
    "well": ([a_node(a_consumer(30, 100))], None),
    "late": ([a_node(a_consumer(30, 100)), a_node(a_consumer(30.5, 100))], 9),
    "nobody": ([a_node(a_consumer(1, 1)), a_node()], 6),
    "not understood": ([a_node(a_consumer(1, 1), problems=["it cannot be read."])], 6),
    "lost, and late": ([a_node(a_consumer(99, 1, [7]))], 5),
}


@pytest.mark.parametrize(("found", "code"), HEALTH.values(), ids=list(HEALTH))
def test_health(found: list[NodeStatus], code: int | None) -> None:
    problem = health(found, Limit(30, None))
    assert (problem.code if problem else None) == code


def test_health_by_bytes() -> None:
    found = [a_node(a_consumer(1e6, 100))]
    assert health(found, Limit(None, 100)) is None
    late = health(found, Limit(None, 99))
    assert late is not None
    assert late.code == 9


class TestAmounts:
    @pytest.mark.parametrize(
        ("text", "limit"),
        [
            ("30s", (30, None)),
            ("5min", (300, None)),
            ("2h", (7200, None)),
            ("7d", (604800, None)),
            ("64m", (None, 64 * MIB)),
            ("1 GiB", (None, 1024 * MIB)),
            ("10kb", (None, 10240)),
        ],
    )
    def test_good(self, text: str, limit: tuple[int | None, int | None]) -> None:
        assert LAG.take_text(text, "--max-lag") == limit

    @pytest.mark.parametrize("text", ["", "30", "s", "-1s", "5 minutes", "1.5h", "m"])
    def test_bad(self, text: str) -> None:
        with pytest.raises(UsageError):
            LAG.take_text(text, "--max-lag")

    def test_sizes_and_times(self) -> None:
        assert SIZE.take_text("4096", "--cap") == 4096
        assert TIME.take_text("12h", "--max-age") == 43200
        for kind, text in ((SIZE, "5min"), (TIME, "64m"), (TIME, "64")):
            with pytest.raises(UsageError):
                kind.take_text(text, "--x")
