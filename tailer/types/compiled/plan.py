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
from tailer.types.cql import CqlType, Native
from tailer.types.jsontext import quote
from tailer.types.printed import DENSE_VECTOR, VECTOR

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# A type. KIND: see `tailer.types.printed`. SIZE is of an integer its bytes, of a dense vector those of an element;
# COUNT of any vector its dimension.
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
        traits = type_.traits
        kind, size, count = traits.printed, None, type_.dimension or len(parts)
        if isinstance(traits, Native):
            size = traits.size
        elif kind == VECTOR:
            size = type_.element.fixed
            kind = VECTOR if size is None else DENSE_VECTOR
        place = self.add(kind, size or 0, count)
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
