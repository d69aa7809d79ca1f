"""A CQL type as the decoder uses it: the length of its values, its place in a row, its JSON. Knows no parser."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from tailer.types.jsontext import ToJson

TypeKind = Literal[
    "ascii", "bigint", "blob", "boolean", "counter", "custom", "date", "decimal", "double", "duration", "empty",
    "float", "inet", "int", "list", "map", "set", "smallint", "text", "time", "timestamp", "timeuuid", "tinyint",
    "tuple", "udt", "uuid", "varint", "vector",
]  # fmt: skip
"""CQL's words, without synonyms; `udt` is any user-defined type, `custom` a Java class that CQL has no word for."""


class Shape(Enum):
    """What a type is as the type of a whole column: one cell, or (not frozen) a cell for each element."""

    SIMPLE = "simple"
    LIST = "list"
    SET = "set"
    MAP = "map"
    UDT = "udt"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True, eq=False)
class CqlType:
    """A type. Two are the same type if they have the same `text` and come from the same definitions.

    `text` is CQL as `system_schema` spells it. `fixed` is the number of bytes of a value that stands in a row without
    its length (format page, 5.8), None if a length precedes it.

    `json` gives the compact JSON text of a value's bytes, `key_json` the JSON string (with its quotes) of a value that
    is a map's key. Both take any `bytes`, and raise ValueError with a short reason for those that are no such value.

    `arguments` are the types it is made of, `names` those of a user-defined type's fields, `depth` how deep it nests,
    `key_depth` how often a collection is in a map's key: each time, the JSON text inside is escaped once more.
    """

    text: str
    kind: TypeKind
    json: ToJson
    key_json: ToJson
    fixed: int | None = None
    shape: Shape = Shape.SIMPLE
    arguments: tuple[CqlType, ...] = ()
    names: tuple[str, ...] = ()
    dimension: int = 0
    depth: int = 1
    key_depth: int = 0

    @property
    def complex(self) -> bool:
        """Whether a column of this type has a cell for each element."""
        return self.shape not in (Shape.SIMPLE, Shape.COUNTER)

    @property
    def element(self) -> CqlType:
        """Of a list, set or vector."""
        return self.arguments[0]

    @property
    def key(self) -> CqlType:
        """Of a map."""
        return self.arguments[0]

    @property
    def value(self) -> CqlType:
        """Of a map."""
        return self.arguments[1]

    @property
    def elements(self) -> tuple[CqlType, ...]:
        """Of a tuple."""
        return self.arguments

    @property
    def fields(self) -> tuple[tuple[str, CqlType], ...]:
        """Name and type of each field of a user-defined type, by index."""
        return tuple(zip(self.names, self.arguments, strict=True))
