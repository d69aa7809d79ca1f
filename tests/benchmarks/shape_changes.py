"""More segments of one shape each: rows that are no plain inserts. See `shape_logs.py`."""

from __future__ import annotations

import struct
from uuid import UUID

from tests.benchmarks.shape_logs import (
    Shape,
    clustering_of,
    collections_table,
    payload_of,
    row_of,
    shape_of,
    shape_table,
    time_id,
    wide_table,
    wide_values,
)
from tests.helpers.log_writer import TS, Bound, Cell, Column, Complex, Deletion, Liveness, Marker, Row, Table, i32

_NOW = TS // 1_000_000
_WIDE = 500


def changes(distinct: int) -> dict[str, Shape]:
    """All of them, each of about that many different mutations."""
    return {
        "element updates": _elements(distinct),
        "one element update in ten": _tenth(distinct),
        "counters": _counters(distinct),
        "range deletes": _ranges(distinct),
        "decimals": _decimals(distinct),
        "wide rows, all set": _whole(max(4, distinct // 25)),
        "rows with a TTL": _timed(
            11, Liveness(TS, 60, _NOW + 60), Cell(b"alpha", TS, 60, _NOW + 60, like_row=2), distinct
        ),
        "rows with a null": _timed(12, Liveness(TS), Cell(ts=TS, deleted=_NOW, like_row=1), distinct),
        "updates": _timed(13, None, Cell(b"alpha", TS), distinct),
    }


def _update(table: Table, number: int, name: str, value: Cell | Complex) -> bytes:
    return payload_of(table, number, Row(clustering_of(number), None, None, ((name, value),)))


def _appended(number: int) -> Complex:
    return Complex((Cell(b"item %d" % number, TS + number, path=time_id(number).bytes),), None)


def _elements(distinct: int) -> Shape:
    """By turns a list's append, a map's put, a set's remove."""
    table = collections_table(5)

    def one(number: int) -> bytes:
        if number % 3 == 0:
            return _update(table, number, "items", _appended(number))
        if number % 3 == 1:
            put = Cell(i32(number), TS + number, path=b"key%d" % (number % 7))
            return _update(table, number, "scores", Complex((put,), None))
        gone = Cell(ts=TS + number, deleted=_NOW, path=i32(number % 7))
        return _update(table, number, "numbers", Complex((gone,), None))

    return shape_of(table, one, distinct)


def _tenth(distinct: int) -> Shape:
    """Nine inserts of three columns, then a list's append."""
    table = shape_table(
        6,
        Column("flag", "regular", "boolean"),
        Column("items", "regular", "list<text>"),
        Column("name", "regular", "text"),
        Column("value", "regular", "double"),
    )

    def one(number: int) -> bytes:
        if number % 10 == 9:
            return _update(table, number, "items", _appended(number))
        values = {"flag": b"\1", "name": b"alpha", "value": struct.pack(">d", number / 2)}
        return row_of(table, number, values)

    return shape_of(table, one, distinct)


def _timed(table_number: int, live: Liveness | None, name: Cell, distinct: int) -> Shape:
    """Two columns; `name`: the cell of one of them, whose times the other's has too where it is a value."""
    table = shape_table(table_number, Column("name", "regular", "text"), Column("value", "regular", "double"))
    like = 0 if live is None else 1 if live.ttl is None else 2

    def one(number: int) -> bytes:
        value = Cell(struct.pack(">d", number / 2), TS, name.ttl, name.expires, like_row=like)
        return payload_of(table, number, Row(clustering_of(number), live, None, (("name", name), ("value", value))))

    return shape_of(table, one, distinct)


def _counters(distinct: int) -> Shape:
    """One counter with one shard, as a server writes it that has counted all of it."""
    table = shape_table(7, Column("hits", "regular", "counter"))

    def one(number: int) -> bytes:
        held = struct.pack(">hh16sqq", 1, -(2**15), UUID(int=7).bytes, number + 1, 3 * number)
        return _update(table, number, "hits", Cell(held, TS + number))

    return shape_of(table, one, distinct)


def _ranges(distinct: int) -> Shape:
    """A range of rows from a first to before a last one."""
    table = shape_table(8, Column("value", "regular", "text"))

    def one(number: int) -> bytes:
        deletion = (Deletion(TS + number, _NOW),)
        start = Marker(Bound.INCL_START, clustering_of(number), deletion)
        end = Marker(Bound.EXCL_END, clustering_of(number + 10), deletion)
        return payload_of(table, number, start, end, listed=("value",))

    return shape_of(table, one, distinct)


def _decimals(distinct: int) -> Shape:
    """Three decimals of other scales."""
    table = shape_table(9, *(Column(name, "regular", "decimal") for name in ("price", "quantity", "total")))

    def one(number: int) -> bytes:
        given = {"price": (2, number), "quantity": (0, number % 50), "total": (4, number * number)}
        values = {name: i32(scale) + whole.to_bytes(6, "big") for name, (scale, whole) in given.items()}
        return row_of(table, number, values)

    return shape_of(table, one, distinct)


def _whole(distinct: int) -> Shape:
    """500 columns, all of them set."""
    table = wide_table(10, _WIDE)

    def one(number: int) -> bytes:
        values = wide_values(number)
        return row_of(table, number, {f"column_{n:03}": values[n % 4] for n in range(_WIDE)})

    return shape_of(table, one, distinct)
