"""Values of a constant size: bytes, by a letter of `struct`, to a number and its text. Knows no type."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Any

from tailer.types.jsontext import EMPTY, ToJson, wrong_length


def fixed_json(name: str, code: str, text: Callable[[Any], str]) -> ToJson:
    """The `text` of the number that the bytes are."""
    codec = Struct(">" + code)
    unpack = codec.unpack

    def value_json(value: bytes) -> str:
        try:
            return text(unpack(value)[0])
        except error:
            if not value:
                return EMPTY
            raise wrong_length(value, name, str(codec.size)) from None

    return value_json


def fixed_reader(name: str, code: str, plain: Callable[[Any], Any] | None) -> Callable[[bytes], Any]:
    """The number that the bytes are, or what `plain` makes of it."""
    codec = Struct(">" + code)

    def read_fixed(value: bytes) -> Any:
        if len(value) != codec.size:
            raise wrong_length(value, name, str(codec.size))
        number = codec.unpack(value)[0]
        return number if plain is None else plain(number)

    return read_fixed
