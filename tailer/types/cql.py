"""What a CQL type is to the decoder: a row of the table in `kinds`, and the type made of it. Knows no type by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple

from tailer.types import forms
from tailer.types.jsontext import ToJson, quote

Decimals = Literal["decimal", "string"]
"""What decimal and varint become: `decimal(38, 18)` and `decimal(38, 0)`, or text without bounds."""

Order = Callable[[bytes], bytes]
"""Bytes that compare as the server compares the values; see `order`."""

Reader = Callable[[bytes], Any]
"""The bytes of one value to the plain value; see `values`."""

FromJson = Callable[[Any], bytes]
"""A value as `read_json` has it to its bytes; ValueError for what is none of the type."""

CellsReader = Callable[[Sequence[tuple[bytes, bytes]]], Any]
"""Path and value of each cell of a non-frozen column to the plain value."""

ValueToJson = Callable[[Any], str]
"""A plain value to its JSON text."""


class Shape(Enum):
    """What a type is as the type of a whole column: one cell, or (not frozen) a cell for each element."""

    SIMPLE = "simple"
    LIST = "list"
    SET = "set"
    MAP = "map"
    UDT = "udt"
    COUNTER = "counter"


class Native(NamedTuple):
    """A type that takes no other type.

    `synonyms`: further words of CQL. `java`: its classes of org.apache.cassandra.db.marshal. `python`: types of Python
    whose values it holds if nothing else is said, as module.name.

    `json`: bytes to JSON text; with `quoted` always a string. `parse`: the text inside that string, or the number's, to
    what `pack` makes bytes of. `read`: bytes to the plain value (of a zero-length one None, but with `zero`), `spell`
    the plain value to JSON. `read_text`: what `read` is with decimals = string, if that is another.

    `arrow`: the type's name in Arrow, `arrow_plain` that of the integers which its values are, if that is another.
    `printed`, `form`: what compiled code calls it. `order`: see `order`.

    `size`: bytes of each value, where all have the same; with `bare` no length stands before a value in a row (format
    page, 5.8). `zero`: a value may be of no bytes. `exact`: two values are the same just if their bytes are.
    `within`: the type of which all its values are values too.
    """

    name: str
    java: tuple[str, ...]
    arrow: str
    printed: int
    json: ToJson
    parse: Callable[[str], Any]
    pack: Callable[[Any], bytes]
    read: Reader
    order: Order
    spell: ValueToJson = quote
    quoted: bool = True
    read_text: Reader | None = None
    arrow_plain: str = ""
    form: int = forms.NONE
    size: int | None = None
    bare: bool = False
    zero: bool = False
    exact: bool = False
    within: str = ""
    shape: Shape = Shape.SIMPLE
    synonyms: tuple[str, ...] = ()
    python: tuple[str, ...] = ()


class Nested(NamedTuple):
    """A type made of other types. `takes`: of how many, 0 for any number. `java`: as of `Native`.

    `encoder`, `reader`, `cells_reader`, `order`, `spell` make what `Native` has for a value of the type given.
    `cells_reader`: of a non-frozen column.
    """

    name: str
    java: tuple[str, ...]
    takes: int
    shape: Shape
    printed: int
    encoder: Callable[[CqlType], FromJson]
    reader: Callable[[CqlType, Decimals], Reader]
    order: Callable[[CqlType], Order]
    spell: Callable[[CqlType, Decimals], ValueToJson]
    cells_reader: Callable[[CqlType, Decimals], CellsReader] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CqlType:
    """A type. Two are the same type if they have the same `text` and come from the same definitions.

    `text` is CQL as `system_schema` spells it, `traits` the table's row. `fixed` is the number of bytes of a value that
    stands in a row without its length (format page, 5.8), None if a length precedes it.

    `json` gives the compact JSON text of a value's bytes, `key_json` the JSON string (with its quotes) of a value that
    is a map's key. Both take any `bytes`, and raise ValueError with a short reason for those that are no such value.

    `arguments` are the types it is made of, `names` those of a user-defined type's fields, `depth` how deep it nests,
    `key_depth` how often a collection is in a map's key: each time, the JSON text inside is escaped once more.
    """

    text: str
    traits: Native | Nested
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
    def kind(self) -> str:
        """CQL's word without synonyms; `udt` is any user-defined type, `custom` a Java class CQL has no word for."""
        return self.traits.name

    @property
    def complex(self) -> bool:
        """Whether a column of this type has a cell for each element."""
        return self.shape not in (Shape.SIMPLE, Shape.COUNTER)

    @property
    def has_fields(self) -> bool:
        """Whether it is, or has in it, a user-defined type."""
        return self.traits.name == "udt" or any(part.has_fields for part in self.arguments)

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
