"""The inverse of a value's JSON text: what a change row prints, back to the bytes that the log has.

    encoder(parse_type("map<int, text>", {}))(read_json('{"1":"x"}'))   ->   the map's bytes

The text is one to one with the bytes but for what prints alike; there the usual bytes are made:
* not-a-number of any payload, and a boolean of any byte but zero;
* an IPv4 address mapped into IPv6 (16 bytes), which prints as IPv4 (4 bytes);
* a varint, or a decimal's unscaled number, with more leading bytes than it needs;
* a frozen UDT or tuple that ends before its last fields (older than they are): nulls are written for them;
* a frozen collection of no bytes at all, and a negative time, or one beyond a day.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from tailer.types.cql import CqlType, TypeKind
from tailer.types.encode_time import date_bytes, duration_bytes, time_bytes, timestamp_bytes
from tailer.types.read_json import read_json
from tailer.types.vint import write_unsigned

FromJson = Callable[[Any], bytes]
"""A value as `read_json` has it to its bytes; ValueError for what is none of the type."""

_PART: Final = struct.Struct(">i").pack
_NULL: Final = _PART(-1)
_DIGITS_MAX: Final = 4000
"""Python refuses `int` of longer texts by itself; a Decimal of them is exact, and fast."""


def encoder(type_: CqlType) -> FromJson:
    """The bytes of a value of the type. The empty string is the zero-length value of every type."""
    make = _NESTED.get(type_.kind)
    if make is not None:
        return make(type_)
    encode = _SCALARS[type_.kind]
    kind = type_.kind

    def encode_scalar(value: Any) -> bytes:
        if not isinstance(value, str):
            if kind == "boolean" and isinstance(value, bool):
                return b"\1" if value else b"\0"
            raise ValueError(f"{value!r:.80} is no JSON of a {kind}")
        return encode(value) if value else b""

    return encode_scalar


def key_encoder(type_: CqlType) -> FromJson:
    """The bytes of a map's key from the string that stands for it in a JSON object."""
    encode = encoder(type_)
    if type_.kind == "boolean":
        return lambda text: encode({"true": True, "false": False}.get(text, text))
    if type_.kind in _NESTED:
        return lambda text: encode(read_json(text)) if text else b""
    return encode


def whole_number(text: str) -> int:
    """The number that the digits say, of any length."""
    return int(text) if len(text) < _DIGITS_MAX else int(Decimal(text))


def varint_bytes(number: int) -> bytes:
    """Two's complement in as few bytes as hold it."""
    return number.to_bytes(((number if number >= 0 else ~number).bit_length() >> 3) + 1, "big", signed=True)


def framed(parts: Sequence[bytes | None]) -> bytes:
    """Each part behind its length; null is a length below zero."""
    return b"".join([_NULL if part is None else _PART(len(part)) + part for part in parts])


def _fixed(layout: str) -> Callable[[str], bytes]:
    pack = struct.Struct(">" + layout).pack

    def encode_fixed(text: str) -> bytes:
        try:
            return pack(int(text))
        except struct.error as error:
            raise ValueError(f"{text:.80}: {error}") from None

    return encode_fixed


def _blob(text: str) -> bytes:
    if not text.startswith("0x"):
        raise ValueError(f"{text!r:.80} is no blob")
    return bytes.fromhex(text[2:])


def _decimal(text: str) -> bytes:
    number = Decimal(text)
    sign, figures, exponent = number.as_tuple()
    if not isinstance(exponent, int) or not -(2**31) <= -exponent < 2**31:
        raise ValueError(f"{text!r:.80} is no decimal")
    unscaled = whole_number("".join(map(str, figures)))
    return _PART(-exponent) + varint_bytes(-unscaled if sign else unscaled)


def _double(text: str) -> bytes:
    return struct.pack(">d", float(text))


def _float(text: str) -> bytes:
    number = float(text)
    if number != number:
        return b"\x7f\xc0\0\0"
    try:
        packed = struct.pack(">f", number)
        (near,) = struct.unpack(">f", packed)
        # A double half way between two floats may be the rounding of a text that is not: the text itself decides.
        if near != number and _is_float(2 * number - near):
            exact, rounded = Decimal(text), Decimal(number)
            if exact != rounded:
                low, high = sorted((near, 2 * number - near))
                packed = struct.pack(">f", high if exact > rounded else low)
    except OverflowError:
        raise ValueError(f"{text!r:.80} is beyond a float") from None
    return packed


def _is_float(number: float) -> bool:
    try:
        return bool(struct.unpack(">f", struct.pack(">f", number))[0] == number)
    except OverflowError:
        return False


def _uuid(text: str) -> bytes:
    value = bytes.fromhex(text.replace("-", ""))
    if len(value) != 16:
        raise ValueError(f"{text!r:.80} is no uuid")
    return value


_IPV4: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}", re.ASCII)


def _inet(text: str) -> bytes:
    if _IPV4.fullmatch(text):
        return bytes(map(int, text.split(".")))
    groups = [int(group, 16) for group in text.split(":")]
    if len(groups) != 8:
        raise ValueError(f"{text!r:.80} is no inet")
    return struct.pack(">8H", *groups)


def _array(type_: CqlType) -> FromJson:
    encode = encoder(type_.element)

    def encode_array(value: Any) -> bytes:
        parts = [None if part is None else encode(part) for part in _list(value, type_)]
        return _PART(len(parts)) + framed(parts)

    return encode_array


def _vector(type_: CqlType) -> FromJson:
    encode, fixed = encoder(type_.element), type_.element.fixed

    def encode_vector(value: Any) -> bytes:
        if value == "":
            return b""
        parts = list(map(encode, _list(value, type_)))
        if len(parts) != type_.dimension:
            raise ValueError(f"{len(parts)} elements of {type_.text}")
        if fixed is not None:
            return b"".join(parts)
        return b"".join([write_unsigned(len(part)) + part for part in parts])

    return encode_vector


def _map(type_: CqlType) -> FromJson:
    encode_key, encode_value = key_encoder(type_.key), encoder(type_.value)

    def encode_map(value: Any) -> bytes:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r:.80} is no {type_.text}")
        parts: list[bytes | None] = []
        for name, part in value.items():
            parts += encode_key(name), None if part is None else encode_value(part)
        return _PART(len(value)) + framed(parts)

    return encode_map


def _tuple(type_: CqlType) -> FromJson:
    fields = list(map(encoder, type_.arguments))

    def encode_tuple(value: Any) -> bytes:
        return _fields(fields, _list(value, type_), type_)

    return encode_tuple


def _udt(type_: CqlType) -> FromJson:
    """By the fields' order: their names may have changed since."""
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


def _text(text: str) -> bytes:
    return text.encode()


def _empty(text: str) -> bytes:
    raise ValueError(f"{text!r:.80} of the type empty, which has no value")


_SCALARS: Final[dict[TypeKind, Callable[[str], bytes]]] = {
    "ascii": _text,
    "bigint": _fixed("q"),
    "blob": _blob,
    "boolean": _empty,
    "custom": _blob,
    "date": date_bytes,
    "decimal": _decimal,
    "double": _double,
    "duration": duration_bytes,
    "empty": _empty,
    "float": _float,
    "inet": _inet,
    "int": _fixed("i"),
    "smallint": _fixed("h"),
    "text": _text,
    "time": time_bytes,
    "timestamp": timestamp_bytes,
    "timeuuid": _uuid,
    "tinyint": _fixed("b"),
    "uuid": _uuid,
    "varint": lambda text: varint_bytes(whole_number(text)),
}
_NESTED: Final[dict[TypeKind, Callable[[CqlType], FromJson]]] = {
    "list": _array,
    "map": _map,
    "set": _array,
    "tuple": _tuple,
    "udt": _udt,
    "vector": _vector,
}


@lru_cache(maxsize=4096)
def timeuuid_bytes(text: str) -> bytes:
    """The bytes of a list element's id."""
    return _uuid(text)
