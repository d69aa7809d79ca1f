"""The parts of a change row as text for people: keys, columns, ranges, times. Knows no terminal and no layout."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from tailer.sinks.text import printable

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
    """What people are shown of a change row, out of its JSON line (architecture section 4)."""

    keyspace: str
    table: str
    op: str
    partition_key: Fields | None
    clustering: Fields | None
    is_static: bool | None
    columns: Fields | None
    range: Range | None
    write_ts: int | None
    ttl: int | None


decode_row: Final = msgspec.json.Decoder(Row).decode


def field_texts(fields: Fields | None) -> list[str]:
    """`name=value` for each field."""
    return [f"{printable(name)}={_value(value)}" for name, value in (fields or {}).items()]


def _value(value: msgspec.Raw) -> str:
    return printable(bytes(value).decode())


def range_text(deleted: Range) -> str:
    """`[at=3 .. end)` and the like: a square bracket where the bound itself is deleted too."""
    if deleted.before is not None:
        return f"before {':'.join(_value(value) for value in deleted.before.values())}"
    start, end = ",".join(field_texts(deleted.start)), ",".join(field_texts(deleted.end))
    opening = "[" if deleted.start is not None and deleted.start_inclusive else "("
    closing = "]" if deleted.end is not None and deleted.end_inclusive else ")"
    return f"{opening}{start or 'start'} .. {end or 'end'}{closing}"


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
