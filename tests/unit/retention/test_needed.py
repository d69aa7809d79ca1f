"""Who needs which segment, and what may go: by table, from architecture section 8."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tailer.position import Position
from tailer.retention.needed import HeldSegment, Limits, Need, decide, holders, open_from
from tailer.state.consumers import ConsumerFile, NodeState
from tailer.state.ids import Ids
from tailer.state.offset import Memory, NodeOffset

NOW = 1_000_000.0


def held(segment: int, **more: object) -> HeldSegment:
    """A finished segment with a sidecar, that its server has let go of long ago."""
    facts = {"log": True, "sidecar": True, "finished": True, "links": 1, "bytes": 100}
    facts |= {"changed": NOW - 3600, "written": NOW - 7200}
    return HeldSegment(segment, **(facts | more))  # type: ignore[arg-type]


def bare(segment: int, **more: object) -> HeldSegment:
    return held(segment, **({"sidecar": False} | more))


def consumer(
    at: int, offset: int = 50, done: bool = True, *, name: str = "a", p: tuple[int, ...] = (), **memory: object
) -> ConsumerFile:
    state = NodeState(
        NodeOffset(0, at, offset, done, tuple((segment, 0) for segment in p)),
        Memory(**memory),  # type: ignore[arg-type]
        (at, offset),
    )
    return ConsumerFile(name, {"local": state})


def gone(segments: list[HeldSegment], *consumers: ConsumerFile, **more: object) -> list[int]:
    made = decide(segments, holders(consumers), (), NOW, **more)  # type: ignore[arg-type]
    return [each.segment for each in made.logs]


NEEDS = {
    "above the position": (held(6), consumer(5), Need.UNREAD),
    "above it, without sidecar": (bare(6), consumer(5), Need.UNREAD),
    "the position's, not read to its end": (held(5), consumer(5, done=False), Need.UNREAD),
    "the position's, read: the witness": (held(5), consumer(5), Need.WITNESS),
    "below it": (held(4), consumer(5), None),
    "below it, passed over": (held(4), consumer(5, p=(4,)), Need.LATE),
    "below it, passed over, and it never got a sidecar": (bare(4), consumer(5, p=(4,)), None),
    "the same while it is not finished": (bare(4, finished=False), consumer(5, p=(4,)), Need.LATE),
    "below it, in a hole": (held(4), consumer(5, holes=Ids([(3, 4)])), Need.LATE),
    "below it, in a hole, never got a sidecar": (bare(4), consumer(5, holes=Ids([(3, 4)])), None),
    "below it, beside a hole": (held(2), consumer(5, holes=Ids([(3, 4)])), None),
    "a consumer that stands before everything": (held(1), consumer(0, 0), Need.UNREAD),
}


@pytest.mark.parametrize(("segment", "content", "need"), NEEDS.values(), ids=list(NEEDS))
def test_need(segment: HeldSegment, content: ConsumerFile, need: Need | None) -> None:
    assert holders([content])[0].need(segment) == need


@pytest.mark.parametrize(
    ("segment", "memory", "need"),
    [
        (held(4), {"start": 1}, Need.LATE),
        (bare(4), {"start": 1}, Need.LATE),
        (held(6), {"start": 1}, Need.UNREAD),
        (held(3), {"begun": 4, "explained": Ids([(3, 3)])}, None),
        (held(4), {"start": 1, "lost_below": 5}, None),
        (bare(4), {"start": 1, "holes": Ids([(4, 4)])}, None),
    ],
    ids=["", "without sidecar", "ahead", "history", "accepted", "remembered all the same"],
)
def test_what_turns_up_where_nothing_is_remembered_stays_until_the_consumer_was_told(
    segment: HeldSegment, memory: dict[str, Any], need: Need | None
) -> None:
    content = consumer(8 if segment.segment < 6 else 5, **memory)
    assert holders([content], 8)[0].need(segment) == need
    if segment.segment < 6:
        assert holders([content], 4)[0].need(segment) is None


@pytest.mark.parametrize("memory", [{"start": 4}, {"begun": 4}], ids=["of an earlier version", "of this one"])
def test_what_no_record_covers_stays_and_is_named(memory: dict[str, Any]) -> None:
    """A7: it has appeared below where the consumer began."""
    made = decide([held(3), held(4)], holders([consumer(8, **memory)]), (), NOW)
    assert [each.segment for each in made.logs] == [4]
    assert made.notices == [
        "segment 3 is kept: it has appeared below where consumer a began, which has neither read nor accepted it. Its "
        "next run says what helps"
    ]
    known = holders([consumer(8, **memory, explained=Ids([(3, 3)]))])
    assert [each.segment for each in decide([held(3), held(4)], known, (), NOW).logs] == [3, 4]


def test_reading_begins_again_before_the_position() -> None:
    """A transaction that is open at the position holds what its changes are in, also what was read to its end."""
    state = NodeState(NodeOffset(0, 5, 50, True), Memory(), (3, 20))
    holder = holders([ConsumerFile("a", {"local": state})])[0]
    assert [holder.need(held(segment)) for segment in (2, 3, 4, 5)] == [None, Need.UNREAD, Need.UNREAD, Need.UNREAD]


def test_a_consumer_without_a_position_holds_everything() -> None:
    assert gone([held(1), held(2)], ConsumerFile("a", {})) == []


def test_every_node_of_a_consumer_counts() -> None:
    two = ConsumerFile("a", {"one": NodeState(NodeOffset(s=9), Memory(), (9, 0)), "two": NodeState(NodeOffset(s=3))})
    assert gone([held(1), held(4)], two) == []


MAY_GO = {
    "read by all": (held(4), True),
    "not finished": (held(4, finished=False), False),
    "changed just now": (held(4, changed=NOW - 59), False),
    "changed a minute ago": (held(4, changed=NOW - 61), True),
    "from the future": (held(4, changed=NOW + 3600), False),
    "still held by the server": (held(4, links=2), True),
    "without sidecar": (bare(4), True),
    "without sidecar, let go of nine minutes ago": (bare(4, changed=NOW - 540), False),
    "without sidecar, still held by the server": (bare(4, links=2), False),
}


@pytest.mark.parametrize(("segment", "goes"), MAY_GO.values(), ids=list(MAY_GO))
def test_what_may_go(segment: HeldSegment, goes: bool) -> None:
    assert gone([segment, held(9)], consumer(9)) == ([4] if goes else [])


def test_the_slowest_consumer_counts() -> None:
    logs = [held(segment) for segment in range(1, 8)]
    assert gone(logs, consumer(7), consumer(3, name="slow")) == [1, 2]
    assert gone(logs, consumer(7)) == [1, 2, 3, 4, 5, 6]


def test_what_was_cleaned_goes_again_whoever_might_want_it() -> None:
    made = decide([held(4), held(5)], holders([consumer(1)]), {4}, NOW)
    assert [each.segment for each in made.logs] == [4]


class TestTransactions:
    def test_the_newest_sidecar_tells(self) -> None:
        logs = [held(3, restart=Position(2, 10)), held(5, restart=Position(4, 30)), held(6)]
        assert open_from(logs) == 4
        assert open_from([held(6)]) is None

    def test_nothing_goes_from_there_on(self) -> None:
        logs = [held(segment, restart=Position(3, 10)) for segment in range(1, 7)]
        assert gone(logs, consumer(9)) == [1, 2]
        assert gone(logs, consumer(9), limits=Limits(max_bytes=0, force=True)) == [1, 2]


class TestSidecarsWithoutLog:
    ORPHAN = held(4, log=False, finished=False)

    def swept(self, *consumers: ConsumerFile, cleaned: tuple[int, ...] = (), orphan: HeldSegment = ORPHAN) -> bool:
        made = decide([orphan], holders(consumers), cleaned, NOW)
        assert made.logs == []
        return made.sidecars == [orphan]

    def test_when_it_goes(self) -> None:
        assert self.swept(consumer(1), cleaned=(4,))
        assert self.swept(consumer(5))
        assert self.swept(consumer(4))
        assert self.swept(consumer(1, lost_below=5))

    def test_when_it_stays(self) -> None:
        assert not self.swept(consumer(3)), "a loss that is not told yet"
        assert not self.swept(consumer(5), consumer(3, name="slow"))
        assert not self.swept(consumer(4, done=False))
        assert not self.swept(consumer(5, p=(4,)))
        assert not self.swept(consumer(5), orphan=held(4, log=False, finished=False, changed=NOW - 30)), "just now"


class TestLimits:
    LOGS: ClassVar = [held(segment, written=NOW - 1000 + segment) for segment in (1, 2, 3, 4)]

    def test_without_force_what_is_needed_stays(self) -> None:
        made = decide(self.LOGS, holders([consumer(2)]), (), NOW, limits=Limits(max_age=0, max_bytes=0))
        assert [each.segment for each in made.logs] == [1]
        assert [each.segment for each in made.over] == [2, 3, 4]
        assert made.lost == {}

    def test_force_takes_the_oldest_until_the_rest_fits(self) -> None:
        made = decide(self.LOGS, holders([consumer(2)]), (), NOW, limits=Limits(max_bytes=200, force=True))
        assert [each.segment for each in made.logs] == [1, 2]
        assert made.lost == {}, "the second was read: only its witness is gone"
        more = decide(
            self.LOGS, holders([consumer(2)]), (), NOW, limits=Limits(max_bytes=200, force=True), other_bytes=1
        )
        assert [each.segment for each in more.logs] == [1, 2, 3]
        assert more.lost == {3: ["a"]}

    def test_force_takes_what_is_older(self) -> None:
        two = [consumer(1, done=False), consumer(3, name="b")]
        made = decide(self.LOGS, holders(two), (), NOW, limits=Limits(max_age=997.5, force=True))
        assert [each.segment for each in made.logs] == [1, 2]
        assert made.lost == {1: ["a"], 2: ["a"]}

    def test_force_takes_nothing_that_is_still_written(self) -> None:
        logs = [held(1, finished=False), held(2, changed=NOW - 1)]
        assert gone(logs, consumer(0, 0), limits=Limits(max_bytes=0, force=True)) == []

    def test_one_without_sidecar_is_no_loss(self) -> None:
        made = decide([bare(3)], holders([consumer(1)]), (), NOW, limits=Limits(max_bytes=0, force=True))
        assert [each.segment for each in made.logs] == [3]
        assert made.lost == {}
