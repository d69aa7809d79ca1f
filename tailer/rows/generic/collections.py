"""The JSON of a change to a non-frozen collection or UDT: whole or by element (architecture section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tailer.rows.generic.times import Cell, RowTimes, difference
from tailer.scan.index import CELL_DELETED, COMPLEX_DELETION
from tailer.types import CqlType, Shape, quote
from tailer.types.kinds import ELEMENT_ID

ElementTexts = Callable[[CqlType, bytes, bytes | None], tuple[str, str]]
"""Of an element's path and value (None: removed): the text that names it, and the one that `put` has for it."""


def multi_texts(type_: CqlType, cells: list[Cell], data: bytes, row: RowTimes) -> tuple[str, str]:
    """What `columns` and `cells` have for one non-frozen column; the second is empty where nothing differs.

    `cells` are that column's, a complex deletion first. ValueError for bytes that are none of the type.
    """
    deletion = cells[0][2] if cells[0][1] & COMPLEX_DELETION else None
    elements = cells if deletion is None else cells[1:]
    if not elements:
        return "null", f'{{"deleted_ts":{deletion}}}' if deletion != row[0] else ""
    texts = _ELEMENTS[type_.shape]
    put: list[str] = []
    removed: list[str] = []
    differing: list[str] = []
    for cell in elements:
        _, flags, _, _, _, path_off, path_len, value_off, value_len = cell
        value = None if flags & CELL_DELETED else data[value_off : value_off + value_len]
        name, text = texts(type_, data[path_off : path_off + path_len], value)
        if value is None:
            removed.append(name)
        else:
            put.append(text)
        more = difference(cell, row)
        if more:
            differing.append(f"[{name},{more}]")
    return _change(type_, deletion, put, removed), _cells(deletion, differing, row)


def _change(type_: CqlType, deletion: int | None, put: list[str], removed: list[str]) -> str:
    text = '{"replaced":' + ("false" if deletion is None else "true")
    if put:
        all_put = ",".join(put)
        text += ',"put":' + (f"{{{all_put}}}" if type_.shape in (Shape.MAP, Shape.UDT) else f"[{all_put}]")
    if removed:
        text += f',"removed":[{",".join(removed)}]'
    return text + "}"


def _cells(deletion: int | None, differing: list[str], row: RowTimes) -> str:
    parts: list[str] = []
    # An overwrite deletes what was a microsecond before the statement.
    if deletion is not None and deletion != row[0] - 1:
        parts.append(f'"deleted_ts":{deletion}')
    if differing:
        parts.append(f'"elements":[{",".join(differing)}]')
    return "{" + ",".join(parts) + "}" if parts else ""


def _list_element(type_: CqlType, path: bytes, value: bytes | None) -> tuple[str, str]:
    if len(path) != 16:
        raise ValueError(f"{len(path)} bytes for the id of a list element, which has 16")
    name = ELEMENT_ID.json(path)
    return name, "" if value is None else f"[{name},{type_.element.json(value)}]"


def _set_element(type_: CqlType, path: bytes, value: bytes | None) -> tuple[str, str]:
    name = type_.element.json(path)
    return name, name


def _map_element(type_: CqlType, path: bytes, value: bytes | None) -> tuple[str, str]:
    name = type_.key.key_json(path)
    return name, "" if value is None else f"{name}:{type_.value.json(value)}"


def _udt_element(type_: CqlType, path: bytes, value: bytes | None) -> tuple[str, str]:
    field = int.from_bytes(path, "big", signed=True)
    if len(path) != 2 or not 0 <= field < len(type_.names):
        raise ValueError(f"field {field} ({len(path)} bytes) of {type_.text}, which has {len(type_.names)} fields")
    name = quote(type_.names[field])
    return name, "" if value is None else f"{name}:{type_.arguments[field].json(value)}"


_ELEMENTS: Final[dict[Shape, ElementTexts]] = {
    Shape.LIST: _list_element,
    Shape.SET: _set_element,
    Shape.MAP: _map_element,
    Shape.UDT: _udt_element,
}
