"""Values of Python as a log has them: by hand, and against the encoder that starts from a value's JSON text."""

from __future__ import annotations

import ipaddress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tailer.schema.model import TypeField
from tailer.types import parse_type
from tailer.types.encode import encoder
from tailer.types.read_json import read_json
from writer_hooks.python_values import VALUE_ERRORS, to_bytes

TYPES = {"place": (TypeField("street", "text"), TypeField("number", "int"))}


class Place(msgspec.Struct):
    street: str
    number: int | None


BY_HAND: list[tuple[str, Any, str]] = [
    ("text", "tea ☕", "746561 20e29895"),
    ("ascii", "tea", "746561"),
    ("tinyint", -1, "ff"),
    ("smallint", 258, "0102"),
    ("int", -2, "fffffffe"),
    ("bigint", 1, "0000000000000001"),
    ("varint", 128, "0080"),
    ("varint", -129, "ff7f"),
    ("double", 1, "3ff0000000000000"),
    ("float", 0.5, "3f000000"),
    ("decimal", Decimal("-1.50"), "00000002 ff6a"),
    ("decimal", 7, "00000000 07"),
    ("boolean", True, "01"),
    ("boolean", False, "00"),
    ("blob", b"\0\xff", "00ff"),
    ("uuid", "00000000-0000-4000-8000-000000000001", "00000000000040008000000000000001"),
    ("inet", "10.0.0.1", "0a000001"),
    ("inet", ipaddress.ip_address("::1"), "00000000000000000000000000000001"),
    ("timestamp", datetime(1970, 1, 1, 0, 0, 1, 500_000), "00000000000005dc"),
    ("timestamp", datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "0000000000000000"),
    ("timestamp", datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), "ffffffffffffffff"),
    ("timestamp", 5, "0000000000000005"),
    ("date", date(1970, 1, 2), "80000001"),
    ("date", date(1969, 12, 31), "7fffffff"),
    ("time", time(0, 0, 1), "000000003b9aca00"),
    ("time", 1, "0000000000000001"),
    ("duration", (1, 2, 3), "020406"),
    ("duration", timedelta(days=1), "000200"),
    ("duration", timedelta(seconds=-1), "0000 f0773593ff"),
    ("frozen<list<int>>", [1, 2], "00000002 00000004 00000001 00000004 00000002"),
    ("frozen<set<text>>", {"b", "a"}, "00000002 00000001 61 00000001 62"),
    ("frozen<set<int>>", [1, -1, 1], "00000002 00000004 ffffffff 00000004 00000001"),
    ("frozen<map<text, int>>", {"b": 1, "a": 2}, "00000002 00000001 61 0000000400000002 00000001 62 0000000400000001"),
    ("frozen<tuple<int, text>>", (1, None), "00000004 00000001 ffffffff"),
    ("frozen<place>", Place("x", None), "00000001 78 ffffffff"),
    ("frozen<place>", {"number": 1}, "ffffffff 00000004 00000001"),
    ("vector<float, 2>", [0.5, 0], "3f000000 00000000"),
    ("vector<text, 2>", ["a", ""], "01 61 00"),
]


@pytest.mark.parametrize(("text", "value", "expected"), BY_HAND, ids=[f"{text} {value}" for text, value, _ in BY_HAND])
def test_bytes_by_hand(text: str, value: Any, expected: str) -> None:
    assert to_bytes(parse_type(text, TYPES))(value) == bytes.fromhex(expected)


@pytest.mark.parametrize(
    ("text", "value", "json"),
    [
        ("timestamp", datetime(2026, 2, 28, 23, 59, 59, 1000, tzinfo=UTC), '"2026-02-28 23:59:59.001Z"'),
        ("date", date(2024, 2, 29), '"2024-02-29"'),
        ("time", time(13, 14, 15, 16), '"13:14:15.000016000"'),
        ("decimal", Decimal("123456789012345678901234567890.12"), "123456789012345678901234567890.12"),
        ("varint", 10**40, str(10**40)),
        ("uuid", UUID(int=2**127 + 5), f'"{UUID(int=2**127 + 5)}"'),
        ("frozen<map<int, frozen<list<text>>>>", {2: ["b"], -1: []}, '{"-1":[],"2":["b"]}'),
        ("frozen<list<frozen<place>>>", [Place("s", 4)], '[{"street":"s","number":4}]'),
        ("duration", timedelta(days=3, seconds=2), '"3d2s"'),
    ],
)
def test_bytes_are_those_of_the_json_text(text: str, value: Any, json: str) -> None:
    type_ = parse_type(text, TYPES)
    assert to_bytes(type_)(value) == encoder(type_)(read_json(json))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int", 2**31),
        ("int", "1"),
        ("text", 1),
        ("ascii", "é"),
        ("boolean", 1),
        ("blob", "0x00"),
        ("blob", 5),
        ("decimal", Decimal("NaN")),
        ("uuid", "x"),
        ("timeuuid", "00000000-0000-4000-8000-000000000001"),
        ("inet", "10.0.0"),
        ("date", "2024-01-01"),
        ("time", 86_400_000_000_000),
        ("duration", (1, -1, 0)),
        ("varint", 1.5),
        ("frozen<list<int>>", "12"),
        ("frozen<list<int>>", {1: 2}),
        ("frozen<map<int, int>>", [1]),
        ("frozen<tuple<int, int>>", (1,)),
        ("frozen<place>", {"town": "x"}),
        ("vector<float, 2>", [1.0]),
    ],
)
def test_what_is_no_value_of_the_type(text: str, value: Any) -> None:
    with pytest.raises(VALUE_ERRORS):
        to_bytes(parse_type(text, TYPES))(value)
