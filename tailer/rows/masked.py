"""Rows of tables that have masks: values hidden, rows built, columns taken out. Where the masks of all rows are done.

What is hashed or cut is so in the index already (`hidden.py`); what is null or left out goes from the rows, so that
their times and numbers stay what they are. Whatever a fault says of values stays here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from tailer.rows.batch import COLUMNS, Batch, ChangeBatch
from tailer.rows.choice import AnyBatch, Made, build_rows
from tailer.rows.masked_texts import shown_cells, shown_columns, shown_range
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, PreparedTable
from tailer.rows.table_masks import TableMasks
from tailer.scan.index import Index
from tailer.schema.typed import TypedTable

_WHY: Final = "what it is stays untold, for this run masks values"


def shown_rows(index: Index, data: bytes, prepared: Prepared, place: Place, typed: TypedTable | None) -> Made:
    """`build_rows`, masked; at no cost where nothing is."""
    if not prepared.masked:
        return build_rows(index, data, prepared, place, typed)
    # Only who asked for masks needs them.
    from tailer.rows.hidden import hidden

    tables = [prepared.tables[number] for number in prepared.masked]
    index, data = hidden(index, data, prepared)
    if typed is None:
        made = build_rows(index, data, prepared, place, None)
        rows: AnyBatch = _generic_rows(made.batch, tables)  # type: ignore[arg-type]  # no typed form was asked for
    else:
        from tailer.rows.typed.masked import typed_rows, with_left_out

        made = build_rows(index, data, prepared, place, with_left_out(typed, tables))
        rows = typed_rows(made.batch, typed, tables)  # type: ignore[arg-type]  # a typed form was asked for
    return made._replace(batch=rows, faults=[fault._replace(reason=_WHY) for fault in made.faults])


def _generic_rows(batch: Batch, tables: Collection[PreparedTable]) -> Batch:
    of_table = {(each.definition.keyspace, each.definition.table): each.masks for each in tables}
    names = list(zip(batch.column("keyspace"), batch.column("table"), strict=True))
    masks = [of_table.get(name) for name in names]
    if not any(masks):
        return batch
    made: dict[str, list[Any]] = {}
    for name, change in _CHANGES.items():
        pairs = zip(batch.column(name), masks, strict=True)
        made[name] = [text if text is None or of is None else change(text, of) for text, of in pairs]
    return ChangeBatch(tuple(made.get(name) or batch.column(name) for name in COLUMNS))


_CHANGES: Final[Mapping[str, Callable[[str, TableMasks], str | None]]] = {
    "columns": shown_columns,
    "range": shown_range,
    "cells": shown_cells,
}
"""What becomes of the JSON of a row, by its column."""
