"""Values as JSON and back to bytes: every value of the recorded logs gives the bytes that the server logged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.rebuild import Table
from tailer.schema.model import TypeField
from tailer.types import CqlType, parse_type
from tailer.types.encode import encoder, key_encoder
from tailer.types.integers import varint_bytes
from tailer.types.kinds import NATIVES
from tailer.types.read_json import read_json
from tailer.types.vint import read_signed, read_unsigned, write_signed, write_unsigned
from tests.helpers.rebuilt import recorded

TYPES = {"udt": (TypeField("a", "int"), TypeField("b", "frozen<list<text>>"), TypeField("c", "tuple<varint, udt2>")),
         "udt2": (TypeField("d", "map<decimal, duration>"),)}  # fmt: skip
COMPOSED = [
    "list<text>", "set<inet>", "map<double, text>", "map<frozen<map<frozen<list<text>>, int>>, int>", "list<udt>",
    "tuple<int, boolean, timestamp>", "udt", "vector<float, 2>", "vector<text, 3>", "map<boolean, date>",
    "'org.apache.cassandra.db.marshal.CompositeType(Int32Type)'",
]  # fmt: skip
PIECES = st.one_of(
    st.binary(max_size=16),
    st.integers(0, 9).map(lambda number: number.to_bytes(4, "big")),
    st.sampled_from([b"\0\0\0\x04\0\0\0\1", b"\x01a", bytes(8), b"\xff" * 8]),
)
BYTES = st.lists(PIECES, max_size=8).map(b"".join)


def values(set_dir: Path, tables: dict[str, Table]) -> Iterator[tuple[CqlType, bytes, bool]]:
    """Type and bytes of every value that the server's view of a log shows; whether it stands as a map's key."""
    for file in sorted(set_dir.glob("expected/*.jsonl")):
        for line in file.read_bytes().splitlines():
            for update in json.loads(line)["updates"]:
                table = tables.get(update["id"].replace("-", ""))
                if table is not None and "counter" not in str(table.definition.columns):
                    yield from _values_of(update, table)


def _values_of(update: dict[str, Any], table: Table) -> Iterator[tuple[CqlType, bytes, bool]]:
    definition = table.definition
    clustering = [parse_type(column.type, definition.types) for column in definition.clustering]
    columns = {c.name: parse_type(c.type, definition.types) for c in definition.data_columns if not c.dropped}
    rows = [*update["unfiltereds"], *([update["static"]] if "static" in update else [])]
    for row in rows:
        for type_, text in zip(clustering, row.get("clustering_hex") or (), strict=False):
            if text is not None:
                yield type_, bytes.fromhex(text), False
        for cell in row.get("cells", ()):
            type_ = columns.get(cell["column"])
            if type_ is None:
                continue
            if type_.shape.value in ("set", "map"):
                yield type_.arguments[0], bytes.fromhex(cell["path"]), type_.kind == "map"
            if not cell["tombstone"] and type_.kind != "set":
                yield _cell_type(type_, cell), bytes.fromhex(cell["hex"]), False


def _cell_type(type_: CqlType, cell: dict[str, Any]) -> CqlType:
    if not type_.complex:
        return type_
    return type_.arguments[int(cell["path"], 16)] if type_.kind == "udt" else type_.arguments[-1]


def same_text(type_: CqlType, value: bytes, key: bool) -> bytes:
    """The bytes made of the value's own text."""
    if key:
        return key_encoder(type_)(read_json(type_.key_json(value)))
    return encoder(type_)(read_json(type_.json(value)))


def is_cut(type_: CqlType, value: bytes, made: bytes) -> bool:
    """Whether a value ends before its last fields, for which `made` has nulls."""
    return type_.kind in ("tuple", "udt") and made.startswith(value) and set(made[len(value) :]) == {0xFF}


@pytest.mark.parametrize("name", ["50-cases-v8", "50-cases", "41-cases", "40-cases", "50-zstd", "40-aes"])
def test_recorded_values_come_back_byte_for_byte(name: str, sets_root: Path) -> None:
    kinds: Counter[str] = Counter()
    other: dict[str, str] = {}
    for type_, value, key in values(sets_root / name, recorded(name, sets_root).tables):
        kinds[type_.kind] += 1
        made = same_text(type_, value, key)
        if made != value and not is_cut(type_, value, made):
            other[f"{type_.text} {type_.json(value)}"] = f"{value.hex()} {made.hex()}"
    assert other == {}
    assert len(kinds) > 15 if "cases" in name else kinds


@pytest.mark.parametrize("text", [*(name for name in NATIVES if name != "counter"), *COMPOSED])
@given(value=BYTES)
def test_what_is_printed_is_read_back(text: str, value: bytes) -> None:
    """Any bytes that print: the bytes made of their text print the same."""
    type_ = parse_type(text, TYPES)
    try:
        printed, as_key = type_.json(value), type_.key_json(value)
    except ValueError:
        return
    if (text == "time" and value >= b"\x80") or "null" in as_key:
        # Times below zero print as no time; a null key prints as the text does.
        return
    assert type_.json(encoder(type_)(read_json(printed))) == printed
    assert type_.key_json(key_encoder(type_)(read_json(as_key))) == as_key


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@given(data=st.data())
def test_fixed_width_values_come_back(width: int, data: st.DataObject) -> None:
    value = data.draw(st.binary(min_size=width, max_size=width))
    names = {1: ["tinyint"], 2: ["smallint"], 4: ["int", "float", "date"], 8: ["bigint", "double", "timestamp"]}
    for name in names.get(width, ["uuid"]):
        type_ = parse_type(name, {})
        if "NaN" not in type_.json(value):
            assert encoder(type_)(read_json(type_.json(value))) == value


@pytest.mark.parametrize(
    ("text", "json", "value"),
    [
        ("int", "7", "00000007"),
        ("int", '""', ""),
        ("varint", "128", "0080"),
        ("varint", "-1", "ff"),
        ("decimal", "1E+3", "fffffffd01"),
        ("decimal", "0.00", "0000000200"),
        ("decimal", "-1.10", "0000000292"),
        ("boolean", "true", "01"),
        ("float", '"NaN"', "7fc00000"),
        ("double", "-0.0", "8000000000000000"),
        ("double", '"-Infinity"', "fff0000000000000"),
        ("inet", '"127.0.0.1"', "7f000001"),
        ("inet", '"2001:db8:0:0:0:0:0:1"', "20010db8000000000000000000000001"),
        ("date", '"1970-01-01"', "80000000"),
        ("date", '"-5877641-06-23"', "00000000"),
        ("date", '"+5881580-07-11"', "ffffffff"),
        ("time", '"01:00:00.000000001"', "0000034630b8a001"),
        ("timestamp", '"1969-12-31 23:59:59.999Z"', "ffffffffffffffff"),
        ("duration", '"-1mo2d3ns"', "010305"),
        ("duration", '"0s"', "000000"),
        ("blob", '"0x"', ""),
        ("list<int>", "[1,null]", "000000020000000400000001ffffffff"),
        ("map<int, text>", '{"1":"x"}', "0000000100000004000000010000000178"),
        ("tuple<int, text>", "[1,null]", "0000000400000001ffffffff"),
        ("vector<text, 2>", '["a",""]', "016100"),
    ],
)
def test_texts_of_the_server_give_its_bytes(text: str, json: str, value: str) -> None:
    assert encoder(parse_type(text, {}))(read_json(json)).hex() == value


@pytest.mark.parametrize(
    ("text", "json"),
    [
        ("int", '"x"'), ("int", "2147483648"), ("int", "1.5"), ("int", "[1]"), ("text", "true"), ("uuid", '"12"'),
        ("blob", '"ff"'), ("inet", '"1:2"'), ("inet", '"1.2.3.999"'), ("date", '"today"'), ("time", '"1:00"'),
        ("timestamp", '"2020-01-01"'), ("duration", '"1x"'), ("decimal", '"NaN"'), ("float", "1E39"),
        ("list<int>", "1"), ("map<int, int>", "[]"), ("tuple<int>", "[1,2]"), ("vector<int, 2>", "[1]"),
        ("empty", '"x"'),
    ],
)  # fmt: skip
def test_what_is_none_of_the_type_is_refused(text: str, json: str) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        encoder(parse_type(text, {}))(read_json(json))


@given(st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1))
def test_variable_length_integers_come_back(unsigned: int, signed: int) -> None:
    written = write_unsigned(unsigned)
    assert read_unsigned(written, 0) == (unsigned, len(written))
    written = write_signed(signed)
    assert read_signed(written, 0) == (signed, len(written))


@given(st.integers())
def test_varints_are_as_short_as_can_be(number: int) -> None:
    made = varint_bytes(number)
    assert int.from_bytes(made, "big", signed=True) == number
    assert len(made) == 1 or not -(1 << 8 * len(made) - 9) <= number < 1 << 8 * len(made) - 9


def test_a_float_text_half_way_between_two_floats_is_read_exactly() -> None:
    """As a double it is rounded to the very middle, from where the even one would be taken."""
    middle = 1 + 2.0**-24
    above, below = f"{middle:.55f}1", "1.0000000596046447753906249999999999999"
    assert encoder(parse_type("float", {}))(above).hex() == "3f800001"
    assert encoder(parse_type("float", {}))(below).hex() == "3f800000"
