"""The newest sections in memory: what a reader gets at each position, and when it is told to read files."""

from __future__ import annotations

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from tailer.position import Position
from writer_hooks.buffer import Absent, SectionBuffer, SyncedSection

HEADER = 50


def section(prev: Position, segment: int, size: int) -> SyncedSection:
    """The section of `size` plain bytes behind `prev`, the first of its segment where that is another one."""
    start = prev if prev.segment == segment else Position(segment, HEADER)
    end = Position(segment, start.offset + 8 + size)
    return SyncedSection(prev, start, end, start.offset, end.offset, bytes(size), end, time.monotonic())


def test_a_reader_takes_sections_in_order_and_waits_at_the_end() -> None:
    begin = Position(1, HEADER)
    buffer = SectionBuffer(begin)
    buffer.hold(1000)
    first = section(begin, 1, 10)
    second = section(first.end, 1, 10)
    buffer.feed(first)
    buffer.feed(second)
    assert buffer.take(begin) is first
    assert buffer.take(first.end) is second
    assert buffer.take(second.end) is Absent.WAIT
    assert buffer.take(Position(1, HEADER + 1)) is Absent.BEHIND
    buffer.close()
    assert buffer.take(second.end) is Absent.CLOSED


def test_a_roll_over_is_no_gap() -> None:
    buffer = SectionBuffer(Position(1, HEADER))
    buffer.hold(1000)
    last = section(Position(1, HEADER), 1, 10)
    following = section(last.end, 2, 10)
    buffer.feed(last)
    buffer.feed(following)
    assert buffer.take(last.end) is following
    assert buffer.take(Position(2, 0)) is following
    assert buffer.take(Position(2, HEADER)) is following


def test_nothing_is_kept_without_readers() -> None:
    begin = Position(1, HEADER)
    buffer = SectionBuffer(begin)
    first = section(begin, 1, 10)
    buffer.feed(first)
    assert buffer.used == 0
    assert buffer.take(begin) is Absent.BEHIND
    buffer.hold(100)
    second = section(first.end, 1, 10)
    buffer.feed(second)
    assert buffer.take(first.end) is second
    buffer.release(100)
    assert buffer.used == 0
    assert buffer.take(first.end) is Absent.BEHIND


def test_a_waiting_reader_gets_the_section_that_comes() -> None:
    begin = Position(1, HEADER)
    buffer = SectionBuffer(begin)
    buffer.hold(100)
    first = section(begin, 1, 10)
    timer = threading.Timer(0.05, buffer.feed, [first])
    timer.start()
    assert buffer.take(begin, 20) is first
    timer.join()


def test_a_waiting_reader_is_told_that_no_more_comes() -> None:
    begin = Position(1, HEADER)
    buffer = SectionBuffer(begin)
    timer = threading.Timer(0.05, buffer.close)
    timer.start()
    assert buffer.take(begin, 20) is Absent.CLOSED
    timer.join()


@given(
    st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=40),
    st.lists(st.integers(0, 150), min_size=1, max_size=3),
)
def test_the_newest_are_kept_up_to_the_largest_room(parts: list[tuple[int, bool]], rooms: list[int]) -> None:
    buffer = SectionBuffer(Position(1, HEADER))
    for room in rooms:
        buffer.hold(room)
    prev, segment = Position(1, HEADER), 1
    fed: list[SyncedSection] = []
    for size, rolls in parts:
        segment += rolls
        fed.append(section(prev, segment, size))
        buffer.feed(fed[-1])
        prev = fed[-1].end
        kept: list[SyncedSection] = []
        for each in reversed(fed):
            if sum(len(other.data) for other in [*kept, each]) > max(rooms):
                break
            kept.append(each)
        assert buffer.used == sum(len(each.data) for each in kept) <= max(rooms)
        for each in fed:
            assert buffer.take(each.prev) is (each if each in kept else Absent.BEHIND)
    assert buffer.take(prev) is Absent.WAIT
