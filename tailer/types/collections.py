"""The types made of other types: list, set, map, tuple, user-defined, vector. Knows no parser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from tailer.types import kinds
from tailer.types.cql import CqlType, Native, Nested, Shape
from tailer.types.cql_name import cql_name
from tailer.types.jsontext import EMPTY, ToJson, as_key, quote
from tailer.types.parts import collection_parts, dense_vector_parts, parts_of, vector_parts

_NULL_KEY: Final = '"null"'
_IN_KEYS: Final = (
    (kinds.TEXT, kinds.KEY_TEXT),
    (kinds.DECIMAL, kinds.KEY_DECIMAL),
    (kinds.INET, kinds.KEY_INET),
    (kinds.TIME, kinds.KEY_TIME),
)


def key_type(type_: CqlType) -> CqlType:
    """The type as that of a key: its texts, addresses and times, at any depth, are told apart by their bytes (see
    `texts`)."""
    for have, want in _IN_KEYS:
        type_ = _with_native(type_, have, want)
    return type_


def with_strict_keys(type_: CqlType) -> CqlType:
    """The type with keys, if any are in it, that are not delivered where their text is no UTF-8."""
    return _with_native(type_, kinds.KEY_TEXT, kinds.STRICT_KEY_TEXT)


@lru_cache(maxsize=4096)
def _with_native(type_: CqlType, have: Native, want: Native) -> CqlType:
    """The type with another row of the table of types in place of one; itself where it has none of it."""
    traits = type_.traits
    if isinstance(traits, Native):
        return _native_type(want) if traits is have else type_
    arguments = tuple(_with_native(argument, have, want) for argument in type_.arguments)
    if all(new is old for new, old in zip(arguments, type_.arguments, strict=True)):
        return type_
    json = _json_of(traits, arguments, type_)
    return replace(type_, json=json, key_json=as_key(json), arguments=arguments)


@lru_cache(maxsize=8)
def _native_type(native: Native) -> CqlType:
    return kinds.native_type(native)


def _json_of(traits: Nested, arguments: tuple[CqlType, ...], of: CqlType) -> ToJson:
    """The JSON of values of a type with other arguments."""
    elements = [argument.json for argument in arguments]
    if traits is kinds.MAP:
        return _map_json(arguments[0].key_json, elements[1])
    if traits is kinds.TUPLE:
        return _tuple_json(elements)
    if traits is kinds.UDT:
        return _udt_json(list(zip(of.names, elements, strict=True)))
    # Elements that are replaced have no fixed size.
    return _vector_json(elements[0], of.dimension) if traits is kinds.VECTOR else _array_json(elements[0])


def list_of(element: CqlType, *, frozen: bool) -> CqlType:
    """`list<element>`."""
    return _collection(kinds.LIST, f"list<{element.text}>", (element,), _array_json(element.json), frozen)


def set_of(element: CqlType, *, frozen: bool) -> CqlType:
    """`set<element>`."""
    element = key_type(element)
    return _collection(kinds.SET, f"set<{element.text}>", (element,), _array_json(element.json), frozen)


def map_of(key: CqlType, value: CqlType, *, frozen: bool) -> CqlType:
    """`map<key, value>`."""
    key = key_type(key)
    json = _map_json(key.key_json, value.json)
    return _collection(kinds.MAP, f"map<{key.text}, {value.text}>", (key, value), json, frozen)


def tuple_of(elements: Sequence[CqlType]) -> CqlType:
    """`tuple<…>`, which is always frozen."""
    text = f"frozen<tuple<{', '.join(element.text for element in elements)}>>"
    return _made(kinds.TUPLE, text, tuple(elements), _tuple_json([element.json for element in elements]))


def udt_of(name: str, fields: Sequence[tuple[str, CqlType]], *, frozen: bool) -> CqlType:
    """The user-defined type `name` (bare, as in `system_schema.types`)."""
    text = cql_name(name)
    json = _udt_json([(field, type_.json) for field, type_ in fields])
    made = _collection(kinds.UDT, text, tuple(type_ for _, type_ in fields), json, frozen)
    return replace(made, names=tuple(field for field, _ in fields))


def vector_of(element: CqlType, dimension: int) -> CqlType:
    """`vector<element, dimension>`, which is always frozen."""
    text = f"vector<{element.text}, {dimension}>"
    if element.fixed is None:
        made = _made(kinds.VECTOR, text, (element,), _vector_json(element.json, dimension))
    else:
        made = _made(kinds.VECTOR, text, (element,), _dense_vector_json(element.json, element.fixed, dimension))
        made = replace(made, fixed=element.fixed * dimension)
    return replace(made, dimension=dimension)


def _collection(traits: Nested, text: str, arguments: tuple[CqlType, ...], json: ToJson, frozen: bool) -> CqlType:
    if frozen:
        return _made(traits, f"frozen<{text}>", arguments, json)
    return replace(_made(traits, text, arguments, json), shape=traits.shape)


def _made(traits: Nested, text: str, arguments: tuple[CqlType, ...], json: ToJson) -> CqlType:
    key_depths = [argument.key_depth for argument in arguments]
    if traits.shape is Shape.MAP and arguments[0].depth > 1:
        key_depths[0] += 1
    return CqlType(
        text,
        traits,
        json,
        as_key(json),
        arguments=arguments,
        depth=1 + max((argument.depth for argument in arguments), default=0),
        key_depth=max(key_depths, default=0),
    )


def _array_json(element: ToJson) -> ToJson:
    def array_json(value: bytes) -> str:
        parts = ["null" if part is None else element(part) for part in collection_parts(value, 1)]
        return f"[{','.join(parts)}]"

    return array_json


def _map_json(key: ToJson, element: ToJson) -> ToJson:
    def map_json(value: bytes) -> str:
        parts = collection_parts(value, 2)
        entries = [
            f"{_NULL_KEY if name is None else key(name)}:{'null' if part is None else element(part)}"
            for name, part in zip(parts[::2], parts[1::2], strict=True)
        ]
        return f"{{{','.join(entries)}}}"

    return map_json


def _tuple_json(elements: Sequence[ToJson]) -> ToJson:
    texts = _field_texts(elements)

    def tuple_json(value: bytes) -> str:
        return f"[{','.join(texts(value))}]"

    return tuple_json


def _udt_json(fields: Sequence[tuple[str, ToJson]]) -> ToJson:
    names = [quote(name) + ":" for name, _ in fields]
    texts = _field_texts([json for _, json in fields])

    def udt_json(value: bytes) -> str:
        return f"{{{','.join(map(str.__add__, names, texts(value)))}}}"

    return udt_json


def _field_texts(fields: Sequence[ToJson]) -> Callable[[bytes], list[str]]:
    """The JSON of each field; fields missing at the end are null: the value is older than they are."""
    count = len(fields)

    def field_texts(value: bytes) -> list[str]:
        parts = parts_of(value, 0, count)
        texts = ["null" if part is None else json(part) for json, part in zip(fields, parts, strict=False)]
        return texts + ["null"] * (count - len(parts))

    return field_texts


def _vector_json(element: ToJson, dimension: int) -> ToJson:
    def vector_json(value: bytes) -> str:
        return f"[{','.join(map(element, vector_parts(value, dimension)))}]" if value else EMPTY

    return vector_json


def _dense_vector_json(element: ToJson, size: int, dimension: int) -> ToJson:
    def vector_json(value: bytes) -> str:
        return f"[{','.join(map(element, dense_vector_parts(value, size, dimension)))}]" if value else EMPTY

    return vector_json
