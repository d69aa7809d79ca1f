"""JSON of the types made of other types; expected texts are the server's, but for the deviations that are meant."""

from __future__ import annotations

import pytest

from tailer.schema.model import TypeField
from tailer.types import CqlType, parse_type

TYPES = {
    "point": (TypeField("x", "int"), TypeField("y", "int")),
    "My Type": (TypeField('a "b"', "text"), TypeField("été", "frozen<point>"), TypeField("l", "list<int>")),
}
ONE, TWO, NULL = "00000004" "00000001", "00000004" "00000002", "ffffffff"  # fmt: skip


def of(text: str) -> CqlType:
    return parse_type(text, TYPES)


CASES = [
    ("list<int>", "00000002" + ONE + TWO, "[1,2]"),
    ("frozen<list<int>>", "00000000", "[]"),
    ("frozen<list<int>>", "", "[]"),
    ("frozen<list<int>>", "ffffffff", "[]"),
    ("frozen<list<int>>", "00000002" + NULL + TWO, "[null,2]"),
    ("frozen<set<int>>", "00000001" + "00000000", '[""]'),
    ("frozen<set<text>>", "", "[]"),
    ("frozen<map<text, int>>", "", "{}"),
    ("frozen<map<text, int>>", "00000001" + "0000000122" + ONE, '{"\\"":1}'),
    ("frozen<map<int, int>>", "00000002" + ONE + TWO + "00000000" + NULL, '{"1":2,"":null}'),
    ("frozen<map<int, int>>", "00000001" + NULL + ONE, '{"null":1}'),
    ("frozen<map<boolean, int>>", "00000001" + "0000000101" + ONE, '{"true":1}'),
    ("frozen<map<float, float>>", "00000001" + "000000047fc00000" * 2, '{"NaN":"NaN"}'),
    ("frozen<map<decimal, int>>", "00000001" + "000000050000000201" + ONE, '{"0.01":1}'),
    ("frozen<map<frozen<tuple<int, text>>, int>>", "00000001" + "0000000d" + ONE + "0000000178" + ONE,
     '{"[1,\\"x\\"]":1}'),
    ("map<vector<float, 2>, int>", "00000001" + "000000083f80000040000000" + ONE, '{"[1.0,2.0]":1}'),
    ("tuple<int, text>", ONE + NULL, "[1,null]"),
    ("tuple<int, text>", ONE, "[1,null]"),
    ("tuple<int, text>", "", "[null,null]"),
    ("tuple<int, text>", "00000000" + "00000000", '["",""]'),
    ("tuple<frozen<tuple<int>>>", "00000000", "[[null]]"),
    ("point", ONE + TWO, '{"x":1,"y":2}'),
    ("frozen<point>", ONE, '{"x":1,"y":null}'),
    ("frozen<point>", "", '{"x":null,"y":null}'),
    ('frozen<"My Type">', "0000000161" + "00000008" + ONE + "00000000",
     '{"a \\"b\\"":"a","été":{"x":1,"y":null},"l":[]}'),
    ("vector<float, 2>", "3f800000" + "7fc00000", '[1.0,"NaN"]'),
    ("vector<text, 2>", "0161" + "00", '["a",""]'),
    ("vector<smallint, 2>", "020001" + "02ffff", "[1,-1]"),
    ("vector<vector<float, 1>, 2>", "3f800000" + "40000000", "[[1.0],[2.0]]"),
    ("vector<text, 1>", "8080" + "61" * 128, f'["{"a" * 128}"]'),
    ("vector<float, 2>", "", '""'),
    ("vector<text, 2>", "", '""'),
    ("'org.apache.cassandra.db.marshal.CompositeType(Int32Type,UTF8Type)'", "00ff", '"0x00ff"'),
    ("'org.example.Own'", "ab", '"0xab"'),
    ("'org.example.Own'", "", '""'),
    ("'LexicalUUIDType'", "00" * 15 + "01", '"00000000-0000-0000-0000-000000000001"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found", "expected"), CASES)
def test_values_print_as_the_server_prints_them_without_spaces(text: str, found: str, expected: str) -> None:
    assert of(text).json(bytes.fromhex(found)) == expected


WRONG = [
    ("list<int>", "000000"),
    ("list<int>", "7fffffff"),
    ("list<int>", "00000002" + ONE),
    ("list<int>", "00000001" + ONE + "00"),
    ("list<int>", "00000001" + "7fffffff01"),
    ("list<int>", "00000001" + "0000000101"),
    ("map<int, int>", "40000000"),
    ("map<int, int>", "00000001" + ONE),
    ("tuple<int, text>", ONE + NULL + NULL),
    ("tuple<int, text>", "0000"),
    ("frozen<point>", ONE + "0000000401"),
    ("frozen<point>", ONE + TWO + ONE),
    ("vector<float, 2>", "3f800000"),
    ("vector<text, 2>", "0161"),
    ("vector<text, 2>", "0161" + "0162" + "00"),
    ("vector<text, 2>", "0161" + "0562"),
    ("vector<text, 2147483647>", "00" * 8),
    ("vector<text, 1>", "ff"),
]


@pytest.mark.parametrize(("text", "found"), WRONG)
def test_lengths_and_counts_that_do_not_fit_are_a_value_error(text: str, found: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        of(text).json(bytes.fromhex(found))


KEYS = [
    ("int", "00000001", '"1"'),
    ("text", "22", '"\\""'),
    ("double", "7ff0000000000000", '"Infinity"'),
    ("frozen<list<text>>", "00000001" + "000000011f", '"[\\"\\\\u001F\\"]"'),
    ("frozen<point>", "", '"{\\"x\\":null,\\"y\\":null}"'),
    ("uuid", "00" * 16, '"00000000-0000-0000-0000-000000000000"'),
]


@pytest.mark.parametrize(("text", "found", "expected"), KEYS)
def test_a_map_key_is_its_string_or_its_json_in_quotes(text: str, found: str, expected: str) -> None:
    assert of(text).key_json(bytes.fromhex(found)) == expected


def test_a_counter_prints_its_shards() -> None:
    ids = [bytes([number]) * 16 for number in (1, 2, 3)]
    context = bytes.fromhex("0002" + "8000" + "0001") + b"".join(
        id + clock.to_bytes(8, "big") + total.to_bytes(8, "big", signed=True)
        for id, clock, total in zip(ids, (7, 8, 9), (-5, 6, 2**62), strict=True)
    )
    assert of("counter").json(context) == (
        f'[{{"shard":"{ids[0].hex()[:8]}-0101-0101-0101-010101010101","kind":"global","clock":7,"total":-5}},'
        f'{{"shard":"{ids[1].hex()[:8]}-0202-0202-0202-020202020202","kind":"local","clock":8,"total":6}},'
        f'{{"shard":"{ids[2].hex()[:8]}-0303-0303-0303-030303030303","kind":"remote","clock":9,"total":{2**62}}}]'
    )


@pytest.mark.parametrize("found", ["00", "0001", "00018000", "00018000" + "00" * 31, "00018001" + "00" * 32])
def test_a_counter_context_that_does_not_add_up_is_a_value_error(found: str) -> None:
    with pytest.raises(ValueError, match="counter"):
        of("counter").json(bytes.fromhex(found))


def test_a_negative_count_of_header_elements_counts_them_all_the_same() -> None:
    text = of("counter").json(bytes.fromhex("ffff" + "8000") + bytes(16) + bytes(7) + b"\1" + bytes(7) + b"\2")
    assert text.endswith('"kind":"global","clock":1,"total":2}]')
