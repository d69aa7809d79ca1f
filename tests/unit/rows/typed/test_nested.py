"""Columns of nested types: the compiled cut into parts gives the values that the plain reader gives, or leaves them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.rows.typed.form import FormColumn, form_of
from tailer.schema.model import Column as TableColumn
from tailer.schema.model import TableDefinition, TypeField
from tailer.schema.typed import TypedOptions, typed_table
from tests.unit.rows.typed.generated import TYPES, frozen_types, kind_of, values
from tests.unit.rows.typed.reading import plain_values

nested = pytest.importorskip("tailer.rows.typed.compiled.nested", exc_type=ImportError)
columns = pytest.importorskip("tailer.rows.typed.columns", exc_type=ImportError)


def column_of(text: str, decimals: Literal["decimal", "string"] = "decimal") -> FormColumn:
    types = {name: tuple(TypeField(*field) for field in fields) for name, fields in TYPES}
    own = (TableColumn("k", "partition_key", "int", 0), TableColumn("v", "regular", text, -1))
    definition = TableDefinition("11" * 16, "ks", "t", own, cdc=True, types=types)
    return form_of(typed_table(definition, [], TypedOptions(decimals=decimals))).columns[1]


def compiled(column: FormColumn, held: Sequence[bytes | None]) -> tuple[pa.Array, list[bool]]:
    """The array, and which rows are left."""
    data = b"--" + b"".join(value or b"" for value in held) + bytes(16)
    lengths = [-1 if value is None else len(value) for value in held]
    places = nested.no_places(len(held))
    places.off[:] = 2 + np.cumsum([0, *(max(length, 0) for length in lengths)])[:-1]
    places.length[:] = lengths
    source = columns.Source(data, np.frombuffer(data, np.uint8).__array_interface__["data"][0])
    return nested.column_array(column, source, places), places.bad.astype(bool).tolist()


def read(column: FormColumn, value: bytes | None) -> tuple[Any, bool]:
    """The value, and whether it is none of its type."""
    try:
        return (None if value is None else column.read(value)), False
    except ValueError:
        return None, True


def check(column: FormColumn, held: Sequence[bytes | None]) -> list[bool]:
    """Both give the same but for rows that are left; all that are no values are left."""
    array, left = compiled(column, held)
    array.validate()
    assert len(array) == len(held)
    want = [read(column, value) for value in held]
    assert all(is_left for (_, fault), is_left in zip(want, left, strict=True) if fault)
    kept = pa.array([number for number, is_left in enumerate(left) if not is_left], pa.int64())
    have = array.take(kept)
    have.validate(full=True)
    wanted = pa.array([want[number][0] for number in kept.to_pylist()], column.arrow)
    if not have.equals(wanted):
        assert repr(plain_values(have)) == repr(plain_values(wanted))
    return left


def damaged(value: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """With other bytes, fewer or more."""

    def change(drawn: tuple[bytes, int, bytes, int]) -> bytes:
        held, at, other, gone = drawn
        at %= len(held) + 1
        return held[:at] + other + held[at + gone :]

    other = st.sampled_from([b"", b"\0", b"\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\1", b"\x7f\xff\xff\xff"])
    return st.tuples(value, st.integers(0, 400), other, st.integers(0, 5)).map(change)


@given(frozen_types, st.sampled_from(["decimal", "string"]), st.data())
def test_values_of_random_types(text: str, decimals: Literal["decimal", "string"], data: st.DataObject) -> None:
    good = values(kind_of(text))
    held = data.draw(st.lists(st.one_of(good, good, damaged(good), st.none()), max_size=6))
    check(column_of(text, decimals), held)


def collection(*parts: bytes | None, count: int | None = None) -> bytes:
    sizes = [b"\xff\xff\xff\xff" if part is None else struct.pack(">i", len(part)) + part for part in parts]
    return struct.pack(">i", len(parts) if count is None else count) + b"".join(sizes)


def i32(number: int) -> bytes:
    return struct.pack(">i", number)


def pairs(keys: Sequence[bytes | None], value: bytes = b"\0\0\0\1") -> bytes:
    return collection(*(part for key in keys for part in (key, value)), count=len(keys))


@pytest.mark.parametrize(
    ("text", "held", "left"),
    [
        ("frozen<list<int>>", collection(i32(1), None, b"", i32(-2)), False),
        ("frozen<list<int>>", collection(), False),
        ("frozen<list<int>>", collection(count=-3), False),
        ("frozen<list<int>>", collection(count=-3) + b"\0", True),
        ("frozen<list<int>>", b"\0\0\0", True),
        ("frozen<list<int>>", b"", False),
        ("frozen<list<int>>", collection(i32(1), count=2), True),
        ("frozen<list<int>>", collection(i32(1), i32(2), count=1), True),
        ("frozen<list<int>>", collection(b"\0\0\0"), True),
        ("frozen<list<blob>>", b"\0\0\0\1" + b"\0\0\0\5abcd", True),
        ("frozen<list<text>>", collection(b"a", b"\xff", b"c"), True),
        ("frozen<list<ascii>>", collection(b"a", "é".encode()), True),
        ("frozen<list<text>>", collection(b"", None, "é".encode()), False),
        ("frozen<map<int, int>>", pairs([i32(number) for number in range(-40, 40)]), False),
        ("frozen<map<int, int>>", pairs([i32(2), i32(1)]), False),
        ("frozen<map<int, int>>", pairs([i32(2), i32(1), i32(2)]), True),
        ("frozen<map<int, int>>", pairs([i32(1), i32(1)]), True),
        ("frozen<map<int, int>>", pairs([None]), True),
        ("frozen<map<int, int>>", pairs([b""]), True),
        ("frozen<map<text, int>>", pairs([b"", b"a", b"aa", b"b"]), False),
        ("frozen<map<text, int>>", pairs([b"b", b"a", b"b"]), True),
        ("frozen<map<text, int>>", pairs([b"%05d" % number for number in range(100)]), False),
        ("frozen<map<text, int>>", pairs([b"%05d" % number for number in range(100)] + [b"0"]), False),
        ("frozen<map<text, int>>", pairs([b"%05d" % number for number in range(100)] + [b"00041"]), True),
        ("frozen<map<text, int>>", pairs([b"%d" % (number * 37 % 3000) for number in range(3000)]), False),
        ("frozen<map<int, int>>", pairs([i32(-number) for number in range(33)]), False),
        ("frozen<map<int, int>>", pairs([i32(-number % 33) for number in range(34)]), True),
        ("frozen<map<blob, int>>", pairs([bytes(40 - number) for number in range(41)]), False),
        ("frozen<map<double, int>>", pairs([struct.pack(">d", 0.0), struct.pack(">d", -0.0)]), True),
        ("frozen<map<boolean, int>>", pairs([b"\1", b"\2"]), True),
        ("frozen<map<frozen<map<int, int>>, int>>", pairs([pairs([i32(1)]), pairs([i32(1)])]), False),
        ("frozen<tuple<int, text>>", collection(i32(1), b"a")[4:], False),
        ("frozen<tuple<int, text>>", collection(i32(1))[4:], False),
        ("frozen<tuple<int, text>>", collection(None, None)[4:], False),
        ("frozen<tuple<int, text>>", collection(i32(1), b"a", b"b")[4:], True),
        ("frozen<tuple<int, text>>", collection(b"\0", b"a")[4:], True),
        ("frozen<point>", collection(i32(1), b"a")[4:] + b"\0", True),
        ("frozen<point>", b"\0\0\0\4\0\0", True),
        ("vector<int, 2>", i32(1) + i32(2), False),
        ("vector<int, 2>", i32(1), True),
        ("vector<text, 2>", b"\1a\0", False),
        ("vector<text, 2>", b"\1a\1", True),
        ("vector<text, 2>", b"\1a\0\0", True),
        ("vector<text, 2>", b"\1", True),
        ("vector<text, 2>", b"\xff" * 9 + b"a", True),
    ],
)
def test_values_by_hand(text: str, held: bytes, left: bool) -> None:
    around = collection(i32(5)) if "list<int" in text else None
    assert check(column_of(text), [around, held, None, held]) == [False, left, False, left]
