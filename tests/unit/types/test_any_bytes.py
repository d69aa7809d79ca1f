"""Any bytes give JSON text or a ValueError, whatever the type."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import DefinitionError
from tailer.schema.model import TypeField
from tailer.types import parse_type
from tailer.types.kinds import NATIVES

TYPES = {"udt": (TypeField("a", "int"), TypeField("b", "frozen<list<text>>"), TypeField("c", "tuple<varint, udt2>")),
         "udt2": (TypeField("d", "map<decimal, duration>"),)}  # fmt: skip
COMPOSED = [
    "list<text>",
    "set<inet>",
    "map<double, text>",
    "map<frozen<map<frozen<list<text>>, int>>, int>",
    "tuple<int, counter, time>",
    "udt",
    "vector<float, 2>",
    "vector<text, 3>",
    "vector<udt2, 1>",
    "list<udt>",
    "'org.apache.cassandra.db.marshal.CompositeType(Int32Type)'",
]
# Small lengths and counts, so that bytes often parse for a while.
PIECES = st.one_of(
    st.binary(max_size=12),
    st.integers(-1, 9).map(lambda number: number.to_bytes(4, "big", signed=True)),
    st.sampled_from([b"\0\0\0\x04\0\0\0\1", b"\x01a", bytes(8), b"\xff" * 8]),
)
BYTES = st.lists(PIECES, max_size=8).map(b"".join)


@pytest.mark.parametrize("text", [*NATIVES, *COMPOSED])
@given(value=BYTES)
def test_any_bytes_give_json_or_a_value_error(text: str, value: bytes) -> None:
    parsed = parse_type(text, TYPES)
    for print_value in (parsed.json, parsed.key_json):
        printed = outcome(print_value, value)
        if isinstance(printed, ValueError):
            assert type(printed) is ValueError
            assert 0 < len(str(printed)) < 120
        else:
            printed.encode()
            # Numbers stay text: those of a varint can be longer than Python reads.
            json.loads(printed, parse_int=str, parse_float=str)
            assert print_value is parsed.json or printed.startswith('"')


def outcome(print_value: Callable[[bytes], str], value: bytes) -> str | ValueError:
    try:
        return print_value(value)
    except ValueError as error:
        return error


@given(text=st.text("intlsmapfroze<>,. '\"()=:1\n\0é", max_size=30))
def test_any_type_text_gives_a_type_or_a_definition_error(text: str) -> None:
    try:
        parsed = parse_type(text, TYPES)
    except DefinitionError:
        return
    assert parse_type(parsed.text, TYPES).text == parsed.text
