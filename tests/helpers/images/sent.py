"""What a server sends of a column: its value, and of each of its cells when it was written and when it expires. Of the
model's rows, as bytes of the native protocol (version 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.helpers.images.rows import Cell, Row
from tests.helpers.images.tables import NEVER, STATIC, ModelColumn, ModelTable, path_order


class Sent(NamedTuple):
    """`written`: WRITETIME; `ttl`: TTL. Of a column with several cells they are lists. None: null."""

    value: bytes | None = None
    written: bytes | None = None
    ttl: bytes | None = None


def sent(column: ModelColumn, row: Row, table: ModelTable, now: int) -> Sent:
    """Of a column of a row from which everything that is shadowed is gone."""
    if column.counter:
        return _counter(column, row, table, now)
    void = table.void(column.name)
    cells = {
        path: cell
        for (name, path), cell in row.cells.items()
        if name == column.name and cell.lives(now) and cell.ts > void
    }
    if not cells:
        return Sent()
    if not column.complex:
        (cell,) = cells.values()
        return Sent(_raw(cell.value), _time(cell), _end(cell, now))
    paths: Sequence[str | None] = sorted(cells, key=lambda path: path_order(column, path))
    if column.type == "pair":
        last = max(column.fields.index(path) for path in cells)
        paths = [name if name in cells else None for name in column.fields[: last + 1]]
    held = [None if path is None else cells[path] for path in paths]
    times, ends = [_time(cell) for cell in held], [_end(cell, now) for cell in held]
    return Sent(_collection(column.type, paths, held), _list(times), _list(ends))


def number(size: int, value: int) -> bytes:
    return value.to_bytes(size, "big", signed=True)


def _counter(column: ModelColumn, row: Row, table: ModelTable, now: int) -> Sent:
    shown = row.live(NEVER, STATIC if column.static else (), table, now)
    newest = [each.ts for (name, _), shards in row.shards.items() if name == column.name for each in shards]
    if shown is None or shown[column.name] is None:
        return Sent()
    return Sent(number(8, shown[column.name]), number(8, max(newest)))


def _collection(type_: str, paths: Sequence[str | None], cells: Sequence[Cell | None]) -> bytes:
    if type_ == "set<int>":
        return _list([number(4, int(path or "")) for path in paths])
    values = [None if cell is None else _raw(cell.value) for cell in cells]
    if type_ == "pair":
        return b"".join(map(_framed, values))
    if type_ == "list<int>":
        return _list(values)
    names = [number(4, int(path or "")) for path in paths]
    pairs = zip(names, values, strict=True)
    return number(4, len(names)) + b"".join(_framed(name) + _framed(value) for name, value in pairs)


def _list(parts: Sequence[bytes | None]) -> bytes:
    return number(4, len(parts)) + b"".join(map(_framed, parts))


def _framed(value: bytes | None) -> bytes:
    return number(4, -1) if value is None else number(4, len(value)) + value


def _time(cell: Cell | None) -> bytes | None:
    return None if cell is None else number(8, cell.ts)


def _end(cell: Cell | None, now: int) -> bytes | None:
    return None if cell is None or cell.expires is None else number(4, cell.expires - now)


def _raw(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else number(4, value)
