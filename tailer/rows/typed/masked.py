"""Typed rows without what is masked: columns that are null or left out, and where the change itself repeats them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa

from tailer.rows.masked_texts import shown_cells, shown_columns, shown_range
from tailer.rows.prepared import PreparedTable
from tailer.rows.table_masks import TableMasks
from tailer.rows.typed.batch import TypedBatch
from tailer.rows.typed.form import form_of
from tailer.schema.model import TypeField
from tailer.schema.typed import META, TypedColumn, TypedTable


def with_left_out(typed: TypedTable, tables: Collection[PreparedTable]) -> TypedTable:
    """The form that rows are built in: with the columns that do not come out, for their values have a place too."""
    added: dict[str, TypedColumn] = {}
    types: dict[str, tuple[TypeField, ...]] = {}
    for table in tables:
        if table.definition.name != typed.table or table.masks is None:
            continue
        # A column that was dropped and added again is the one that is there.
        for column in sorted(table.definition.data_columns, key=lambda column: column.dropped):
            if column.name in table.masks.left_out and column.name not in added:
                added[column.name] = TypedColumn(column.name, column.kind, column.type)
                types.update(table.definition.types)
    columns = (*typed.columns, *added.values())
    return msgspec.structs.replace(typed, columns=columns, types={**types, **typed.types})


def typed_rows(batch: TypedBatch, typed: TypedTable, tables: Collection[PreparedTable]) -> TypedBatch:
    """The rows in the form `typed`."""
    form = form_of(typed)
    masks = next((table.masks for table in tables if table.definition.name == typed.table), None)
    if masks is None:
        return batch
    rows, own = len(batch), len(form.columns)
    arrays = [
        pa.nulls(rows, field.type) if field.name in masks.nulled else batch.batch.column(number)
        for number, field in enumerate(list(form.schema)[:own])
    ]
    for name, array in zip(META, batch.batch.columns[len(batch.form.columns) :], strict=True):
        change = _CHANGES.get(name)
        arrays.append(array if change is None else _changed(array, change, masks))
    return TypedBatch(form, pa.RecordBatch.from_arrays(arrays, schema=form.schema))


def _changed(array: pa.Array, change: Callable[[Any, TableMasks], Any], masks: TableMasks) -> pa.Array:
    if array.null_count == len(array):
        return array
    return pa.array([None if told is None else change(told, masks) for told in array.to_pylist()], array.type)


def _shown_set(names: list[str], masks: TableMasks) -> list[str]:
    return [name for name in names if name not in masks.left_out]


def _shown_deltas(text: str, masks: TableMasks) -> str | None:
    shown = shown_columns(text, masks)
    return None if shown == "{}" else shown


_CHANGES: Final[Mapping[str, Callable[[Any, TableMasks], Any]]] = {
    "set": _shown_set,
    "deltas": _shown_deltas,
    "range": shown_range,
    "cells": shown_cells,
}
