"""Values with a U+FFFD in place of what is no character (`tailer.types.texts`): how many, by table and column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from typing import Final

from tailer.reading.counted_notices import CountedNotices
from tailer.rows.choice import Decoded
from tailer.rows.generic.times import split_cells
from tailer.rows.prepared import Prepared, PreparedTable
from tailer.scan.index import CELL_DELETED, COMPLEX_DELETION, as_numbers
from tailer.types import CqlType, Shape
from tailer.types.texts import counted_replacements

ReplacedTexts = Counter[tuple[str, str]]
"""Numbers of values, by the names of table and column."""

_NO_VALUE: Final = CELL_DELETED | COMPLEX_DELETION


def replaced_texts(decoded: Decoded, prepared: Prepared) -> ReplacedTexts:
    """Those of the rows that entries gave. It reads every value once more: for entries that have such a text."""
    index, made = decoded.index, decoded.made
    without = {fault.entry for fault in made.faults}
    updates, cells = index.updates.tolist(), as_numbers(index.cells)
    width = len(cells) // max(len(index.cells), 1)
    found: ReplacedTexts = Counter()
    for line in index.rows.tolist():
        entry, number, *_ = updates[line[0]]
        table, (at, count) = prepared.tables[number], line[-2:]
        if made.misfit is not None and entry >= made.misfit.entry:
            break
        if entry not in without and table.delivered:
            of_row = split_cells(cells[at * width : (at + count) * width])
            found.update(_in_row(of_row, decoded.data, table, _hidden(table)))
    return found


def _hidden(table: PreparedTable) -> Container[str]:
    masks = table.masks
    return () if masks is None else masks.hidden | masks.nulled | masks.left_out


def _in_row(
    cells: list[list[int]], data: bytes, table: PreparedTable, hidden: Container[str]
) -> Iterator[tuple[str, str]]:
    for number, flags, _, _, _, path_off, path_len, off, length in cells:
        column = table.columns[number]
        if flags & _NO_VALUE or column.name in hidden:
            continue
        type_ = _type_of_value(column.type, data[path_off : path_off + path_len])
        if type_ is None:
            continue
        with counted_replacements() as count:
            type_.json(data[off : off + length])
        if count():
            yield table.definition.name, column.name


def _type_of_value(type_: CqlType, path: bytes) -> CqlType | None:
    """What the value of a cell is of; None where it holds no text."""
    if type_.shape is Shape.SIMPLE:
        return type_
    if type_.shape is Shape.LIST:
        return type_.element
    if type_.shape is Shape.MAP:
        return type_.value
    return type_.arguments[int.from_bytes(path, "big")] if type_.shape is Shape.UDT else None


def count_replaced(replaced: ReplacedTexts, notices: CountedNotices) -> None:
    """Move the numbers (`Reader.replaced`) into notices."""
    for (table, column), number in replaced.items():

        def sentence(number: int, table: str = table, column: str = column) -> str:
            return (
                f'warning: {number} values of column "{column}" of {table} have text that is no character, such as '
                "half of a surrogate pair: U+FFFD stands in its place"
            )

        notices.count(("replaced", table, column), sentence, sentence, number)
    replaced.clear()
