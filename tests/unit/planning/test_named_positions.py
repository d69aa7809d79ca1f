"""Positions as users write them, and what they mean in a folder as it is now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType

import pytest

from tailer.errors import CorruptError, LossError, UsageError
from tailer.options.amounts import moment_of
from tailer.planning.appeared import Appeared
from tailer.planning.named_positions import WRITTEN_SLACK, clip, lowest_named, named_position, standing
from tailer.planning.plan import Reach
from tailer.position import Position, Span
from tailer.segments.view import SegmentView
from tailer.state.ids import Ids
from tailer.state.offset import NodeOffset


def done(segment: int) -> SegmentView:
    return SegmentView(segment, log=True, sidecar=True, end=300, finished="completed")


def live(segment: int) -> SegmentView:
    return SegmentView(segment, log=True, sidecar=True, end=300)


def bare(segment: int) -> SegmentView:
    return SegmentView(segment, log=True, sidecar=False)


def folder(*views: SegmentView) -> dict[int, SegmentView]:
    return {view.segment: view for view in views}


def reach(segment: int, offset: int, budget: int) -> Reach:
    """Finished segments have odd ids here; each can be read to 300."""
    assert budget >= 2**31 - 1
    return Reach(300, done=segment % 2 == 1)


def resolve(text: str, *views: SegmentView) -> NodeOffset:
    return named_position(text, folder(*views), reach).offset


class TestEarliest:
    def test_is_before_the_oldest_there_is(self) -> None:
        start = named_position("earliest", folder(done(7), live(8)), reach)
        assert start.offset == NodeOffset(0, 0, 0, True, ())
        assert (start.memory.start, start.memory.highest) == (7, 8)

    def test_of_an_empty_folder(self) -> None:
        start = named_position("earliest", {}, reach)
        assert (start.offset, start.memory.start) == (NodeOffset(), 0)


class TestLatest:
    @pytest.mark.parametrize(
        ("views", "wanted"),
        [
            ((), NodeOffset()),
            ((live(8),), NodeOffset(0, 8, 300, False)),
            ((done(7),), NodeOffset(0, 7, 300, True)),
            ((done(7), live(8)), NodeOffset(0, 8, 300, False)),
            ((live(6), done(7)), NodeOffset(0, 7, 300, True, ((6, 300),))),
            ((bare(6), live(8)), NodeOffset(0, 8, 300, False, ((6, 0),))),
            ((live(8), bare(9)), NodeOffset(0, 8, 300, False)),
            ((bare(6), bare(7)), NodeOffset(p=((6, 0), (7, 0)))),
        ],
        ids=["nothing", "live", "done", "two", "unfinished below", "bare below", "bare above", "only bare"],
    )
    def test_is_behind_all_that_is_durable_now(self, views: tuple[SegmentView, ...], wanted: NodeOffset) -> None:
        assert resolve("latest", *views) == wanted

    def test_a_log_that_does_not_check_is_its_error(self) -> None:
        def broken(segment: int, offset: int, budget: int) -> Reach:
            return Reach(0, error=CorruptError("broken", at=Position(segment, 0)))

        with pytest.raises(CorruptError):
            named_position("latest", folder(live(8)), broken)


class TestSegmentOffset:
    @pytest.mark.parametrize("text", ["8:0", "8:20", "8:123456"])
    def test_stands_in_that_segment(self, text: str) -> None:
        assert resolve(text, live(8)) == NodeOffset(0, 8, int(text[2:]), False)

    def test_of_a_segment_that_is_gone_is_a_loss(self) -> None:
        with pytest.raises(LossError, match="7:20") as caught:
            resolve("7:20", live(8))
        assert caught.value.remedy

    def test_of_one_that_never_was_is_a_mistake(self) -> None:
        with pytest.raises(UsageError, match="9:20") as caught:
            resolve("9:20", live(8))
        assert caught.value.remedy


class TestJson:
    TEXT = '{"j":4,"s":8,"o":300,"done":false,"p":[[6,20]]}'
    OFFSET = NodeOffset(4, 8, 300, False, ((6, 20),))

    @pytest.mark.parametrize(
        "text", [TEXT, f" {TEXT}\n", f'{{"local":{TEXT}}}', f'{{"v":1,"t":9,"nodes":{{"local":{TEXT},"b":{TEXT}}}}}']
    )
    def test_a_nodes_offset_or_sparks_whole_one(self, text: str) -> None:
        assert resolve(text, live(8)) == self.OFFSET

    def test_of_another_node(self) -> None:
        assert named_position(f'{{"nodes":{{"b":{self.TEXT}}}}}', {}, reach, "b").offset == self.OFFSET

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "{}}",
            '{"s":"8"}',
            '{"s":8,"o":-1.5}',
            '{"p":[[1]]}',
            '{"p":[[1,2,3]]}',
            '{"nodes":{}}',
            '{"nodes":[]}',
            '{"nodes":{"local":3}}',
            '{"done":1}',
        ],
    )
    def test_anything_else_is_a_mistake(self, text: str) -> None:
        with pytest.raises(UsageError) as caught:
            resolve(text, live(8))
        assert text[:10] in caught.value.sentence()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8",
        ":",
        "8:",
        ":20",
        "8:20:1",
        "-8:20",
        "8:-20",
        "8: 20",
        "8,20",
        "Earliest",
        "newest",
        "8:0x20",
        "٨:٢٠",
        "[8,20]",
    ],
)
def test_other_texts_are_a_mistake_that_says_what_there_is(text: str) -> None:
    with pytest.raises(UsageError, match="earliest") as caught:
        resolve(text, live(8))
    assert repr(text) in caught.value.sentence()


def span(segment: int, start: int, end: int, lower: int = 0) -> Span:
    return Span(segment, start, end, start, lower or start, end)


class TestUntil:
    SPANS = (span(7, 0, 300), span(8, 0, 100), span(8, 100, 200))

    @pytest.mark.parametrize(
        ("until", "wanted", "reached"),
        [
            (None, [(7, 300), (8, 100), (8, 200)], False),
            (Position(6, 5), [], True),
            (Position(7, 0), [], True),
            (Position(7, 150), [(7, 150)], True),
            (Position(8, 0), [(7, 300)], True),
            (Position(8, 100), [(7, 300), (8, 100)], True),
            (Position(8, 150), [(7, 300), (8, 100), (8, 150)], True),
            (Position(8, 200), [(7, 300), (8, 100), (8, 200)], True),
            (Position(8, 900), [(7, 300), (8, 100), (8, 200)], False),
            (Position(9, 0), [(7, 300), (8, 100), (8, 200)], False),
        ],
    )
    def test_is_exclusive_and_may_stand_inside_a_section(
        self, until: Position | None, wanted: list[tuple[int, int]], reached: bool
    ) -> None:
        spans, finished = clip(self.SPANS, until, Position(8, 200))
        assert [(kept.segment, kept.upper) for kept in spans] == wanted
        assert finished == reached


class TestStanding:
    def test_never_in_a_segment_without_sidecar(self) -> None:
        """It may go, and then nothing was lost; its rows are delivered if it gets a sidecar after all."""
        view = folder(done(5), bare(6), live(8))
        assert standing(NodeOffset(0, 6, 100, False), view) == NodeOffset(0, 5, 0, True)
        stopped = {6: SegmentView(6, log=True, sidecar=False, finished="stopped")}
        assert standing(NodeOffset(0, 6, 100, False), stopped) == NodeOffset(0, 6, 100, False)

    @pytest.mark.parametrize("offset", [NodeOffset(), NodeOffset(0, 8, 100, False), NodeOffset(0, 6, 100, True)])
    def test_anywhere_else_as_it_was_named(self, offset: NodeOffset) -> None:
        assert standing(offset, folder(done(5), bare(6), live(8))) == offset

    def test_an_end_stays_where_it_was_named(self) -> None:
        assert resolve("6:100", done(5), bare(6), live(8)) == NodeOffset(0, 6, 100, False)


class TestTime:
    VIEWS = (done(3), done(5), done(7), live(8))
    WRITTEN: Mapping[int, float | None] = MappingProxyType({3: 1000.0, 5: 3000.0, 7: 2000.0, 8: None})
    """5 was finished after 7: the flush thread closes segments out of order."""

    def since(self, seconds: float, *views: SegmentView) -> NodeOffset:
        text = datetime.fromtimestamp(seconds, UTC).isoformat()
        view = folder(*(views or self.VIEWS))
        return named_position(text, view, reach, written=self.WRITTEN.__getitem__).offset

    def test_begins_with_the_first_segment_that_may_hold_something_of_then(self) -> None:
        assert self.since(500) == self.since(1000) == NodeOffset(0, 3, 0, False)
        assert self.since(1000 + WRITTEN_SLACK) == NodeOffset(0, 3, 0, False)
        assert self.since(1001 + WRITTEN_SLACK) == self.since(3000) == NodeOffset(0, 5, 0, False)
        assert self.since(9000) == NodeOffset(0, 8, 0, False), "what is not finished may still be written"

    def test_segments_count_in_the_order_in_which_they_appeared(self) -> None:
        """3 appeared when 5 was there: what was written since is in 5 and 7 too, or in 3 and 7 alone."""
        views = folder(done(3), done(5), done(7))
        appeared = {3: Appeared(behind=5, end=None)}
        for written, offset, holes in (
            ({3: 1000.0, 5: 1000.0, 7: 1000.0}, NodeOffset(0, 5, 0, False), Ids.of([3])),
            ({3: 1000.0, 5: 0.0, 7: 1000.0}, NodeOffset(0, 5, 300, True, ((3, 0),)), Ids()),
        ):
            found = named_position("1970-01-01T00:16:30Z", views, reach, written=written.__getitem__, appeared=appeared)
            assert (found.offset, found.memory.holes) == (offset, holes)

    def test_is_the_end_where_nothing_was_written_since(self) -> None:
        assert self.since(9000, done(3), done(5), done(7)) == NodeOffset(0, 7, 300, True)

    def test_is_no_end(self) -> None:
        with pytest.raises(UsageError, match="latest, or a node's JSON"):
            resolve("1970-01-01T00:00Z", *self.VIEWS)

    def test_says_where_it_may_be_too_late(self) -> None:
        view = folder(*self.VIEWS)
        told = [
            named_position(f"1970-01-01T00:{minute}Z", view, reach, written=self.WRITTEN.get) for minute in (10, 30)
        ]
        assert [each.whole for each in told] == [True, False]

    @pytest.mark.parametrize(
        "text", ["2026-11-20T10:00", "2026-11-20", "2026-13-01T00:00Z", "10:00Z", "1700", "yesterday"]
    )
    def test_other_texts_are_none(self, text: str) -> None:
        assert moment_of(text) is None
        with pytest.raises(UsageError, match="a time"):
            named_position(text, folder(*self.VIEWS), reach, written=self.WRITTEN.get)

    def test_every_clock_is_the_same(self) -> None:
        assert moment_of("2026-11-20T10:00Z") == moment_of("2026-11-20 11:00:00+01:00") == 1795168800.0

    def test_how_far_back_a_start_may_read(self) -> None:
        named = [lowest_named(text, "local") for text in ("earliest", "2026-11-20T10:00Z", "7:20")]
        assert named == [0, 0, 7]
        assert lowest_named('{"s":9,"o":0,"done":true,"p":[[4,0]]}', "local") == 4
        assert lowest_named("latest", "local") > 2**62
