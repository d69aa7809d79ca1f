"""Values of change rows spelled anew, by their types: from the JSON of a row to what a reader's schema wants.

A spelling says what becomes of the types that are made of no others, and of the others' parts. What it does not name
stays the JSON that it is, with all digits. Knows no reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from tailer.typed_decode import decode_json, json_decoder
from tailer.types import CqlType, Shape, quote
from tailer.types.cql import Native
from tailer.types.kinds import MAP, UDT
from tailer.types.times import parse_duration
from tailer.types.values import field_names

Spell = Callable[[msgspec.Raw], Any]
"""The JSON of a value to the value as a reader has it; ValueError for what is no value of the type."""

NULL: Final = b"null"
_EMPTY: Final = b'""'
_OBJECT: Final = json_decoder(dict[str, msgspec.Raw])
_ARRAY: Final = json_decoder(list[msgspec.Raw])
_TEXT: Final = json_decoder(str)


def as_it_is(value: msgspec.Raw) -> msgspec.Raw:
    """The JSON of the row."""
    return value


@dataclass(frozen=True, slots=True)
class Spelling:
    """`leaves`: by CQL's word. `field`: the name of a tuple's field, counted from 1.

    `keyed`: whether a map with keys of such a type is an object, by its spelled keys; others are arrays of key and
    value. None: every map is an object, by its keys as the row has them.
    """

    leaves: Mapping[str, Spell]
    field: Callable[[int], str]
    keyed: Callable[[CqlType], bool] | None = None
    field_name: Callable[[str], str] = str
    text: Spell = as_it_is

    def of(self, type_: CqlType) -> Spell:
        """What spells the values of a type."""
        spell = self._of(type_)
        return lambda value: None if bytes(value) == NULL else spell(value)

    def _of(self, type_: CqlType) -> Spell:
        traits = type_.traits
        if isinstance(traits, Native):
            spell = self.leaves.get(traits.name, self.text)
            return spell if traits.zero else lambda value: None if bytes(value) == _EMPTY else spell(value)
        if traits is MAP:
            return self._map(type_)
        if traits is UDT:
            return _by_name({name: (self.field_name(name), self.of(part)) for name, part in type_.fields})
        if traits.takes == 1:
            element = self.of(type_.element)
            return lambda value: [element(each) for each in _ARRAY.decode(value)]
        return self._tuple(type_)

    def _map(self, type_: CqlType) -> Spell:
        key, element = as_it_is if self.keyed is None else self.of(type_.key), self.of(type_.value)
        bare = not (isinstance(type_.key.traits, Native) and type_.key.traits.quoted)

        def entries(value: msgspec.Raw) -> list[tuple[Any, Any]]:
            if bytes(value).startswith(b"["):
                pairs = [_OBJECT.decode(each) for each in _ARRAY.decode(value)]
                return [(key(pair["key"]), element(pair["value"])) for pair in pairs]
            fields = _OBJECT.decode(value).items()
            return [(key(_key_json(name, bare)), element(each)) for name, each in fields]

        if self.keyed is None or self.keyed(type_.key):
            return lambda value: {_name(name): each for name, each in entries(value)}
        return lambda value: [list(entry) for entry in entries(value)]

    def _tuple(self, type_: CqlType) -> Spell:
        parts = [(self.field(number), self.of(part)) for number, part in enumerate(type_.arguments, 1)]
        named = _by_name(dict(zip(field_names(type_), parts, strict=True)))

        def spelled(value: msgspec.Raw) -> dict[str, Any]:
            if bytes(value).startswith(b"{"):
                found: dict[str, Any] = named(value)
                return found
            values = _ARRAY.decode(value)
            return {name: part(each) for (name, part), each in zip(parts, values, strict=True)}

        return spelled


def _by_name(parts: Mapping[str, tuple[str, Spell]]) -> Spell:
    """Of an object with these fields, which get other names; missing ones are null."""

    def spelled(value: msgspec.Raw) -> dict[str, Any]:
        fields = _OBJECT.decode(value)
        unknown = fields.keys() - parts.keys()
        if unknown:
            raise ValueError(f"a field {min(unknown)!r:.80}, which the type has not, or no more")
        return {name: spell(fields.get(old, msgspec.Raw(NULL))) for old, (name, spell) in parts.items()}

    return spelled


def _key_json(name: str, bare: bool) -> msgspec.Raw:
    """A map's key as a value; `bare`: its JSON is no string, and the key is that JSON's text."""
    return msgspec.Raw((name if bare else quote(name)).encode())


def _name(key: Any) -> str:
    """A key as the name of an object's member."""
    return digits(key) if isinstance(key, msgspec.Raw) else str(key)


def text_of(value: msgspec.Raw) -> str:
    """What a JSON string says."""
    return _TEXT.decode(value)


def digits(value: msgspec.Raw) -> str:
    """A number's text; of one that is a string already what it says."""
    text = bytes(value).decode()
    return text_of(value) if text.startswith('"') else text


def duration(value: msgspec.Raw) -> tuple[int, int, int]:
    """Months, days and nanoseconds."""
    if bytes(value).startswith(b"{"):
        parts = decode_json(value, dict[str, int])
        return parts["months"], parts["days"], parts["nanoseconds"]
    return parse_duration(text_of(value))


def blob(value: msgspec.Raw) -> bytes:
    """The bytes of a blob, which a row has as `"0x…"`."""
    return bytes.fromhex(text_of(value)[2:])


def is_multi(type_: CqlType) -> bool:
    """Whether a column of the type is changed by element, or is a counter."""
    return type_.shape is not Shape.SIMPLE
