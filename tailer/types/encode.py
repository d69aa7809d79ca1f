"""The inverse of a value's JSON text: what a change row prints, back to the bytes that the log has.

    encoder(parse_type("map<int, text>", {}))(read_json('{"1":"x"}'))   ->   the map's bytes

The text is one to one with the bytes but for what prints alike; there the usual bytes are made:
* not-a-number of any payload, and a boolean of any byte but zero;
* an IPv4 address mapped into IPv6 (16 bytes), which prints as IPv4 (4 bytes);
* a varint, or a decimal's unscaled number, with more leading bytes than it needs;
* a frozen UDT or tuple that ends before its last fields (older than they are): nulls are written for them;
* a frozen collection of no bytes at all, and a negative time, or one beyond a day;
* a text that is no key and no UTF-8 (see `texts`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tailer.types import forms
from tailer.types.cql import CqlType, FromJson, Native, Nested
from tailer.types.parts import collection_bytes, framed, vector_bytes
from tailer.types.read_json import read_json
from tailer.types.scalars import parse_uuid
from tailer.types.texts import counted_replacements, may_be_odd, text_value


def encoder(type_: CqlType) -> FromJson:
    """The bytes of a value of the type. The empty string is the zero-length value of every type."""
    traits = type_.traits
    if isinstance(traits, Nested):
        return traits.encoder(type_)
    kind, parse, pack, is_boolean = traits.name, traits.parse, traits.pack, traits.form == forms.BOOLEAN

    def encode_scalar(value: Any) -> bytes:
        if isinstance(value, str):
            try:
                return pack(parse(value)) if value else b""
            except struct.error as error:
                raise ValueError(f"{value:.80}: {error}") from None
        if is_boolean and isinstance(value, bool):
            return pack(value)
        raise ValueError(f"{value!r:.80} is no JSON of a {kind}")

    return encode_scalar


def usual_bytes(type_: CqlType, replaced: Callable[[], None] = lambda: None) -> Callable[[bytes], bytes]:
    """A value's bytes as its change row gives them again, where it has a text that is no UTF-8; else as they are.

    `replaced` is called for each value in which a U+FFFD takes the place of what is no character.
    """
    if not _has_text(type_):
        return bytes
    encode, json = encoder(type_), type_.json

    def again(value: bytes) -> bytes:
        with counted_replacements() as count:
            text = json(value)
        if count():
            replaced()
        return encode(read_json(text))

    return lambda value: again(value) if may_be_odd(value) else value


def _has_text(type_: CqlType) -> bool:
    """Whether it is, or has in it, a text that is no key."""
    traits = type_.traits
    return traits.read is text_value if isinstance(traits, Native) else any(map(_has_text, type_.arguments))


def key_encoder(type_: CqlType) -> FromJson:
    """The bytes of a map's key from the string that stands for it in a JSON object."""
    encode = encoder(type_)
    if isinstance(type_.traits, Nested):
        return lambda text: encode(read_json(text)) if text else b""
    if type_.traits.form == forms.BOOLEAN:
        return lambda text: encode({"true": True, "false": False}.get(text, text))
    return encode


def array_encoder(type_: CqlType) -> FromJson:
    """Of a list or set."""
    encode = encoder(type_.element)

    def encode_array(value: Any) -> bytes:
        parts = [None if part is None else encode(part) for part in _list(value, type_)]
        return collection_bytes(parts, 1)

    return encode_array


def vector_encoder(type_: CqlType) -> FromJson:
    """Of a vector."""
    encode, fixed = encoder(type_.element), type_.element.fixed

    def encode_vector(value: Any) -> bytes:
        if value == "":
            return b""
        parts = list(map(encode, _list(value, type_)))
        if len(parts) != type_.dimension:
            raise ValueError(f"{len(parts)} elements of {type_.text}")
        return vector_bytes(parts, fixed)

    return encode_vector


def map_encoder(type_: CqlType) -> FromJson:
    """Of a map."""
    encode_key, encode_value = key_encoder(type_.key), encoder(type_.value)

    def encode_map(value: Any) -> bytes:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r:.80} is no {type_.text}")
        parts: list[bytes | None] = []
        for name, part in value.items():
            parts += encode_key(name), None if part is None else encode_value(part)
        return collection_bytes(parts, 2)

    return encode_map


def tuple_encoder(type_: CqlType) -> FromJson:
    """Of a tuple."""
    fields = list(map(encoder, type_.arguments))

    def encode_tuple(value: Any) -> bytes:
        return _fields(fields, _list(value, type_), type_)

    return encode_tuple


def udt_encoder(type_: CqlType) -> FromJson:
    """Of a user-defined type, by the fields' order: their names may have changed since."""
    fields = list(map(encoder, type_.arguments))

    def encode_udt(value: Any) -> bytes:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r:.80} is no {type_.text}")
        return _fields(fields, list(value.values()), type_)

    return encode_udt


def _fields(fields: Sequence[FromJson], values: Sequence[Any], type_: CqlType) -> bytes:
    if len(values) > len(fields):
        raise ValueError(f"{len(values)} fields for {type_.text}, which has {len(fields)}")
    if not any(value is not None for value in values):
        # Of no bytes in a row; `null` for each field inside another value. Neither can be told from the text.
        return framed([None] * len(values))
    return framed([None if value is None else encode(value) for encode, value in zip(fields, values, strict=False)])


def _list(value: Any, type_: CqlType) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r:.80} is no {type_.text}")
    return value


@lru_cache(maxsize=4096)
def timeuuid_bytes(text: str) -> bytes:
    """The bytes of a list element's id."""
    return parse_uuid(text)
