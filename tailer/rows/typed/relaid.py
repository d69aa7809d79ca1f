"""Values of a native log's earlier definition, laid out as a later one has them: fields of user-defined types by name.

Cassandra adds and renames fields, so that their places never change. A service's declaration may lose one or name
another, and each change names the very definition by which it was written: there a field is its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tailer.types import CqlType, Shape
from tailer.types.cql import Nested
from tailer.types.parts import (
    collection_bytes,
    collection_parts,
    dense_vector_parts,
    framed,
    parts_of,
    vector_bytes,
    vector_parts,
)

Relay = Callable[[bytes], bytes]


def relay(have: CqlType, want: CqlType) -> Relay | None:
    """What lays values of `have` out as `want` has them, which has all of its fields; None where they lie so already.

    A zero-length value stays one.
    """
    if not isinstance(have.traits, Nested) or is_laid_out(have, want):
        return None
    lay_out = _RELAYS[have.traits.name](have, want)
    return lambda value: lay_out(value) if value else value


def relaid_elements(have: CqlType, want: CqlType, cells: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Path and value of each cell of a non-frozen column: its paths are a map's keys, a set's elements, or the numbers
    of fields."""
    if have.shape is Shape.UDT:
        return [_field(have, want, path, value) for path, value in cells]
    of_path = relay(have.arguments[0], want.arguments[0]) if have.shape is not Shape.LIST else None
    of_value = relay(have.arguments[-1], want.arguments[-1]) if have.shape is not Shape.SET else None
    return [(_with(of_path, path), _with(of_value, value)) for path, value in cells]


def _field(have: CqlType, want: CqlType, path: bytes, value: bytes) -> tuple[bytes, bytes]:
    number = int.from_bytes(path, "big")
    if len(path) != 2 or number >= len(have.names):
        raise ValueError(f"field {number} of {have.text}, which has {len(have.names)} fields")
    place = want.names.index(have.names[number])
    return place.to_bytes(2, "big"), _with(relay(have.arguments[number], want.arguments[place]), value)


def is_laid_out(have: CqlType, want: CqlType) -> bool:
    """Whether values of `have` lie as those of `want`; fields may be missing at the end."""
    if have.traits.shape is Shape.UDT and have.names != want.names[: len(have.names)]:
        return False
    return all(map(is_laid_out, have.arguments, want.arguments))


def _with(made: Relay | None, value: bytes) -> bytes:
    return value if made is None else made(value)


def _each(made: list[Relay | None], parts: list[bytes | None]) -> list[bytes | None]:
    """The parts, laid out by what is for each in turn."""
    return [part if part is None else _with(made[number % len(made)], part) for number, part in enumerate(parts)]


def _collection(have: CqlType, want: CqlType) -> Relay:
    made = [relay(part, other) for part, other in zip(have.arguments, want.arguments, strict=True)]
    return lambda value: collection_bytes(_each(made, collection_parts(value, len(made))), len(made))


def _tuple(have: CqlType, want: CqlType) -> Relay:
    made = [relay(part, other) for part, other in zip(have.arguments, want.arguments, strict=True)]
    return lambda value: framed(_each(made, parts_of(value, 0, len(made))))


def _udt(have: CqlType, want: CqlType) -> Relay:
    by_name = dict(want.fields)
    made = [relay(part, by_name[name]) for name, part in have.fields]
    places = [want.names.index(name) for name in have.names]

    def lay_out(value: bytes) -> bytes:
        laid: list[bytes | None] = [None] * len(want.names)
        for place, part in zip(places, _each(made, parts_of(value, 0, len(made))), strict=False):
            laid[place] = part
        return framed(laid)

    return lay_out


def _vector(have: CqlType, want: CqlType) -> Relay:
    made, size, dimension = [relay(have.element, want.element)], have.element.fixed, have.dimension

    def lay_out(value: bytes) -> bytes:
        parts = vector_parts(value, dimension) if size is None else dense_vector_parts(value, size, dimension)
        return vector_bytes([_with(made[0], part) for part in parts], size)

    return lay_out


_RELAYS: Final[dict[str, Callable[[CqlType, CqlType], Relay]]] = {
    "list": _collection,
    "map": _collection,
    "set": _collection,
    "tuple": _tuple,
    "udt": _udt,
    "vector": _vector,
}
