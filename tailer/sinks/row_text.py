"""A change row as people are shown it, out of its JSON line: what is taken of it, its key, its time.

Knows no terminal, no layout and no definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from tailer.sinks.text import printable
from tailer.typed_decode import json_decoder

Fields = Mapping[str, msgspec.Raw]
"""A JSON object by name; the values stay the text they were, so that no number is written anew."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Range(msgspec.Struct):
    """`range` of a change row: of a range delete the bounds, of a truncate `before`."""

    start: Fields | None = None
    start_inclusive: bool = True
    end: Fields | None = None
    end_inclusive: bool = True
    before: Fields | None = None


class Row(msgspec.Struct):
    """What people are shown of a change row (architecture section 4)."""

    keyspace: str
    table: str
    table_id: str
    op: str
    partition_key: Fields | None
    clustering: Fields | None
    is_static: bool | None
    columns: Fields | None
    range: Range | None
    write_ts: int | None
    ttl: int | None


decode_row: Final = json_decoder(Row).decode
"""Of a line of the generic form; `typed_rows` has that of a typed one."""


def field_texts(fields: Fields | None) -> list[str]:
    """`name=value` for each field."""
    return [f"{printable(name)}={value_text(value)}" for name, value in (fields or {}).items()]


def value_text(value: msgspec.Raw) -> str:
    """A value as the row spells it."""
    return printable(bytes(value).decode())


def moment(write_ts: int | None) -> tuple[str, str]:
    """Date and time of day (UTC) of microseconds since 1970.

    Users may write any number as a timestamp and the calendar ends somewhere: beyond it the number itself, no date.
    """
    if write_ts is None:
        return "", "-"
    try:
        at = _EPOCH + timedelta(microseconds=write_ts)
    except OverflowError:
        return "", str(write_ts)
    return f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"
