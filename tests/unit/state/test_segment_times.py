"""Marks of when sections became durable: few, never too late, and the same whoever saw which of them."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tailer.state.segment_times import MARKS_MAX, SegmentTimes


def seen(*marks: tuple[int, float]) -> SegmentTimes:
    times = SegmentTimes()
    for end, seconds in marks:
        times = times.marked(end, seconds)
    return times


def test_a_start_is_behind_what_was_durable_before_it() -> None:
    times = seen((100, 10.0), (200, 20.0), (300, 30.0))
    assert [times.before(seconds) for seconds in (5.0, 10.0, 10.1, 20.0, 25.0, 31.0)] == [0, 0, 100, 100, 200, 300]
    assert (times.end, times.span) == (300, 20.0)
    assert times.finished(35.0).done == 35.0
    assert times.finished(35.0).finished(90.0).done == 35.0
    assert times.finished(35.0).span == 25.0


def test_sections_close_together_need_one_mark() -> None:
    times = seen((100, 10.0), (110, 10.2), (120, 10.4), (130, 10.9), (140, 12.5))
    # The last of those within a second stays, or a start behind the burst would have it again.
    assert times.marks == ((100, 10.0), (130, 10.9), (140, 12.5))
    assert times.before(12.0) == 130


def test_a_clock_that_was_set_back_makes_a_start_earlier() -> None:
    times = seen((100, 10.0), (200, 4.0), (300, 30.0))
    assert times.marks == ((100, 10.0), (200, 10.0), (300, 30.0))
    assert (times.before(8.0), times.before(20.0)) == (0, 200)


def test_what_is_told_again_is_no_news() -> None:
    times = seen((100, 10.0), (100, 50.0), (90, 60.0))
    assert times.marks == ((100, 10.0),)


MARKS = st.lists(st.tuples(st.integers(1, 10_000), st.floats(0, 1e6)), min_size=1, max_size=200).map(
    lambda marks: list(zip(sorted({end for end, _ in marks}), sorted(seconds for _, seconds in marks), strict=False))
)


@given(MARKS, st.floats(0, 1e6))
def test_a_start_is_never_too_late_and_marks_are_few(marks: list[tuple[int, float]], seconds: float) -> None:
    times = seen(*marks)
    first = next((end for end, at in marks if at >= seconds), None)
    assert times.before(seconds) == 0 or all(at < seconds for end, at in marks if end <= times.before(seconds))
    assert first is None or times.before(seconds) < first
    assert len(times.marks) <= MARKS_MAX
    assert times.end == marks[-1][0]


@given(MARKS, st.integers(0, 200), st.floats(0, 1e6))
def test_two_readers_that_saw_parts_of_it(marks: list[tuple[int, float]], cut: int, seconds: float) -> None:
    one, other = seen(*marks[: cut + 1]), seen(*marks[cut:])
    both = one.merged(other)
    assert both == other.merged(one)
    assert both.merged(both) == both
    assert all(at < seconds for end, at in marks if end <= both.before(seconds))
    assert msgspec.json.decode(msgspec.json.encode(both), type=SegmentTimes) == both


def test_marks_are_spread_over_all_the_time_that_it_was_written() -> None:
    times = seen(*((number, float(number)) for number in range(1, 5001)))
    seconds = [at for _, at in times.marks]
    assert len(seconds) == MARKS_MAX
    assert (seconds[0], seconds[-1]) == (1.0, 5000.0)
    assert max(later - earlier for earlier, later in pairwise(seconds)) <= 5000 / 15
