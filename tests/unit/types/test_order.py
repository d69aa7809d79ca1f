"""Values as ordered bytes: the order of the server, type by type."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.types import parse_type
from tailer.types.encode import encoder
from tailer.types.order import AFTER, component, order_bytes
from tailer.types.read_json import read_json

NUMBERS = {
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "varint": st.integers(),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False),
}


def order(text: str, json: str) -> bytes:
    type_ = parse_type(text, {})
    return order_bytes(type_)(encoder(type_)(read_json(json)))


@pytest.mark.parametrize("text", NUMBERS)
@given(data=st.data())
def test_numbers_are_ordered_by_value(text: str, data: st.DataObject) -> None:
    left, right = data.draw(NUMBERS[text]), data.draw(NUMBERS[text])
    mine, theirs = order(text, str(left)), order(text, str(right))
    assert (mine < theirs, mine == theirs) == (left < right, left == right)


@given(st.floats(), st.floats())
def test_doubles_are_ordered_as_java_orders_them(left: float, right: float) -> None:
    """Minus zero is below zero, and all not-a-numbers are one value above everything."""
    mine, theirs = (order_bytes(parse_type("double", {}))(struct.pack(">d", number)) for number in (left, right))
    keys = [(math.isnan(n), 0.0 if math.isnan(n) else n, math.copysign(1, n) if n == 0 else 0) for n in (left, right)]
    assert (mine < theirs, mine == theirs) == (keys[0] < keys[1], keys[0] == keys[1])


@given(st.lists(st.text(max_size=3), max_size=3), st.lists(st.text(max_size=3), max_size=3))
def test_lists_are_ordered_element_by_element(left: list[str], right: list[str]) -> None:
    type_ = parse_type("frozen<list<text>>", {})
    mine, theirs = (order_bytes(type_)(encoder(type_)(value)) for value in (left, right))
    keys = [[text.encode() for text in value] for value in (left, right)]
    assert (mine < theirs, mine == theirs) == (keys[0] < keys[1], keys[0] == keys[1])


PAIR = st.tuples(st.one_of(st.none(), st.binary(max_size=3)), st.one_of(st.none(), st.binary(max_size=3)))


@given(PAIR, PAIR, st.booleans())
def test_components_stand_one_behind_the_other(left: Any, right: Any, desc: bool) -> None:
    """Null is below the empty value, that below all others; the second component is turned round by `desc`."""
    parts = component(parse_type("blob", {})), component(parse_type("blob", {}), desc=desc)
    mine, theirs = (b"".join(part(v) for part, v in zip(parts, pair, strict=True)) for pair in (left, right))

    def key(value: bytes | None) -> tuple[int, bytes]:
        return (0, b"") if value is None else (1, value)

    first = (key(left[0]) > key(right[0])) - (key(left[0]) < key(right[0]))
    second = (key(left[1]) > key(right[1])) - (key(left[1]) < key(right[1]))
    expected = first or (-second if desc else second)
    assert (mine > theirs) - (mine < theirs) == expected
    if left[0] == right[0]:
        assert parts[0](left[0]) <= theirs < parts[0](left[0]) + AFTER


@pytest.mark.parametrize(
    ("text", "rising"),
    [
        ("text", ['""', '"A"', '"a"', '"é"', '"\U00010000"']),
        ("decimal", ["-1E+3", "-1", "-0.1", "0.00", "0.001", "1E-2", "1", "10"]),
        ("date", ['"-0001-01-01"', '"1970-01-01"', '"2024-01-01"']),
        ("timestamp", ['"1969-12-31 23:59:59.999Z"', '"1970-01-01 00:00:00.000Z"']),
        (
            "timeuuid",
            ['"ffffffff-0000-1000-8000-000000000000"', '"00000000-0001-1000-8000-000000000000"',
             '"00000000-0001-1000-0000-000000000000"'],
        ),
        (
            "uuid",
            ['"ffffffff-0000-1000-8000-000000000000"', '"00000000-0001-1000-8000-000000000000"',
             '"00000000-0000-4000-8000-000000000000"', '"ffffffff-0000-4000-8000-000000000000"'],
        ),
        ("frozen<tuple<int, int>>", ["[null,1]", "[1,null]", "[1,1]", "[2,null]"]),
        ("frozen<map<int, text>>", ["{}", '{"1":"a"}', '{"1":"b"}', '{"1":"b","2":"a"}', '{"2":"a"}']),
        ("vector<float, 2>", ["[-1.0,5.0]", "[0.0,0.0]", "[0.0,1.0]"]),
    ],
)  # fmt: skip
def test_the_order_of_a_type(text: str, rising: list[str]) -> None:
    made = [order(text, json) for json in rising]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_one_value_in_two_spellings() -> None:
    assert order("decimal", "0") == order("decimal", "0.00")
    assert order("decimal", "100") == order("decimal", "1E+2") == order("decimal", str(Decimal("100.000")))
    short = parse_type("frozen<tuple<int, int>>", {})
    assert order_bytes(short)(bytes.fromhex("0000000400000001")) == order("frozen<tuple<int, int>>", "[1,null]")
