"""Since when what stands in a log is durable: by the sidecars that were seen, as far as it is not delivered."""

from __future__ import annotations

import pytest

from tailer.limits import OFFSET_MAX
from tailer.metrics.vouched import NOTED_MAX, Vouched
from tailer.planning.sighting import Sighting
from tailer.state.offset import NodeOffset

FIRST = 1_700_000_000_001


def at(segment: int, offset: int, *, done: bool = False, p: tuple[tuple[int, int], ...] = ()) -> NodeOffset:
    return NodeOffset(s=segment, o=offset, done=done, p=p)


def growing(end: int, when: float) -> Sighting:
    return Sighting(sidecar=True, end=end, vouched=when)


def finished(when: float) -> Sighting:
    return Sighting(sidecar=True, end=1, number=100, vouched=when)


def vouched(*notes: tuple[int, Sighting]) -> Vouched:
    made = Vouched()
    made.passed(at(FIRST, 10))
    for segment, sighting in notes:
        made.note(segment, sighting)
    return made


def at_offset(vouched: Vouched, offset: int) -> float | None:
    return vouched.since(FIRST, lambda: offset)


def test_a_segment_that_was_finished_before_is_asked_for_no_offset() -> None:
    made = vouched((FIRST, finished(2.0)))
    assert made.since(FIRST, lambda: pytest.fail("asked")) == 2.0


def test_a_row_is_durable_since_the_first_sidecar_beyond_it() -> None:
    made = vouched((FIRST, growing(100, 1.0)), (FIRST, growing(200, 2.0)), (FIRST, growing(200, 3.0)))
    assert [at_offset(made, offset) for offset in (10, 99, 100, 199, 200)] == [1.0, 1.0, 2.0, 2.0, None]
    assert made.since(FIRST + 1, lambda: 0) is None


def test_a_finished_segment_is_durable_to_its_end() -> None:
    made = vouched((FIRST, growing(100, 1.0)), (FIRST, finished(2.0)))
    assert at_offset(made, 99) == 1.0
    assert at_offset(made, 10**9) == 2.0


def test_what_is_delivered_waits_no_more() -> None:
    made = vouched((FIRST, growing(100, 1.0)), (FIRST, growing(200, 2.0)), (FIRST + 1, growing(50, 3.0)))
    assert made.oldest() == 1.0
    made.passed(at(FIRST, 100))
    assert made.oldest() == 2.0
    made.passed(at(FIRST, 150))
    assert made.oldest() == 2.0
    made.passed(at(FIRST, 200, done=True))
    assert made.oldest() == 3.0
    made.passed(at(FIRST + 1, 50))
    assert made.oldest() is None


def test_late_segments_count_until_they_are_read() -> None:
    made = vouched((FIRST, finished(1.0)), (FIRST + 1, growing(50, 2.0)))
    made.passed(at(FIRST + 1, 50, p=((FIRST, 30),)))
    made.note(FIRST, finished(1.0))
    assert made.oldest() == 1.0
    made.passed(at(FIRST + 1, 60))
    assert made.oldest() is None
    made.note(FIRST, finished(9.0))
    assert made.oldest() is None, "it is behind the position"


@pytest.mark.parametrize("count", [NOTED_MAX, NOTED_MAX + 1, 5 * NOTED_MAX])
def test_many_looks_take_bounded_room_and_never_make_a_lag_less(count: int) -> None:
    made = vouched(*((FIRST, growing(10 * number, float(number))) for number in range(2, count + 2)))
    for number in range(2, count + 2):
        since = at_offset(made, 10 * number - 1)
        assert since is not None
        assert since <= number
        assert since >= number - (0 if count <= NOTED_MAX else 4 * count / NOTED_MAX)
    assert made.oldest() == 2.0
    (notes,) = made._notes.values()
    assert len(notes.ends) == len(notes.times) <= NOTED_MAX
    made.passed(at(FIRST, OFFSET_MAX))
    assert made.oldest() is None


def test_a_clock_that_was_set_back_is_no_matter() -> None:
    made = vouched(*((FIRST, growing(10 * number, 5000.0 - number)) for number in range(2, 3 * NOTED_MAX)))
    since = at_offset(made, 10 * NOTED_MAX)
    assert since is not None
    (notes,) = made._notes.values()
    assert len(notes.ends) <= NOTED_MAX
