"""Partition keys of one and of several columns; the bytes are made by hand after the format page, section 8."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.scan.key import join_partition_key, split_partition_key


def test_a_single_value_stands_bare() -> None:
    assert split_partition_key(b"\0\x01a\0", 1) == [b"\0\x01a\0"]
    assert split_partition_key(b"", 1) == [b""]
    assert join_partition_key([b"abc"]) == b"abc"


def test_several_values_carry_their_lengths() -> None:
    key = bytes.fromhex("0004 00000001 00" "0002 6162 00" "0000 00")  # fmt: skip
    values = [b"\0\0\0\1", b"ab", b""]
    assert split_partition_key(key, 3) == values
    assert join_partition_key(values) == key


def test_a_value_can_be_as_long_as_its_length_can_say() -> None:
    values = [b"x" * 65535, b"y"]
    assert split_partition_key(join_partition_key(values), 2) == values
    with pytest.raises(ValueError, match="65535"):
        join_partition_key([b"x" * 65536, b"y"])


@pytest.mark.parametrize(
    "found",
    ["", "00", "0001", "000161", "00016100", "0001610000", "000161000001", "00016100000162", "0001610000016201",
     "000161010001620000", "00016100000162000000", "ffff6100000100"],
)  # fmt: skip
def test_bytes_that_are_not_exactly_two_values_are_a_value_error(found: str) -> None:
    with pytest.raises(ValueError, match="partition key"):
        split_partition_key(bytes.fromhex(found), 2)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_values_joined_and_split_are_the_same(values: list[bytes]) -> None:
    assert split_partition_key(join_partition_key(values), len(values)) == values


@given(st.binary(max_size=40), st.integers(2, 4))
def test_any_bytes_split_and_join_back_or_are_a_value_error(key: bytes, count: int) -> None:
    try:
        values = split_partition_key(key, count)
    except ValueError:
        return
    assert join_partition_key(values) == key
