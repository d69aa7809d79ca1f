"""From the oracle's JSON of a change row to what its typed row must have. Imports nothing of the package under test.

Plain values: dates as days, timestamps as microseconds, times as nanoseconds, decimals and varints as text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.oracle.cqltypes import Type
from tests.oracle.jsontext import Json, Number, Pairs, Real, ordered

META = (
    "op", "set", "deltas", "table_id", "is_static", "range", "write_ts", "ttl", "expires_at", "cells", "token", "node",
    "segment", "offset", "row", "event_id", "txn", "attrs",
)  # fmt: skip
INT64 = range(-(2**63), 2**63)


class OutOfRangeError(Exception):
    """The typed form cannot hold the value: its entry is no row."""


def own_values(
    row: Mapping[str, Any], kinds: Mapping[str, Type], key: Sequence[str], clustering: Sequence[str]
) -> dict[str, Any]:
    """The table's own columns that the row has a value for. Key columns go by place: they may have been renamed."""
    found: dict[str, Any] = {}
    for names, values in ((key, row["partition_key"]), (clustering, row["clustering"])):
        for name, value in zip(names, (values or {}).values(), strict=False):
            found[name] = value_of(kinds[name], value)
    for name, value in (row["columns"] or {}).items():
        kind = kinds[name]
        if kind.complex:
            found[name] = elements_of(kind, value)
        elif kind.name == "counter":
            found[name] = None if value is None else checked(sum(shard["total"] for shard in value))
        else:
            found[name] = value_of(kind, value)
    return found


def meta_values(row: Mapping[str, Any], kinds: Mapping[str, Type]) -> dict[str, Any]:
    """What stands behind the own columns, without prefix; objects as JSON values."""
    columns = row["columns"]
    assigned = deltas = None
    if columns is not None:
        by_element = {name for name, value in columns.items() if kinds[name].complex and not is_assigned(value)}
        assigned = [name for name in columns if name not in by_element]
        deltas = {
            name: value for name, value in columns.items() if kinds[name].complex or kinds[name].name == "counter"
        }
    return {name: row.get(name) for name in META} | {"set": assigned, "deltas": deltas or None}


def is_assigned(change: Json) -> bool:
    return change is None or change["replaced"]


def elements_of(kind: Type, change: Json) -> Any:
    """A non-frozen column's value: None unless it was assigned, and when nothing was put."""
    if change is None or not change["replaced"] or "put" not in change:
        return None
    put = change["put"]
    if kind.name == "list":
        return [value_of(kind.args[0], element) for _, element in put]
    if kind.name == "udt":
        fields = dict(zip(kind.fields, kind.args, strict=True))
        return dict.fromkeys(fields) | {
            _NEW_NAMES.get(name, name): value_of(fields[_NEW_NAMES.get(name, name)], part) for name, part in put.items
        }
    return value_of(kind, put)


_NEW_NAMES = {"b": "bb"}
"""The one field that was renamed while its type was in use (`cdc.altered_type`)."""


def value_of(kind: Type, value: Json) -> Any:
    """The plain value; a zero-length one is None but for texts and blobs."""
    if value is None or (value == "" and kind.name not in ("text", "varchar", "ascii")):
        return None
    return _MAKERS.get(kind.name, _as_it_is)(kind, value)


def _as_it_is(kind: Type, value: Json) -> Any:
    return value


def _bytes(kind: Type, value: Json) -> bytes | str:
    # Of a Java class that the server can print (LexicalUUIDType) the value is that text.
    return bytes.fromhex(value[2:]) if value.startswith("0x") else value


def _real(kind: Type, value: Json) -> float:
    number = value.value if isinstance(value, Real) else float(value)
    # The server prints a float with as few digits as tell it from its neighbours.
    return struct.unpack(">f", struct.pack(">f", number))[0] if kind.name == "float" else number


def _text_of_number(kind: Type, value: Json) -> str:
    return str.__str__(value) if isinstance(value, Number) else str(value)


_DATE = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d+)")


def _days(text: str) -> int:
    match = _DATE.match(text)
    assert match is not None, text
    year, month, day = map(int, match.groups())
    # Days of the years before, then of the months before; a year that begins in March has its leap day last.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - 719_468


def _clock(text: str, unit: int) -> int:
    """Time of day, `unit` parts of a second."""
    match = _CLOCK.search(text)
    assert match is not None, text
    hours, minutes, seconds, fraction = match.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * unit + int(fraction) * unit // 10 ** len(fraction)


def _date(kind: Type, value: Json) -> int:
    return _days(value)


def _timestamp(kind: Type, value: Json) -> int:
    return checked(_days(value) * 86_400_000_000 + _clock(value, 10**6))


def _time(kind: Type, value: Json) -> int:
    return _clock(value, 10**9)


def checked(number: int) -> int:
    if number not in INT64:
        raise OutOfRangeError(number)
    return number


_UNITS = {"y": (0, 12), "mo": (0, 1), "d": (1, 1)}
_UNITS |= {
    unit: (2, size)
    for unit, size in (("h", 3600 * 10**9), ("m", 60 * 10**9), ("s", 10**9), ("ms", 10**6), ("us", 1000), ("ns", 1))
}


def _duration(kind: Type, value: Json) -> dict[str, int]:
    parts = [0, 0, 0]
    for count, unit in re.findall(r"(\d+)([a-z]+)", value):
        part, size = _UNITS[unit]
        parts[part] += int(count) * size * (-1 if value.startswith("-") else 1)
    return dict(zip(("months", "days", "nanoseconds"), parts, strict=True))


def _list(kind: Type, value: Json) -> Any:
    return [value_of(kind.args[0], element) for element in value]


def _map(kind: Type, value: Json) -> Any:
    pairs = value.items if isinstance(value, Pairs) else list(value.items())
    made = [(_key(kind.args[0], name), value_of(kind.args[1], element)) for name, element in pairs]
    if holds_map(kind.args[0]):
        return [{"key": key, "value": element} for key, element in made]
    if any(key is None for key, _ in made):
        raise OutOfRangeError("a null key")
    if len({repr(key) for key, _ in made}) < len(made):
        raise OutOfRangeError("two keys of one value")
    return made


def holds_map(kind: Type) -> bool:
    return kind.name == "map" or any(map(holds_map, kind.args))


_TEXT_KEYS = {"ascii", "text", "varchar", "blob", "date", "time", "timestamp", "uuid", "timeuuid", "inet", "duration"}


def _key(kind: Type, name: str) -> Any:
    if kind.name in _TEXT_KEYS or name in ("", "NaN", "Infinity", "-Infinity"):
        return value_of(kind, name)
    return value_of(kind, ordered(name))


def _fields(kind: Type, value: Json) -> Any:
    """By place: the names may have been others when the value was written."""
    values = [part for _, part in value.items] if isinstance(value, Pairs) else value
    names = kind.fields if kind.name == "udt" else [f"_{number}" for number in range(1, len(kind.args) + 1)]
    made = dict.fromkeys(names)
    for name, arg, part in zip(names, kind.args, values, strict=False):
        made[name] = value_of(arg, part)
    return made


_MAKERS: dict[str, Callable[[Type, Json], Any]] = {
    "blob": _bytes,
    "custom": _bytes,
    "date": _date,
    "decimal": _text_of_number,
    "double": _real,
    "duration": _duration,
    "float": _real,
    "list": _list,
    "map": _map,
    "set": _list,
    "time": _time,
    "timestamp": _timestamp,
    "tuple": _fields,
    "udt": _fields,
    "varint": _text_of_number,
    "vector": _list,
}
