"""Any bytes at all end in a status: no exception, no line outside the entry, nothing of an entry that fails."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.scan.index import Index, Status
from tailer.scan.mutation.scan import scan
from tests.unit.scan.inside import check_inside
from tests.unit.scan.mutations import FIRST, SECOND, mutation, update
from tests.unit.scan.tables import TABLES, scanned


def check(index: Index, size: int) -> None:
    """Every line lies inside the one entry, and runs of lines inside their arrays."""
    for off, length in index.values.tolist():
        assert 0 <= off <= off + max(length, 0) <= size
    check_inside(index, size)


@pytest.mark.parametrize("payload", [FIRST, SECOND], ids=["first", "second"])
def test_every_prefix_is_refused(payload: bytes) -> None:
    for length in range(len(payload)):
        index = scanned(payload[:length])
        assert index.stopped.status not in (Status.OK, Status.WRONG_SIZE), length
        check(index, length)
        # What follows the entry in the section must not be taken for a part of it.
        assert scan(payload, [0], [length], TABLES).stopped.status != Status.OK, length


@pytest.mark.parametrize("payload", [FIRST, SECOND], ids=["first", "second"])
def test_every_byte_replaced(payload: bytes) -> None:
    for at in range(len(payload)):
        for byte in (0, 1, 2, 0x3F, 0x7F, 0x80, 0xC0, 0xFE, 0xFF, payload[at] ^ 1, payload[at] ^ 0x10):
            damaged = payload[:at] + bytes([byte]) + payload[at + 1 :]
            check(scanned(damaged), len(damaged))


@given(st.binary(max_size=200))
def test_random_bytes(payload: bytes) -> None:
    check(scanned(payload), len(payload))


@given(st.binary(max_size=120))
def test_random_bytes_behind_a_good_head(tail: bytes) -> None:
    head = mutation(update(columns=["v", "m"]))[:-2]
    check(scanned(head + tail), len(head + tail))


@given(st.binary(max_size=60), st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40))
def test_entries_that_do_not_lie_in_the_data(data: bytes, start: int, size: int) -> None:
    if not (start >= 0 and size >= 0 and start + size <= len(data)):
        assert scan(data, [start], [size], TABLES).stopped.status == Status.TRUNCATED
