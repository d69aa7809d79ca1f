"""Random values of every type, mostly such that print; and types. For hypothesis; written from the format page."""

from __future__ import annotations

import struct

from hypothesis import strategies as st

from tailer.types import CqlType
from tests.helpers.logs.wire import uvint
from tests.helpers.odd_texts import BYTES, MARKED

LETTERS = 'abc "\\\n\r\t\b\f\x00\x01\x1f\x7f/äß€\u2028\U0001f600'
FIXED = {
    "bigint": 8, "int": 4, "smallint": 2, "tinyint": 1, "boolean": 1, "date": 4, "time": 8, "timestamp": 8, "uuid": 16,
    "timeuuid": 16, "double": 8, "float": 4, "empty": 0,
}  # fmt: skip
ODD_TEXTS = st.sampled_from([*BYTES, MARKED])
SCALARS = (*FIXED, "ascii", "blob", "decimal", "duration", "inet", "text", "varint")
COMPOSED = (
    "frozen<list<int>>", "frozen<set<text>>", "frozen<map<text, double>>", "frozen<map<boolean, frozen<list<float>>>>",
    "frozen<map<frozen<list<int>>, inet>>", "frozen<map<frozen<list<text>>, int>>", "tuple<int, text, date>",
    "vector<float, 3>", "vector<text, 2>", "vector<boolean, 70>", "frozen<point>", "frozen<list<frozen<point>>>",
    "'org.apache.cassandra.db.marshal.CompositeType(Int32Type)'",
)  # fmt: skip
MULTI = (
    "list<text>",
    "set<int>",
    "set<text>",
    "map<text, int>",
    "map<int, frozen<list<text>>>",
    "map<float, blob>",
    "point",
)

DOUBLES = st.one_of(
    st.floats(),
    st.integers(-(10**18), 10**18).map(float),
    st.builds(lambda n, places: round(n, places), st.floats(-1e6, 1e6), st.integers(0, 6)),
    st.integers(-1074, 1023).map(lambda power: 2.0**power),
    st.integers(-323, 308).map(lambda power: float(f"1e{power}")),
)
FLOATS = st.one_of(
    st.floats(width=32),
    st.integers(-149, 127).map(lambda power: 2.0**power),
    st.integers(-45, 38).map(lambda power: struct.unpack(">f", struct.pack(">f", float(f"1e{power}")))[0]),
)


def values_of(type_: CqlType) -> st.SearchStrategy[bytes]:
    """Bytes that are a value of the type; now and then some that are none, or none at all."""
    good = _good(type_)
    return st.integers(0, 19).flatmap(lambda die: st.binary(max_size=20) if die == 0 else good)


def _good(type_: CqlType) -> st.SearchStrategy[bytes]:
    kind = type_.kind
    if kind == "double":
        return DOUBLES.map(lambda number: struct.pack(">d", number))
    if kind == "float":
        return FLOATS.map(lambda number: struct.pack(">f", number))
    if kind in FIXED:
        size = FIXED[kind]
        small = st.integers(-1000, 1000).map(lambda number: (number % 256**size).to_bytes(size, "big"))
        return small | st.binary(min_size=size, max_size=size)
    if kind in ("text", "ascii"):
        letters = LETTERS if kind == "text" else "".join(filter(str.isascii, LETTERS))
        made = st.text(st.sampled_from(letters), max_size=12).map(str.encode)
        return made | ODD_TEXTS if kind == "text" else made
    if kind == "varint":
        return st.binary(max_size=10)
    if kind == "decimal":
        scales = st.integers(-8, 30) | st.integers(-(2**31), 2**31 - 1)
        return st.builds(lambda scale, rest: struct.pack(">i", scale) + rest, scales, st.binary(min_size=1, max_size=9))
    if kind == "inet":
        mapped = st.binary(min_size=4, max_size=4).map(lambda last: bytes(10) + b"\xff\xff" + last)
        return st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16) | mapped
    if kind == "duration":
        return st.builds(_duration, st.booleans(), *[st.integers(0, top) for top in (2**31 - 1, 2**31 - 1, 2**63 - 1)])
    return _composed(type_)


def _duration(negative: bool, *parts: int) -> bytes:
    return b"".join(uvint(2 * part - 1 if negative and part else 2 * part) for part in parts)


def _composed(type_: CqlType) -> st.SearchStrategy[bytes]:
    kind = type_.kind
    if kind in ("list", "set", "map"):
        each = st.tuples(*map(_part, type_.arguments)).map(b"".join)
        return st.lists(each, max_size=3).map(lambda parts: struct.pack(">i", len(parts)) + b"".join(parts))
    if kind in ("tuple", "udt"):
        whole = st.tuples(*map(_part, type_.arguments))
        return st.builds(lambda parts, count: b"".join(parts[:count]), whole, st.integers(0, len(type_.arguments)))
    if kind == "vector":
        element = values_of(type_.element) if type_.element.fixed is None else _good(type_.element)
        counted = type_.element.fixed is None
        parts = st.lists(element, min_size=type_.dimension, max_size=type_.dimension)
        return parts.map(lambda found: b"".join(uvint(len(part)) + part if counted else part for part in found))
    return st.binary(max_size=20)


def _part(type_: CqlType) -> st.SearchStrategy[bytes]:
    null = st.just(struct.pack(">i", -1))
    part = values_of(type_).map(lambda value: struct.pack(">i", len(value)) + value)
    return st.integers(0, 9).flatmap(lambda die: null if die == 0 else part)
