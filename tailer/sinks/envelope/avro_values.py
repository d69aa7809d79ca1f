"""Types and values as Avro has them, by a table's definition. Knows no message and no registry.

A decimal or varint is a string of its digits, for Avro's own want one scale for all; so is a duration. Names that Avro
refuses are spelled with `_x` and the hexadecimal digits of each other letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from tailer.errors import UsageError
from tailer.sinks.envelope.connect_values import duration_text
from tailer.sinks.envelope.spelling import Spelling, blob, digits, text_of
from tailer.types import CqlType
from tailer.types.cql import Native
from tailer.types.kinds import MAP
from tailer.types.times import parse_date, parse_key_time, parse_timestamp
from tailer.types.values import field_names

_OTHER: Final = re.compile(r"[^A-Za-z0-9_]")
_TYPES: Final[Mapping[str, Any]] = {
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "counter": "long",
    "boolean": "boolean",
    "float": "float",
    "double": "double",
    "blob": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "time": "long",
    "timestamp": {"type": "long", "logicalType": "timestamp-millis"},
    "uuid": {"type": "string", "logicalType": "uuid"},
    "timeuuid": {"type": "string", "logicalType": "uuid"},
}
"""By CQL's word; all others are strings. A time is in nanoseconds."""


def avro_name(name: str) -> str:
    """A name as Avro takes it."""
    spelled = _OTHER.sub(lambda letter: f"_x{ord(letter[0]):x}", name)
    return spelled if spelled[:1].isalpha() or spelled[:1] == "_" else "_" + spelled


def avro_names(names: Iterable[str], where: str) -> dict[str, str]:
    """Names with those that Avro takes. UsageError where two become one."""
    made = {name: avro_name(name) for name in names}
    if len(set(made.values())) < len(made):
        raise UsageError(
            f"names in {where} become one where Avro has no letters for them",
            expected="names that differ in more than such letters",
            found=", ".join(made),
        )
    return made


class AvroTypes:
    """The types of one schema, in which each record is defined once. `namespace`: of its records."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._defined: dict[str, str] = {}

    def nullable(self, type_: CqlType) -> list[Any]:
        """A type's schema, which allows null."""
        return ["null", self._plain(type_)]

    def _plain(self, type_: CqlType) -> Any:
        if isinstance(type_.traits, Native):
            return _TYPES.get(type_.kind, "string")
        if type_.traits is MAP:
            return {"type": "map", "values": self.nullable(type_.value)}
        if type_.traits.takes == 1:
            return {"type": "array", "items": self.nullable(type_.element)}
        if type_.text in self._defined:
            return self._defined[type_.text]
        number = len(self._defined)
        name = f"{self._namespace}.T{number}"
        self._defined[type_.text] = name
        names = avro_names(field_names(type_), type_.text)
        fields = [
            {"name": names[field], "type": self.nullable(part), "default": None}
            for field, part in zip(names, type_.arguments, strict=True)
        ]
        return {"type": "record", "name": name, "doc": type_.text, "fields": fields}


def _float(value: msgspec.Raw) -> float:
    return float(digits(value))


def _integer(value: msgspec.Raw) -> int:
    return int(bytes(value))


AVRO: Final = Spelling(
    {
        "bigint": _integer,
        "blob": blob,
        "boolean": lambda value: bytes(value) == b"true",
        "counter": _integer,
        "date": lambda value: parse_date(text_of(value)),
        "decimal": digits,
        "double": _float,
        "duration": duration_text,
        "float": _float,
        "int": _integer,
        "smallint": _integer,
        "time": lambda value: parse_key_time(text_of(value)),
        "timestamp": lambda value: parse_timestamp(text_of(value)),
        "tinyint": _integer,
        "varint": digits,
    },
    "_{}".format,
    field_name=avro_name,
    text=text_of,
)
