"""Each CQL type in the typed form: Arrow type, value and JSON, from bytes written by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tailer.rows.arrow_types import arrow_type
from tailer.schema.model import TypeField
from tailer.types import parse_type
from tailer.types.value_json import value_json
from tailer.types.values import elements_reader, reader
from tests.unit.rows.typed.reading import plain_values

TYPES = {"point": (TypeField("x", "int"), TypeField("y", "int"))}
US = pa.timestamp("us", "UTC")
DURATION = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("nanoseconds", pa.int64())])
POINT = pa.struct([("x", pa.int32()), ("y", pa.int32())])
DEC = pa.decimal128(38, 18)
INT = pa.decimal128(38, 0)

PARTS = {"months": 1, "days": 2, "nanoseconds": 3}

ONE, TWO = "0000000400000001", "0000000400000002"

GOOD: list[tuple[str, str, pa.DataType, Any, str]] = [
    ("int", "fffffffe", pa.int32(), -2, "-2"),
    ("smallint", "8000", pa.int16(), -32768, "-32768"),
    ("tinyint", "ff", pa.int8(), -1, "-1"),
    ("bigint", "8000000000000000", pa.int64(), -(2**63), "-9223372036854775808"),
    ("text", "c3a922", pa.string(), 'é"', '"é\\""'),
    ("ascii", "61", pa.string(), "a", '"a"'),
    ("text", "", pa.string(), "", '""'),
    ("ascii", "", pa.string(), "", '""'),
    ("blob", "", pa.binary(), b"", '"0x"'),
    ("blob", "00ff", pa.binary(), b"\0\xff", '"0x00ff"'),
    ("boolean", "02", pa.bool_(), True, "true"),
    ("float", "3fa00000", pa.float32(), 1.25, "1.25"),
    ("double", "c004000000000000", pa.float64(), -2.5, "-2.5"),
    ("timestamp", "00000000000003e9", US, 1_001_000, '"1970-01-01 00:00:01.001Z"'),
    ("timestamp", "ffffffffffffffff", US, -1000, '"1969-12-31 23:59:59.999Z"'),
    ("timestamp", "0020c49ba5e353f7", US, (2**63 - 1) // 1000 * 1000, '"+294247-01-10 04:00:54.775Z"'),
    ("date", "80000001", pa.date32(), 1, '"1970-01-02"'),
    ("date", "00000000", pa.date32(), -(2**31), '"-5877641-06-23"'),
    ("date", "ffffffff", pa.date32(), 2**31 - 1, '"+5881580-07-11"'),
    ("time", "0000000000000001", pa.int64(), 1, '"00:00:00.000000001"'),
    ("decimal", "00000002" "6e", DEC, Decimal("1.100000000000000000"), "1.100000000000000000"),
    ("decimal", "fffffffd" "ff", DEC, Decimal(-1000).quantize(Decimal("1E-18")), "-1000.000000000000000000"),
    ("decimal", "00000014" "64", DEC, Decimal("0.000000000000000001"), "0.000000000000000001"),
    ("decimal", "7fffffff" "00", DEC, Decimal("0E-18"), "0.000000000000000000"),
    ("varint", "ff7f", INT, -129, "-129"),
    ("uuid", "123e4567e89b42d3a456426614174000", pa.string(), "123e4567-e89b-42d3-a456-426614174000", ""),
    ("timeuuid", "123e4567e89b11d3a456426614174000", pa.string(), "123e4567-e89b-11d3-a456-426614174000", ""),
    ("inet", "7f000001", pa.string(), "127.0.0.1", '"127.0.0.1"'),
    ("duration", "020406", DURATION, PARTS, '{"months":1,"days":2,"nanoseconds":3}'),
    ("frozen<list<int>>", "00000002" + ONE + "ffffffff", pa.list_(pa.int32()), [1, None], "[1,null]"),
    ("frozen<set<int>>", "00000001" + ONE, pa.list_(pa.int32()), [1], "[1]"),
    ("frozen<list<int>>", "00000001" "00000000", pa.list_(pa.int32()), [None], "[null]"),
    ("frozen<list<text>>", "00000001" "00000000", pa.list_(pa.string()), [""], '[""]'),
    ("frozen<map<int, int>>", "00000001" + ONE + TWO, pa.map_(pa.int32(), pa.int32()), [(1, 2)], '{"1":2}'),
    ("frozen<tuple<int, int>>", ONE, pa.struct([("_1", pa.int32()), ("_2", pa.int32())]), {"_1": 1, "_2": None}, ""),
    ("frozen<point>", ONE + TWO, POINT, {"x": 1, "y": 2}, '{"x":1,"y":2}'),
    ("vector<int, 2>", "0000000100000002", pa.list_(pa.int32()), [1, 2], "[1,2]"),
    (
        "frozen<map<frozen<map<int, int>>, int>>",
        "00000001" "00000010" "00000001" + ONE + "ffffffff" + TWO,
        pa.list_(pa.struct([("key", pa.map_(pa.int32(), pa.int32())), ("value", pa.int32())])),
        [{"key": [(1, None)], "value": 2}],
        '[{"key":{"1":null},"value":2}]',
    ),
    ("'org.example.Odd'", "0a", pa.binary(), b"\n", '"0x0a"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "raw", "arrow", "value", "json"), GOOD, ids=lambda part: str(part)[:40])
def test_a_value(text: str, raw: str, arrow: pa.DataType, value: Any, json: str) -> None:
    type_ = parse_type(text, TYPES)
    made = reader(type_, "decimal")(bytes.fromhex(raw))
    assert made == value
    assert arrow_type(type_, "decimal") == arrow
    array = pa.array([made, None], arrow)
    (back, null) = plain_values(array)
    assert (back, null) == (value, None)
    if json:
        render = value_json(type_, "decimal")
        assert (render(made), render(back), render(None)) == (json, json, "null")


@pytest.mark.parametrize(
    "text",
    ["int", "boolean", "decimal", "uuid", "duration", "frozen<list<int>>", "frozen<point>", "frozen<tuple<int>>",
     "vector<text, 2>", "frozen<map<int, int>>", "'org.example.Odd'", "empty"],
)  # fmt: skip
def test_a_value_of_no_bytes_is_null(text: str) -> None:
    assert reader(parse_type(text, TYPES), "decimal")(b"") is None


ZEROS = "00000002000000050000000000" + ONE + "00000006000000020000" + ONE
"""The decimals 0 and 0.00 as keys."""

BAD = [
    ("int", "00", "bytes for int"),
    ("timestamp", "7fffffffffffffff", "beyond 64 bits of microseconds"),
    ("timestamp", "0020c49ba5e353f8", "beyond 64 bits of microseconds"),
    ("decimal", "00000013" "01", "does not fit"),
    ("decimal", "ffffffec" "01", "does not fit"),
    ("decimal", "80000000" "01", "does not fit"),
    ("decimal", "7fffffff" "01", "does not fit"),
    ("varint", "4b3b4ca85a86c47a098a224000000000", "does not fit 38 digits"),
    ("text", "ff", "not UTF-8"),
    ("text", "c1bf", "not UTF-8"),
    ("ascii", "80", "not ASCII"),
    ("frozen<map<int, int>>", "00000002" + ONE + TWO + ONE + TWO, "two keys of the same value"),
    ("frozen<map<boolean, int>>", "00000002" "00000001" "01" + ONE + "00000001" "02" + ONE, "two keys"),
    ("frozen<map<float, int>>", "00000002" "00000004" "00000000" + ONE + "00000004" "80000000" + ONE, "two keys"),
    ("frozen<map<decimal, int>>", ZEROS, "two keys"),
    ("frozen<map<int, int>>", "00000001" "00000000" + ONE, "null key"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "raw", "reason"), BAD)
def test_a_value_that_does_not_fit(text: str, raw: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        reader(parse_type(text, TYPES), "decimal")(bytes.fromhex(raw))


def test_numbers_without_bounds_are_text() -> None:
    assert reader(parse_type("decimal", {}), "string")(bytes.fromhex("ffffffec01")) == "1E+20"
    assert reader(parse_type("varint", {}), "string")(b"\x7f" + bytes(20)) == str(127 * 256**20)
    assert arrow_type(parse_type("decimal", {}), "string") == pa.string()
    assert value_json(parse_type("decimal", {}), "string")("1E+20") == '"1E+20"'


def test_two_decimals_of_one_value_are_two_keys_as_text() -> None:
    raw = bytes.fromhex("00000002000000050000000000" + ONE + "00000006000000020000" + ONE)
    assert reader(parse_type("frozen<map<decimal, int>>", {}), "string")(raw) == [("0", 1), ("0.00", 1)]


def test_elements_of_columns_that_are_not_frozen() -> None:
    one, two = b"\0\0\0\1", b"\0\0\0\2"

    def made(text: str, *cells: tuple[bytes, bytes]) -> Any:
        return elements_reader(parse_type(text, TYPES), "decimal")(cells)

    assert made("list<int>", (bytes(16), one), (bytes(16), two)) == [1, 2]
    assert made("set<int>", (one, b""), (two, b"")) == [1, 2]
    assert made("map<int, text>", (one, b"a"), (two, b"")) == [(1, "a"), (2, "")]
    assert made("point", (b"\0\1", two)) == {"x": None, "y": 2}
    assert made("list<int>") is None
    with pytest.raises(ValueError, match="field 2"):
        made("point", (b"\0\2", two))


def test_a_counter_is_the_sum_of_its_shards() -> None:
    read = reader(parse_type("counter", {}), "decimal")
    shard = bytes(16) + (7).to_bytes(8, "big")
    assert read(b"\0\0" + shard + (5).to_bytes(8, "big") + shard + (-7).to_bytes(8, "big", signed=True)) == -2
    with pytest.raises(ValueError, match="beyond 64 bits"):
        read(b"\0\0" + 2 * (shard + (2**63 - 1).to_bytes(8, "big")))
