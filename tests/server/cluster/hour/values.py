"""One spelling for a value, wherever it was read: SELECT JSON, a row image, a kept table in SQLite or PostgreSQL.

Numbers are compared by value (floats by their bits), text and blobs exactly, collections by their JSON. Knows CQL type
names and no decoder.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.oracle.jsontext import dumps, loads

INTEGERS = {"tinyint", "smallint", "int", "bigint", "counter"}
EXACT = {"decimal", "varint"}
FLOATS = {"float": ">f", "double": ">d"}
TEXTS = {"ascii", "text", "varchar", "uuid", "timeuuid", "inet", "duration", "date", "timestamp", "blob", "time"}


def of_json(type_: str, value: Any) -> str | None:
    """Of SELECT JSON and of row images, parsed by `jsontext.loads`."""
    if value is None:
        return None
    if type_ in FLOATS:
        return _float(type_, value)
    if type_ in EXACT:
        return _exact(value)
    if type_ in INTEGERS:
        return str(int(value))
    if type_ == "boolean":
        return "true" if value else "false"
    if type_ in TEXTS:
        return str(value)
    return dumps(value)


def of_sqlite(type_: str, value: Any) -> str | None:
    """Of a column of SQLite, as `sqlite3` gives it."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if type_ == "time":
        return _time(int(value))
    if type_ in TEXTS or type_ in FLOATS or type_ in EXACT or type_ in INTEGERS or type_ == "boolean":
        return of_json(type_, value)
    return dumps(loads(value))


def of_postgresql(type_: str, text: str | None) -> str | None:
    """Of a column that was cast to text, in a session whose time zone is UTC."""
    if text is None:
        return None
    if type_ == "boolean":
        return text
    if type_ == "blob":
        return f"0x{text.removeprefix(chr(92) + 'x')}"
    if type_ == "time":
        return _time(int(text))
    if type_ == "timestamp":
        at = datetime.fromisoformat(text).astimezone(UTC)
        return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03}Z"
    if type_ in TEXTS or type_ in FLOATS or type_ in EXACT or type_ in INTEGERS:
        return of_json(type_, text)
    return dumps(loads(text))


def _float(type_: str, value: Any) -> str:
    number = float(value)
    if number != number:
        return "NaN"
    # A table of SQLite has no negative zero.
    return struct.pack(FLOATS[type_], number + 0.0).hex()


def _exact(value: Any) -> str:
    text = format(Decimal(str(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _time(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:09}"
