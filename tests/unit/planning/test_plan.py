"""The planner by table: a folder's view, an offset and a memory in; spans, the next offset, losses and notices out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from tailer.errors import CorruptError, LossError
from tailer.planning.loss import accept_loss
from tailer.planning.plan import Plan, Reach, plan
from tailer.position import Position, Span
from tailer.segments.view import SegmentView
from tailer.state.ids import Ids
from tailer.state.offset import NO_IDS, Memory, NodeOffset

BUDGET = 1000


@dataclass
class Log:
    """A made-up segment: it can be read up to `end` (its log's end where it is finished), in sections of 100."""

    end: int
    sidecar: bool = True
    finished: str | None = None
    promised: int | None = None
    log: bool = True
    orphan: bool = False
    closed: int | None = None
    lone: bool = False
    broken: int | None = None
    hidden: bool = False

    def view(self, segment: int) -> SegmentView:
        promised = self.promised if self.promised is not None else (max(self.end, 1) if self.sidecar else 0)
        return SegmentView(
            segment, self.log, self.sidecar, promised, self.orphan, self.finished, self.closed, self.lone
        )


def done(end: int = 300, **more: object) -> Log:
    return Log(end, finished="completed", **more)  # type: ignore[arg-type]


def live(end: int = 300, **more: object) -> Log:
    return Log(end, **more)  # type: ignore[arg-type]


def bare(end: int = 300, **more: object) -> Log:
    """A segment without sidecar."""
    return Log(end, sidecar=False, **more)  # type: ignore[arg-type]


GONE = Log(0, log=False, orphan=True)


@dataclass
class Folder:
    """Segments by id, and what was asked of them."""

    logs: dict[int, Log]
    asked: list[tuple[int, int]] = field(default_factory=list)

    @property
    def view(self) -> dict[int, SegmentView]:
        return {segment: log.view(segment) for segment, log in self.logs.items()}

    def reach(self, segment: int, offset: int, budget: int) -> Reach:
        self.asked.append((segment, offset))
        log = self.logs[segment]
        if log.broken is not None and offset >= log.broken:
            return Reach(offset, error=CorruptError("broken", at=Position(segment, offset)))
        if log.hidden:
            return Reach(offset, waiting=True)
        top = log.end if log.broken is None else log.broken
        step = max(100, budget // 100 * 100)
        end = min(top, offset + step)
        span = Span(segment, offset, end, offset, offset, end) if end > offset else None
        error = CorruptError("broken", at=Position(segment, end)) if end == log.broken else None
        return Reach(end, span, done=log.finished is not None and end == log.end, error=error)

    def plan(
        self, offset: NodeOffset, memory: Memory | None = None, budget: int = BUDGET, *, wide: bool = False
    ) -> Plan:
        held = (
            memory if memory is not None else Memory(start=min(self.logs, default=0), highest=max(self.logs, default=0))
        )
        return plan(self.view, offset, held, self.reach, budget, wide=wide)


START = NodeOffset()


def at(segment: int, offset: int, finished: bool = False, p: tuple[tuple[int, int], ...] = ()) -> NodeOffset:
    return NodeOffset(0, segment, offset, finished, p)


def spans(made: Plan) -> list[tuple[int, int, int]]:
    return [(span.segment, span.start, span.end) for span in made.spans]


ORDER = {
    "empty folder": ({}, START, [], START),
    "one unfinished": ({1: live()}, START, [(1, 0, 300)], at(1, 300)),
    "one finished": ({1: done()}, START, [(1, 0, 300)], at(1, 300, True)),
    "by id as a number": ({10: live(), 9: done()}, START, [(9, 0, 300), (10, 0, 300)], at(10, 300)),
    "gaps are normal": ({1: done(), 7: done()}, START, [(1, 0, 300), (7, 0, 300)], at(7, 300, True)),
    "goes on in the middle": ({1: live(500)}, at(1, 300), [(1, 300, 500)], at(1, 500)),
    "nothing new": ({1: live()}, at(1, 300), [], at(1, 300)),
    "a flip of done alone": ({1: done()}, at(1, 300), [], at(1, 300, True)),
    "an empty finished one is passed": ({1: done(0), 2: live()}, START, [(2, 0, 300)], at(2, 300)),
    "unfinished holds back": ({1: live(), 2: done()}, START, [(1, 0, 300)], at(1, 300)),
    "an empty sidecar holds back": ({1: live(300, promised=0), 2: done()}, START, [], START),
    "below an empty sidecar": (
        {1: done(), 2: live(300, promised=0), 3: done()},
        START,
        [(1, 0, 300)],
        at(1, 300, True),
    ),
    "stays where it ended": ({2: live(300, promised=0)}, at(1, 300, True), [], at(1, 300, True)),
    "nothing but bare ones": ({1: bare(), 2: bare()}, START, [], START),
    "bare ones are passed over": ({1: bare(), 2: live()}, START, [(2, 0, 300)], at(2, 300, p=((1, 0),))),
    "a bare one on top is not": ({1: done(), 2: bare()}, START, [(1, 0, 300)], at(1, 300, True)),
    "not before the higher one reads": ({1: bare(), 2: live(promised=0)}, START, [], START),
    "stopped needs no sidecar": (
        {1: bare(finished="stopped"), 2: bare(finished="stopped")},
        START,
        [(1, 0, 300), (2, 0, 300)],
        at(2, 300, True),
    ),
}


@pytest.mark.parametrize(("logs", "offset", "wanted", "then"), ORDER.values(), ids=ORDER)
def test_order(logs: dict[int, Log], offset: NodeOffset, wanted: list[tuple[int, int, int]], then: NodeOffset) -> None:
    memory = Memory(start=1, highest=1, lost_below=2) if offset.s else None
    made = Folder(logs).plan(offset, memory)
    assert made.error is None
    assert spans(made) == wanted
    assert made.offset == then


def test_the_same_arguments_give_the_same_plan() -> None:
    folder = Folder({1: bare(), 2: done(), 3: live(400)})
    assert folder.plan(START) == folder.plan(START)


class TestHeldBack:
    def test_names_the_unfinished_segment_and_the_promised_one_behind(self) -> None:
        assert Folder({1: live(), 2: bare(), 3: done()}).plan(START).held == (1, 3)

    def test_nothing_is_held_when_nothing_behind_is_promised(self) -> None:
        assert Folder({1: live(), 2: bare(), 3: live(promised=0)}).plan(START).held is None

    def test_an_empty_sidecar_holds_back_too(self) -> None:
        assert Folder({1: done(), 2: live(promised=0), 3: live()}).plan(START).held == (2, 3)

    def test_a_budget_that_ends_holds_nothing_back(self) -> None:
        assert Folder({1: live(2000), 2: done()}).plan(START, budget=100).held is None

    def test_promised_bytes_that_cannot_be_seen_are_waited_for(self) -> None:
        made = Folder({1: live(hidden=True), 2: done()}).plan(START)
        assert (made.waiting, made.spans, made.offset) == (True, [], at(1, 0))

    def test_a_sidecar_whose_log_was_missed_once_is_waited_for(self) -> None:
        made = Folder({1: done(), 2: Log(0, log=False)}).plan(START)
        assert (made.waiting, made.error, made.offset) == (True, None, at(1, 300, True))


class TestBudget:
    def test_cuts_inside_a_segment(self) -> None:
        folder = Folder({1: done(900), 2: live()})
        made = folder.plan(START, budget=400)
        assert (spans(made), made.offset) == ([(1, 0, 400)], at(1, 400))
        made = folder.plan(made.offset, made.memory, budget=400)
        assert (spans(made), made.offset) == ([(1, 400, 800)], at(1, 800))

    def test_goes_over_segments_until_it_is_used_up(self) -> None:
        made = Folder({1: done(), 2: done(), 3: done(), 4: done()}).plan(START, budget=500)
        assert spans(made) == [(1, 0, 300), (2, 0, 200)]

    def test_one_section_comes_whatever_it_is(self) -> None:
        assert spans(Folder({1: live()}).plan(START, budget=1)) == [(1, 0, 100)]

    def test_steps_give_what_one_plan_gives(self) -> None:
        folder = Folder({1: bare(), 2: done(), 4: done(700), 5: live()})
        offset, memory, found = START, Memory(start=1, highest=5), []
        for _ in range(40):
            made = folder.plan(offset, memory, budget=100)
            offset, memory = made.offset, made.memory
            found += spans(made)
        whole = folder.plan(START, budget=10_000)
        assert offset == whole.offset
        assert [(segment, max(end for s, _, end in found if s == segment)) for segment in (2, 4, 5)] == [
            (span.segment, span.end) for span in whole.spans
        ]


class TestManyLate:
    LATE = range(2, 62)
    """More than one plan reads segments of."""

    @pytest.mark.parametrize("kind", [bare, live])
    def test_those_with_nothing_new_hold_nothing_back(self, kind: Callable[..., Log]) -> None:
        folder = Folder({1: done(), **{late: kind() for late in self.LATE}, 62: live()})
        offset = at(1, 300, True) if kind is bare else at(62, 0, p=tuple((late, 300) for late in self.LATE))
        read: list[tuple[int, int, int]] = []
        memory = Memory(start=1, highest=62)
        while (made := folder.plan(offset, memory, 100_000, wide=True)).offset != offset:
            assert made.error is None
            read += spans(made)
            offset, memory = made.offset, made.memory
        late = [(late, 0, 300) for late in self.LATE if kind is bare]
        assert sorted(read) == [*late, (62, 0, 300)]

    def test_nothing_is_asked_for_beyond_the_budget(self) -> None:
        folder = Folder({1: live(), 2: live(), 3: done(closed=300)})
        made = folder.plan(at(3, 250, p=((1, 0), (2, 150))), budget=300)
        assert folder.asked == [(1, 0)]
        assert made.offset == at(3, 250, p=((1, 300), (2, 150)))


class TestErrors:
    def test_what_lies_before_it_comes_first(self) -> None:
        made = Folder({1: done(), 2: done(broken=200), 3: done()}).plan(START)
        assert spans(made) == [(1, 0, 300), (2, 0, 200)]
        assert isinstance(made.error, CorruptError)
        assert made.offset == at(2, 200)

    def test_nothing_of_a_higher_segment_comes_after_it(self) -> None:
        folder = Folder({2: done(broken=200), 3: done()})
        made = folder.plan(at(2, 200))
        assert made.spans == []
        assert isinstance(made.error, CorruptError)


class TestWithoutSidecar:
    def test_a_late_sidecar_gives_spans_of_its_own(self) -> None:
        folder = Folder({1: bare(), 2: live()})
        first = folder.plan(START)
        folder.logs[1] = live(200)
        folder.logs[2] = live(400)
        made = folder.plan(first.offset, first.memory)
        assert spans(made) == [(1, 0, 200), (2, 300, 400)]
        assert made.offset == at(2, 400, p=((1, 200),))
        assert made.held is None, "one unfinished in p holds nothing back"

    def test_delivered_to_its_end_it_stays_in_one_offset_and_leaves_in_the_next(self) -> None:
        folder = Folder({1: done(200), 2: live()})
        made = folder.plan(at(2, 300, p=((1, 0),)))
        assert made.offset == at(2, 300, p=((1, 200),))
        folder.logs[1] = replace(folder.logs[1], closed=200)
        made = folder.plan(made.offset, made.memory)
        assert (made.spans, made.offset) == ([], at(2, 300))

    def test_its_promised_bytes_are_waited_for(self) -> None:
        made = Folder({1: live(hidden=True), 2: live()}).plan(at(2, 300, p=((1, 0),)))
        assert made.waiting

    def test_gone_without_a_sidecar_ever_seen_is_no_loss_but_told(self) -> None:
        made = Folder({2: live()}).plan(at(2, 300, p=((1, 0),)))
        assert (made.error, made.offset) == (None, at(2, 300))
        assert "segment 1" in made.notices[0]

    def test_given_up_by_the_server_it_leaves(self) -> None:
        folder = Folder({1: bare(finished="unlinked"), 2: live()})
        assert folder.plan(at(2, 300, p=((1, 0),))).offset.p == ((1, 0),)
        folder.logs[1] = bare(finished="unlinked", lone=True)
        assert folder.plan(at(2, 300, p=((1, 0),))).offset.p == ()

    def test_its_rows_count_when_tables_without_cdc_are_wanted(self) -> None:
        folder = Folder({1: bare(), 2: live()})
        made = folder.plan(START, wide=True)
        assert spans(made) == [(1, 0, 300), (2, 0, 300)]
        assert made.offset == at(2, 300, p=((1, 300),))
        folder.logs[1] = bare(500)
        assert spans(folder.plan(made.offset, made.memory, wide=True)) == [(1, 300, 500)]

    def test_stopped_reads_what_was_passed_over(self) -> None:
        folder = Folder({1: bare(finished="stopped"), 2: done()})
        assert spans(folder.plan(at(2, 300, True, p=((1, 0),)))) == [(1, 0, 300)]


class TestHoles:
    def memory(self) -> tuple[Folder, Plan]:
        folder = Folder({1: done(), 5: live()})
        made = folder.plan(START)
        assert made.memory.holes == Ids([(2, 4)])
        return folder, made

    def test_a_segment_in_a_hole_is_handed_out_first_and_read_after(self) -> None:
        folder, before = self.memory()
        folder.logs[3] = done(200)
        made = folder.plan(before.offset, before.memory)
        assert (made.spans, made.offset) == ([], at(5, 300, p=((3, 0),)))
        assert made.memory.holes == Ids([(2, 2), (4, 4)])
        made = folder.plan(made.offset, made.memory)
        assert (spans(made), made.offset) == ([(3, 0, 200)], at(5, 300, p=((3, 200),)))

    def test_an_id_that_was_there_is_never_late(self) -> None:
        folder, before = self.memory()
        folder.logs[1] = done(900)
        made = folder.plan(before.offset, before.memory)
        assert (made.spans, made.offset.p) == ([], ())

    def test_an_id_below_the_start_is_never_late(self) -> None:
        folder = Folder({5: live()})
        before = folder.plan(START)
        folder.logs[3] = done()
        made = folder.plan(before.offset, before.memory)
        assert (made.spans, made.offset.p, made.memory.holes) == ([], (), NO_IDS)

    def test_passed_ids_are_no_holes(self) -> None:
        made = Folder({1: done(), 3: bare(), 6: live()}).plan(START)
        assert made.memory.holes == Ids([(2, 2), (4, 5)])


def loss(made: Plan) -> Position | str:
    """The first position not read, as the sentence of the loss names it."""
    assert isinstance(made.error, LossError), made.error
    assert "--accept-loss" in made.error.sentence()
    word = made.error.what.rpartition(" ")[2]
    return Position.parse(word) or word


SEEN = Memory(start=1, highest=3)


class TestLoss:
    def test_the_segment_of_the_position_is_gone(self) -> None:
        assert loss(Folder({2: done()}).plan(at(1, 100), SEEN)) == Position(1, 100)

    def test_not_when_it_was_read_to_its_end(self) -> None:
        memory = Memory(start=1, highest=2, last_with_sidecar=1)
        made = Folder({2: done()}).plan(at(1, 300, True), memory)
        assert (made.error, spans(made)) == (None, [(2, 0, 300)])

    def test_one_in_p_with_a_sidecar_is_gone(self) -> None:
        memory = Memory(start=1, highest=2, seen=Ids.of({1}))
        made = Folder({2: live()}).plan(at(2, 300, p=((1, 100),)), memory)
        assert loss(made) == Position(1, 100)
        assert made.offset.p == ((1, 100),), "it stays until the loss is accepted"

    def test_one_whose_sidecar_was_seen_is_gone(self) -> None:
        memory = Memory(start=1, highest=3, seen=Ids.of({2, 3}))
        assert loss(Folder({1: live(), 3: done()}).plan(at(1, 300, True), memory)) == Position(2, 0)

    def test_what_comes_before_the_gone_one_is_delivered_first(self) -> None:
        memory = Memory(start=1, highest=3, seen=Ids.of({1, 2, 3}))
        made = Folder({1: done(), 3: done()}).plan(START, memory)
        assert spans(made) == [(1, 0, 300)]
        assert loss(made) == Position(2, 0)

    def test_a_sidecar_without_log_at_two_looks(self) -> None:
        assert loss(Folder({1: done(), 2: GONE, 3: done()}).plan(START)) == Position(2, 0)

    def test_swept_by_the_cap(self) -> None:
        memory = Memory(start=1, highest=1, last_with_sidecar=1)
        assert loss(Folder({4: done()}).plan(at(1, 300, True), memory)) == Position(2, 0)

    def test_not_swept_when_all_between_were_seen_without_sidecar(self) -> None:
        memory = Memory(start=1, highest=3, bare=Ids.of({2, 3}), last_with_sidecar=1)
        made = Folder({4: done()}).plan(at(1, 300, True), memory)
        assert (made.error, spans(made)) == (None, [(4, 0, 300)])

    def test_not_swept_while_the_last_one_is_there(self) -> None:
        memory = Memory(start=1, highest=1, last_with_sidecar=1)
        assert Folder({1: done(), 4: done()}).plan(at(1, 300, True), memory).error is None

    def test_not_swept_when_nothing_higher_is_there(self) -> None:
        memory = Memory(start=1, highest=1, last_with_sidecar=1)
        assert Folder({}).plan(at(1, 300, True), memory).error is None

    def test_an_empty_folder_after_a_start_in_an_empty_folder(self) -> None:
        made = Folder({}).plan(START)
        assert (made.error, made.offset) == (None, START)


def accept(folder: Folder, made: Plan) -> tuple[NodeOffset, Memory, Position]:
    return accept_loss(folder.view, made.offset, made.memory)


class TestAcceptedLoss:
    @pytest.mark.parametrize(
        ("logs", "offset", "memory", "to"),
        [
            ({2: done(), 3: live()}, at(1, 100), SEEN, 2),
            ({1: done(), 4: live()}, at(1, 300, True), Memory(start=1, highest=4, seen=Ids.of({2, 4})), 4),
            ({1: done(), 2: GONE, 3: live()}, at(1, 300, True), SEEN, 3),
            ({4: live()}, at(1, 300, True), Memory(start=1, highest=1, last_with_sidecar=1), 4),
        ],
        ids=["position", "seen", "orphan", "swept"],
    )
    def test_goes_on_at_the_next_segment_and_does_not_repeat(
        self, logs: dict[int, Log], offset: NodeOffset, memory: Memory, to: int
    ) -> None:
        folder = Folder(logs)
        lost = folder.plan(offset, memory)
        loss(lost)
        moved, kept, position = accept(folder, lost)
        assert position == Position(to, 0)
        made = folder.plan(moved, kept)
        assert made.error is None
        assert made.spans[0].segment == to
        again = folder.plan(made.offset, made.memory)
        assert (again.error, again.spans) == (None, [])

    def test_one_in_p_is_left_out_and_the_line_goes_on(self) -> None:
        folder = Folder({2: live(400)})
        lost = folder.plan(at(2, 300, p=((1, 100),)), Memory(start=1, highest=2, seen=Ids.of({1})))
        moved, kept, to = accept(folder, lost)
        assert to == Position(2, 300)
        made = folder.plan(moved, kept)
        assert (made.error, spans(made), made.offset) == (None, [(2, 300, 400)], at(2, 400))

    def test_a_late_one_given_up_leaves_the_rules_for_the_main_line(self) -> None:
        folder = Folder({2: done(400)})
        memory = Memory(start=1, highest=2, seen=Ids.of({1}), last_with_sidecar=2)
        moved, kept, _ = accept(folder, folder.plan(at(2, 300, p=((1, 100),)), memory))
        made = folder.plan(moved, kept)
        assert made.offset == at(2, 400, True)
        assert loss(Folder({9: done()}).plan(made.offset, made.memory)) == Position(3, 0), "swept by the cap"

    def test_each_loss_is_accepted_on_its_own(self) -> None:
        folder = Folder({1: done(), 3: done(), 5: live()})
        memory = Memory(start=1, highest=5, seen=Ids.of({1, 2, 3, 4, 5}))
        first = folder.plan(START, memory)
        assert loss(first) == Position(2, 0)
        moved, kept, to = accept(folder, first)
        assert to == Position(3, 0)
        second = folder.plan(moved, kept)
        assert spans(second) == [(3, 0, 300)]
        assert loss(second) == Position(4, 0)
        moved, kept, to = accept(folder, second)
        assert to == Position(5, 0)
        assert spans(folder.plan(moved, kept)) == [(5, 0, 300)]

    def test_the_position_stays_where_it_was(self) -> None:
        folder = Folder({3: live()})
        moved, _, _ = accept(folder, folder.plan(at(1, 100), SEEN))
        assert moved == at(1, 100, True)


class TestMemory:
    def test_of_the_first_look(self) -> None:
        made = Folder({3: done(), 4: bare(), 5: live()}).plan(START, Memory())
        assert (made.memory.start, made.memory.highest) == (3, 5)

    def test_sidecars_seen_are_kept_until_the_position_has_passed(self) -> None:
        folder = Folder({1: live(), 2: done(), 3: done()})
        made = folder.plan(START)
        assert made.memory.seen == Ids([(2, 3)])
        folder.logs[1] = done()
        made = folder.plan(made.offset, made.memory)
        assert made.memory.seen == NO_IDS

    def test_the_highest_id_is_kept_when_the_folder_is_empty(self) -> None:
        made = Folder({}).plan(at(3, 300, True), Memory(start=1, highest=7))
        assert made.memory.highest == 7

    def test_one_in_p_stays_in_seen(self) -> None:
        made = Folder({1: live(), 2: live()}).plan(at(2, 300, p=((1, 0),)))
        assert made.memory.seen == Ids([(1, 1)])
