"""A change record's rows as values of JSON again: what a program gets when it replays its own log. Knows no file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tailer.scan.record.record import Change, Definition, Elements, Row
from tailer.schema.model import TableDefinition
from tailer.schema.record_definitions import definition_of
from tailer.types import CqlType, parse_type
from tailer.types.cql import Shape
from tailer.types.kinds import ELEMENT_ID

OPS: Final = ("insert", "update", "delete_row", "delete_range", "delete_partition")


class RowValues(NamedTuple):
    """A row: what was done, the key's values, and the columns' by name; None is deleted, an absent name untouched.

    Values are those of their CQL JSON: numbers, strings, lists, dicts. A non-frozen column that was changed by element
    is `{"replaced": …, "put": …, "removed": […]}`, as in change rows. `range`: the bounds of a `delete_range`.
    """

    op: str
    key: dict[str, Any]
    columns: dict[str, Any]
    range: dict[str, Any] | None = None


@lru_cache(maxsize=256)
def known(record: Definition) -> TableDefinition:
    """The definition that a record says."""
    return definition_of(record)


def row_values(definition: TableDefinition, change: Change) -> Iterator[RowValues]:
    """The change's rows, in order. `definition` must be the one that its fingerprint names."""
    for row in change.rows:
        yield _row(definition, row)


def _row(definition: TableDefinition, row: Row) -> RowValues:
    keys = zip(definition.partition_key, row.partition_key, strict=True)
    key = {column.name: _value(definition, column.type, value) for column, value in keys}
    for column, value in zip(definition.clustering, row.clustering or (), strict=False):
        key[column.name] = _value(definition, column.type, value)
    columns: dict[str, Any] = {}
    for cell in row.cells:
        column = definition.columns[cell.column]
        if cell.elements is not None:
            columns[column.name] = _elements(_type(definition, column.type), cell.elements)
        else:
            columns[column.name] = None if cell.value is None else _value(definition, column.type, cell.value)
    return RowValues(OPS[row.op], key, columns, _range(definition, row))


def _range(definition: TableDefinition, row: Row) -> dict[str, Any] | None:
    if row.bounds is None:
        return None
    bounds = row.bounds
    sides = {
        name: None
        if values is None
        else {
            column.name: _value(definition, column.type, value)
            for column, value in zip(definition.clustering, values, strict=False)
        }
        for name, values in (("start", bounds.start), ("end", bounds.end))
    }
    return {**sides, "start_inclusive": bounds.start_inclusive, "end_inclusive": bounds.end_inclusive}


def _elements(type_: CqlType, elements: Elements) -> dict[str, Any]:
    made: dict[str, Any] = {"replaced": elements.deleted_ts is not None}
    put = [(item.path, item.value) for item in elements.items if item.value is not None]
    removed = [item.path for item in elements.items if item.value is None]
    path = _PATHS[type_.shape](type_)
    if put and type_.shape is Shape.SET:
        made["put"] = [path(each) for each, _ in put]
    elif put and type_.shape is Shape.LIST:
        made["put"] = [[path(each), _json(type_.element, value)] for each, value in put]
    elif put and type_.shape is Shape.MAP:
        made["put"] = {path(each): _json(type_.value, value) for each, value in put}
    elif put:
        parts = dict(type_.fields)
        made["put"] = {path(each): _json(parts[path(each)], value) for each, value in put}
    if removed:
        made["removed"] = [path(each) for each in removed]
    return made


def _list_id(type_: CqlType) -> Callable[[bytes], Any]:
    return lambda path: _json(ELEMENT_ID, path)


def _map_key(type_: CqlType) -> Callable[[bytes], Any]:
    return lambda path: json.loads(type_.key.key_json(path))


_PATHS: Final[dict[Shape, Callable[[CqlType], Callable[[bytes], Any]]]] = {
    Shape.LIST: _list_id,
    Shape.SET: lambda type_: lambda path: _json(type_.element, path),
    Shape.MAP: _map_key,
    Shape.UDT: lambda type_: lambda path: type_.names[int.from_bytes(path, "big")],
}


@lru_cache(maxsize=1024)
def _plain_type(text: str) -> CqlType:
    return parse_type(text, {})


def _type(definition: TableDefinition, text: str) -> CqlType:
    return parse_type(text, definition.types) if definition.types else _plain_type(text)


def _value(definition: TableDefinition, text: str, value: bytes) -> Any:
    return _json(_type(definition, text), value)


def _json(type_: CqlType, value: bytes | None) -> Any:
    return None if value is None else json.loads(type_.json(value))
