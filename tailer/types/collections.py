"""The types made of other types: list, set, map, tuple, user-defined, vector. Knows no parser.

A value's parts carry 32-bit lengths, below zero for null (format page, section 6); every length and count is checked
against the bytes that are there before it is used. A vector's parts carry none, or variable-length ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from struct import Struct
from typing import Final

from tailer.types.cql import CqlType, Shape, TypeKind
from tailer.types.jsontext import EMPTY, ToJson, as_key, quote, wrong_length
from tailer.types.vint import read_unsigned

_INT: Final = Struct(">i").unpack_from
_NULL_KEY: Final = '"null"'
_BARE_NAME: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def list_of(element: CqlType, *, frozen: bool) -> CqlType:
    """`list<element>`."""
    return _collection("list", Shape.LIST, f"list<{element.text}>", (element,), _array_json(element.json), frozen)


def set_of(element: CqlType, *, frozen: bool) -> CqlType:
    """`set<element>`."""
    return _collection("set", Shape.SET, f"set<{element.text}>", (element,), _array_json(element.json), frozen)


def map_of(key: CqlType, value: CqlType, *, frozen: bool) -> CqlType:
    """`map<key, value>`."""
    json = _map_json(key.key_json, value.json)
    return _collection("map", Shape.MAP, f"map<{key.text}, {value.text}>", (key, value), json, frozen)


def tuple_of(elements: Sequence[CqlType]) -> CqlType:
    """`tuple<…>`, which is always frozen."""
    text = f"frozen<tuple<{', '.join(element.text for element in elements)}>>"
    return _made("tuple", text, tuple(elements), _tuple_json([element.json for element in elements]))


def udt_of(name: str, fields: Sequence[tuple[str, CqlType]], *, frozen: bool) -> CqlType:
    """The user-defined type `name` (bare, as in `system_schema.types`)."""
    text = name if _BARE_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'
    json = _udt_json([(field, type_.json) for field, type_ in fields])
    made = _collection("udt", Shape.UDT, text, tuple(type_ for _, type_ in fields), json, frozen)
    return replace(made, names=tuple(field for field, _ in fields))


def vector_of(element: CqlType, dimension: int) -> CqlType:
    """`vector<element, dimension>`, which is always frozen."""
    text = f"vector<{element.text}, {dimension}>"
    if element.fixed is None:
        made = _made("vector", text, (element,), _vector_json(element.json, dimension))
    else:
        made = _made("vector", text, (element,), _dense_vector_json(element.json, element.fixed, dimension))
        made = replace(made, fixed=element.fixed * dimension)
    return replace(made, dimension=dimension)


def _collection(
    kind: TypeKind, shape: Shape, text: str, arguments: tuple[CqlType, ...], json: ToJson, frozen: bool
) -> CqlType:
    if frozen:
        return _made(kind, f"frozen<{text}>", arguments, json)
    return replace(_made(kind, text, arguments, json), shape=shape)


def _made(kind: TypeKind, text: str, arguments: tuple[CqlType, ...], json: ToJson) -> CqlType:
    key_depths = [argument.key_depth for argument in arguments]
    if kind == "map" and arguments[0].depth > 1:
        key_depths[0] += 1
    return CqlType(
        text,
        kind,
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


def vector_parts(value: bytes, dimension: int) -> list[bytes]:
    """The elements of a vector, each behind its length."""
    if dimension > len(value):
        raise ValueError(f"{len(value)} bytes for a vector of {dimension} elements")
    parts: list[bytes] = []
    at = 0
    for _ in range(dimension):
        size, start = read_unsigned(value, at)
        at = start + size
        if at > len(value):
            raise ValueError(f"an element of {size} bytes at byte {start} of a vector of {len(value)}")
        parts.append(value[start:at])
    if at != len(value):
        raise ValueError(f"{len(value)} bytes for a vector whose elements end at {at}")
    return parts


def dense_vector_parts(value: bytes, size: int, dimension: int) -> list[bytes]:
    """The elements of a vector whose elements have `size` bytes each."""
    if len(value) != size * dimension:
        raise wrong_length(value, "vector", str(size * dimension))
    return [value[at : at + size] for at in range(0, len(value), size)]


def collection_parts(value: bytes, each: int) -> list[bytes | None]:
    """The parts of a list, set (`each` 1) or map (`each` 2: key, value, key, …). Zero-length is empty."""
    if not value:
        return []
    if len(value) < 4:
        raise wrong_length(value, "a collection", "at least 4")
    count = max(_INT(value)[0], 0) * each
    if count * 4 > len(value) - 4:
        raise ValueError(f"a collection of {count} parts in {len(value)} bytes")
    parts = parts_of(value, 4, count)
    if len(parts) != count:
        raise ValueError(f"a collection of {count} parts that has {len(parts)}")
    return parts


def parts_of(value: bytes, at: int, most: int) -> list[bytes | None]:
    """The parts from `at` to the value's end, `most` at most; None where a part is null."""
    parts: list[bytes | None] = []
    end = len(value)
    while at < end:
        if len(parts) == most:
            raise ValueError(f"{end - at} bytes behind the last of {most} parts")
        start = at + 4
        if start > end:
            raise ValueError(f"the value ends at byte {end}, inside a length")
        size = _INT(value, at)[0]
        at = start + max(size, 0)
        if at > end:
            raise ValueError(f"a part of {size} bytes at byte {start} of {end}")
        parts.append(value[start:at] if size >= 0 else None)
    return parts
