"""Rows of Arrow, with a table's own columns, spelled as `rebuilt.spelled` spells the server's."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from tailer.rebuild import Table
from tailer.types import CqlType, parse_type
from tailer.types.vint import write_signed
from tests.helpers.rebuilt import spelled
from tests.oracle.jsontext import Json, Number, dumps, loads

_TEXTS = ("ascii", "inet", "text", "timeuuid", "uuid")


def spelled_rows(rows: pa.Table, table: Table) -> list[str]:
    """With `decimals` = string. What the typed form cannot tell from null (an empty value) is left out."""
    types = {c.name: parse_type(c.type, table.definition.types) for c in table.definition.columns if not c.dropped}
    assert set(rows.column_names) == set(types)
    columns = {name: [_json(types[name], cell) for cell in rows[name].combine_chunks()] for name in rows.column_names}
    return sorted(
        spelled({name: cells[at] for name, cells in columns.items() if cells[at] is not None})
        for at in range(rows.num_rows)
    )


def without_empty(rows: Iterable[str]) -> list[str]:
    """The server's rows without what the typed form shows as null."""
    return sorted(spelled(_without(loads(row))) for row in rows)


def _without(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_without(part) for part in value]
    return None if value == "" else value


def _json(type_: CqlType, cell: Any) -> Json:
    if not cell.is_valid:
        return None
    kind = type_.kind
    if kind in ("list", "set", "vector"):
        return [_json(type_.element, part) for part in cell.values]
    if kind == "map":
        return {_name(type_.key, part): _json(type_.value, held) for part, held in _entries(cell)}
    if kind in ("tuple", "udt"):
        parts = [_json(part, cell[at]) for at, part in enumerate(type_.arguments)]
        return parts if kind == "tuple" else dict(zip(type_.names, parts, strict=True))
    return _scalar(type_, cell)


def _entries(cell: Any) -> list[tuple[Any, Any]]:
    return [(part[0], part[1]) for part in cell.values]


def _name(type_: CqlType, part: Any) -> str:
    value = part.as_py() if type_.kind in _TEXTS else _json(type_, part)
    return value if isinstance(value, str) and not isinstance(value, Number) else dumps(value)


def _scalar(type_: CqlType, cell: Any) -> Json:
    kind = type_.kind
    if kind in _TEXTS:
        return cell.as_py() or None
    if kind in ("decimal", "varint"):
        return loads(cell.as_py())
    if kind == "duration":
        return loads(type_.json(b"".join(write_signed(part.as_py()) for part in cell.values())))
    if kind in ("bigint", "boolean", "counter", "int", "smallint", "tinyint"):
        return cell.as_py()
    return loads(type_.json(_bytes(kind, cell)))


def _bytes(kind: str, cell: Any) -> bytes:
    if kind == "timestamp":
        return struct.pack(">q", cell.value // 1000)
    if kind == "date":
        return struct.pack(">I", cell.value + 2**31)
    layouts = {"double": ">d", "float": ">f", "time": ">q"}
    value: bytes = struct.pack(layouts[kind], cell.as_py()) if kind in layouts else cell.as_py()
    return value
