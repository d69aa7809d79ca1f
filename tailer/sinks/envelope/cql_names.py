"""Names and values as the server's own classes spell them. Knows no message."""

from __future__ import annotations

from typing import Final

import msgspec

from tailer.sinks.envelope.spelling import text_of
from tailer.types import CqlType
from tailer.types.cql import Native

_PACKAGE: Final = "org.apache.cassandra.db.marshal."


def clustering_class(type_: CqlType, desc: bool) -> str:
    """The class of a clustering column; of one that is made of other types CQL's text."""
    name = _PACKAGE + type_.traits.java[0] if isinstance(type_.traits, Native) and type_.traits.java else type_.text
    return f"{_PACKAGE}ReversedType({name})" if desc else name


def printed(value: msgspec.Raw, type_: CqlType) -> str:
    """A value's text, as the class prints it."""
    text = bytes(value).decode()
    if not text.startswith('"'):
        return text
    text = text_of(value)
    if type_.kind == "blob":
        return text.removeprefix("0x")
    return text.replace(" ", "T") if type_.kind == "timestamp" else text
