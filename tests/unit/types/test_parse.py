"""Type texts, as `system_schema` and DESCRIBE spell them and as people do."""

from __future__ import annotations

import pytest

from tailer.errors import DefinitionError
from tailer.schema.model import TypeField
from tailer.types import Shape, parse_type

JAVA = "org.apache.cassandra.db.marshal."
TYPES = {
    "addr": (TypeField("street", "text"), TypeField("loc", 'frozen<"My">')),
    "My": (TypeField("x", "int"),),
    "my": (TypeField("y", "int"),),
    "loop": (TypeField("again", "frozen<loop>"),),
}

TEXTS = [
    ("int", "int", 4, Shape.SIMPLE),
    ("VARCHAR", "text", None, Shape.SIMPLE),
    ("counter", "counter", None, Shape.COUNTER),
    ("empty", "empty", 0, Shape.SIMPLE),
    ("smallint", "smallint", None, Shape.SIMPLE),
    ("date", "date", None, Shape.SIMPLE),
    ("timestamp", "timestamp", 8, Shape.SIMPLE),
    ("list<int>", "list<int>", None, Shape.LIST),
    ("set<frozen<list<int>>>", "set<frozen<list<int>>>", None, Shape.SET),
    ("frozen<map<text,int>>", "frozen<map<text, int>>", None, Shape.SIMPLE),
    ("map<text, list<int>>", "map<text, frozen<list<int>>>", None, Shape.MAP),
    ("map<text, frozen<addr>>", "map<text, frozen<addr>>", None, Shape.MAP),
    ("addr", "addr", None, Shape.UDT),
    ("ADDR", "addr", None, Shape.UDT),
    ("ks.addr", "addr", None, Shape.UDT),
    ('"Ks"."My"', '"My"', None, Shape.UDT),
    ("frozen<my>", "frozen<my>", None, Shape.SIMPLE),
    ("tuple<int, text>", "frozen<tuple<int, text>>", None, Shape.SIMPLE),
    ("frozen<tuple<int, text>>", "frozen<tuple<int, text>>", None, Shape.SIMPLE),
    ("vector<float, 3>", "vector<float, 3>", 12, Shape.SIMPLE),
    ("vector<vector<boolean,2>,5>", "vector<vector<boolean, 2>, 5>", 10, Shape.SIMPLE),
    ("vector<smallint, 3>", "vector<smallint, 3>", None, Shape.SIMPLE),
    (f"'{JAVA}LexicalUUIDType'", "uuid", 16, Shape.SIMPLE),
    (f"'{JAVA}DateType'", "timestamp", 8, Shape.SIMPLE),
    (f"'{JAVA}ReversedType({JAVA}BytesType)'", "blob", None, Shape.SIMPLE),
    (f"'{JAVA}FrozenType({JAVA}ListType({JAVA}UTF8Type))'", "frozen<list<text>>", None, Shape.SIMPLE),
    (f"'{JAVA}MapType({JAVA}Int32Type,{JAVA}SetType({JAVA}Int32Type))'", "map<int, frozen<set<int>>>", None, Shape.MAP),
    (f"'{JAVA}TupleType({JAVA}Int32Type,{JAVA}ByteType)'", "frozen<tuple<int, tinyint>>", None, Shape.SIMPLE),
    (f"'{JAVA}VectorType({JAVA}FloatType , 2)'", "vector<float, 2>", 8, Shape.SIMPLE),
    (f"'{JAVA}UserType(ks,6d79,61:{JAVA}Int32Type)'", "my", None, Shape.UDT),
    (f"'{JAVA}FrozenType({JAVA}UserType(ks,4d79,61:{JAVA}Int32Type))'", 'frozen<"My">', None, Shape.SIMPLE),
    (f"'{JAVA}CompositeType({JAVA}Int32Type)'", f"'{JAVA}CompositeType({JAVA}Int32Type)'", None, Shape.SIMPLE),
    (f"list<'{JAVA}DynamicCompositeType(s=>UTF8Type)'>", f"list<'{JAVA}DynamicCompositeType(s=>UTF8Type)'>", None,
     Shape.LIST),
    ("'com.example.Own$Type'", "'com.example.Own$Type'", None, Shape.SIMPLE),
]  # fmt: skip


@pytest.mark.parametrize(("text", "canonical", "fixed", "shape"), TEXTS)
def test_texts_parse_to_their_type(text: str, canonical: str, fixed: int | None, shape: Shape) -> None:
    parsed = parse_type(text, TYPES)
    assert (parsed.text, parsed.fixed, parsed.shape) == (canonical, fixed, shape)
    assert parse_type(parsed.text, TYPES).text == canonical
    assert parsed.complex == (shape in (Shape.LIST, Shape.SET, Shape.MAP, Shape.UDT))


def test_the_parts_of_a_type_can_be_reached() -> None:
    parsed = parse_type("map<int, frozen<addr>>", TYPES)
    assert (parsed.key.text, parsed.value.kind) == ("int", "udt")
    assert [(name, field.text) for name, field in parsed.value.fields] == [("street", "text"), ("loc", 'frozen<"My">')]
    assert parse_type("list<text>", {}).element.text == "text"
    assert [element.text for element in parse_type("tuple<int, blob>", {}).elements] == ["int", "blob"]
    vector = parse_type("vector<float, 3>", {})
    assert (vector.element.text, vector.dimension) == ("float", 3)
    inline = parse_type("'UserType(ks,6d79,6162:Int32Type)'", {})
    assert [(name, field.text) for name, field in inline.fields] == [("ab", "int")]


def test_types_without_definitions_are_parsed_once() -> None:
    assert parse_type("frozen<list<int>>", {}) is parse_type("frozen<list<int>>", {})


BROKEN = [
    "", " ", "int>", "int int", "list<", "list<>", "list<int", "list<int,int>", "map<int>", "frozen<int,int>",
    "int<int>", "list", "tuple<>", "vector<int>", "vector<int, 0>", "vector<int, x>", "vector<int, 99999999999>",
    "vector<int, ²>", "vector<bigint, 2147483647>", "nope", '"addr', '""', "''", "'", "loop", "frozen<loop>", "<int>",
    "ks.", "int;",
    "'x('", "'x)'", "'x(,)'", "'UserType(ks)'", "'UserType(ks,zz)'", "'UserType(ks,6d,a:Int32Type)'",
    "'ReversedType()'", "'ListType()'", "'VectorType(Int32Type,Int32Type)'", "list<" * 65 + "int" + ">" * 65,
    "'" + "ListType(" * 70 + "Int32Type" + ")" * 70 + "'",
]  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_a_text_that_is_no_known_type_is_a_definition_error(text: str) -> None:
    with pytest.raises(DefinitionError) as failed:
        parse_type(text, TYPES)
    assert failed.value.remedy


def test_types_that_share_types_stay_small_and_chains_end() -> None:
    shared: dict[str, tuple[TypeField, ...]]
    shared = {f"t{n}": (TypeField("a", f"t{n + 1}"), TypeField("b", f"t{n + 1}")) for n in range(60)}
    shared["t60"] = (TypeField("x", "int"),)
    parsed = parse_type("t0", shared)
    assert parsed.depth == 62
    assert parsed.json(b"") == '{"a":null,"b":null}'
    chain = {f"t{n}": (TypeField("a", f"t{n + 1}"),) for n in range(5000)}
    with pytest.raises(DefinitionError):
        parse_type("t0", chain)


def test_maps_in_keys_of_maps_end_before_their_text_explodes() -> None:
    text = "frozen<map<int, int>>"
    for _ in range(8):
        text = f"frozen<map<{text}, int>>"
    parsed = parse_type(text, {})
    value = b""
    for _ in range(8):
        value = b"\0\0\0\1" + len(value).to_bytes(4, "big") + value + bytes(4)
    assert len(parsed.json(value)) < 2000
    with pytest.raises(DefinitionError):
        parse_type(f"frozen<map<{text}, int>>", {})
