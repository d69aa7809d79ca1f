"""Types laid out as numbers, for the compiled writers to walk. Knows no value.

A type is some numbers: its kind, its size, how many parts it has, and three for each part: the part's type, its label
(a field's name with the colon) and how long that is. Types and labels are addresses in memory; while the plan is made,
they are numbers of places in it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import address_of
from tailer.types.cql import CqlType
from tailer.types.jsontext import quote

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

KIND: Final = 0
SIZE: Final = 1
COUNT: Final = 2

# A part, or a column.
PART: Final = 0
LABEL: Final = 1
LABEL_LENGTH: Final = 2

WORD: Final = 8
"""Bytes of a number."""

PARTS_BYTES: Final = 3 * WORD
PART_BYTES: Final = 3 * WORD

# Kinds. SIZE is of an integer its bytes, of a dense vector those of an element, of any vector COUNT its dimension.
UNPRINTED: Final = 0
INTEGER: Final = 1
VARINT: Final = 2
DECIMAL: Final = 3
FLOAT: Final = 4
DOUBLE: Final = 5
TEXT: Final = 6
ASCII: Final = 7
BLOB: Final = 8
BOOLEAN: Final = 9
UUID: Final = 10
DATE: Final = 11
TIME: Final = 12
TIMESTAMP: Final = 13
DURATION: Final = 14
INET: Final = 15
NOTHING: Final = 16
CUSTOM: Final = 17
ARRAY: Final = 18
MAP: Final = 19
TUPLE: Final = 20
UDT: Final = 21
DENSE_VECTOR: Final = 22
VECTOR: Final = 23

_KINDS: Final = {
    "ascii": ASCII, "bigint": INTEGER, "blob": BLOB, "boolean": BOOLEAN, "custom": CUSTOM, "date": DATE,
    "decimal": DECIMAL, "double": DOUBLE, "duration": DURATION, "empty": NOTHING, "float": FLOAT, "inet": INET,
    "int": INTEGER, "list": ARRAY, "map": MAP, "set": ARRAY, "smallint": INTEGER, "text": TEXT, "time": TIME,
    "timestamp": TIMESTAMP, "timeuuid": UUID, "tinyint": INTEGER, "tuple": TUPLE, "udt": UDT, "uuid": UUID,
    "varint": VARINT,
}  # fmt: skip
_SIZES: Final = {"bigint": 8, "int": 4, "smallint": 2, "tinyint": 1}


class TypePlan:
    """Collects types; each is laid out once, however often it occurs."""

    def __init__(self) -> None:
        self._names = bytearray()
        self._numbers: list[int] = []
        self._known: dict[int, tuple[CqlType, int]] = {}
        self._places: list[int] = []
        self._labels: list[int] = []

    def type(self, type_: CqlType) -> int:
        """The place of the type."""
        known = self._known.get(id(type_))
        if known is not None:
            return known[1]
        parts = [self.type(argument) for argument in type_.arguments]
        kind, size, count = _KINDS.get(type_.kind, UNPRINTED), _SIZES.get(type_.kind, 0), len(parts)
        if type_.kind == "vector":
            count, fixed = type_.dimension, type_.element.fixed
            kind, size = (VECTOR, 0) if fixed is None else (DENSE_VECTOR, fixed)
        place = self.add(kind, size, count)
        for number, part in enumerate(parts):
            self.part(part, type_.names[number] if type_.names else None)
        # Kept with its place: an id is free for others once its object is gone.
        self._known[id(type_)] = type_, place
        return place

    def part(self, type_: int, name: str | None) -> int:
        """A part of that type and name; its place."""
        label = b"" if name is None else quote(name).encode() + b":"
        self._names += label
        place = self.add(type_, len(self._names) - len(label), len(label))
        self._places.append(place + PART)
        self._labels.append(place + LABEL)
        return place

    def add(self, *numbers: int) -> int:
        """Further numbers; their place."""
        self._numbers += numbers
        return len(self._numbers) - len(numbers)

    def arrays(self) -> tuple[Numbers, Bytes]:
        """All numbers, and the labels, which must live as long as they."""
        numbers = np.array(self._numbers, np.int64)
        names = np.frombuffer(bytes(self._names) or b" ", np.uint8)
        numbers[self._places] = address_of(numbers) + WORD * numbers[self._places]
        numbers[self._labels] += address_of(names)
        return numbers, names
