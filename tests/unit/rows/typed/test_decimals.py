"""Decimals and varints: the compiled form gives the 128 bits that the plain reader gives, or leaves the row to it."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rows.typed.test_nested import check, column_of

LARGEST = 10**38 - 1


def varint(number: int, size: int = 0) -> bytes:
    return number.to_bytes(max(size, number.bit_length() // 8 + 1), "big", signed=True)


def decimal(number: int, scale: int, size: int = 0) -> bytes:
    return struct.pack(">i", scale) + varint(number, size)


powers = st.builds(lambda power, more, sign: sign * (10**power + more), st.integers(0, 45), st.integers(-2, 2),
                   st.sampled_from([1, -1]))  # fmt: skip
numbers = st.one_of(st.integers(-1000, 1000), st.integers(-(2**64), 2**64), st.integers(-(2**130), 2**130), powers)
scales = st.one_of(st.integers(-2, 20), st.integers(-60, 60), st.sampled_from([-(2**31), 2**31 - 1]))
sizes = st.sampled_from([0, 0, 8, 9, 16, 17, 30])


@given(st.lists(st.one_of(st.none(), st.builds(decimal, numbers, scales, sizes), st.binary(max_size=6)), max_size=8))
def test_decimals(held: list[bytes | None]) -> None:
    check(column_of("decimal"), held)


@given(st.lists(st.one_of(st.none(), st.builds(varint, numbers, sizes)), max_size=8))
def test_varints(held: list[bytes | None]) -> None:
    check(column_of("varint"), held)


@given(st.lists(st.builds(decimal, numbers, scales, sizes), max_size=4))
def test_texts_of_them(held: list[bytes]) -> None:
    assert not any(check(column_of("decimal", "string"), held))


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (decimal(1999, 2), False),
        (decimal(-1, 18), False),
        (decimal(LARGEST, 18), False),
        (decimal(-LARGEST, 18), False),
        (decimal(LARGEST + 1, 18), True),
        (decimal(-LARGEST - 1, 18), True),
        (decimal(1, -19), False),
        (decimal(1, -20), True),
        (decimal(99, -18), False),
        (decimal(0, 2**31 - 1), False),
        (decimal(10**20, 38), False),
        (decimal(10**20 + 1, 38), True),
        (decimal(5 * 10**11, 30), True),
        (decimal(5 * 10**12, 30), False),
        (decimal(7, 2, 30), False),
        (decimal(-7, 2, 17), False),
        (b"\0\0\0\1", False),  # the server takes it: zero
        (b"\0", True),
        (b"", False),
    ],
)
def test_which_decimals_fit(value: bytes, left: bool) -> None:
    assert check(column_of("decimal"), [value, None, value]) == [left, False, left]


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (varint(LARGEST), False),
        (varint(-LARGEST), False),
        (varint(LARGEST + 1), True),
        (varint(-LARGEST - 1), True),
        (varint(-1, 40), False),
        (varint(2**127 - 1), True),
        (varint(-(2**127)), True),
        (varint(-(2**63)), False),
        (varint(2**64 - 1), False),
        (b"", False),
    ],
)
def test_which_varints_fit(value: bytes, left: bool) -> None:
    assert check(column_of("varint"), [value, None, value]) == [left, False, left]


def test_of_lists() -> None:
    element = decimal(125, 2)
    held = struct.pack(">ii", 2, len(element)) + element + struct.pack(">i", -1)
    assert check(column_of("frozen<list<decimal>>"), [held, None]) == [False, False]
