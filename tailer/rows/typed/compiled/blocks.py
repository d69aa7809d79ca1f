"""Columns of one kind at once: of a table with hundreds of columns most time would go between the calls for each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailer.jit.addresses import address_of
from tailer.rows.typed.columns import FIXED, Source
from tailer.rows.typed.compiled.decode import put_fixed_columns
from tailer.rows.typed.compiled.straight_rows import StraightRows
from tailer.rows.typed.form import Form
from tailer.types import forms

Numbers = npt.NDArray[Any]

COLUMNS_LEAST: Final = 8
"""Of one kind, that are made at once."""


def block_arrays(form: Form, source: Source, straight: StraightRows) -> dict[int, pa.Array]:
    """The values of columns of constant size of which there are many, by slot; rows are marked whose value is none."""
    made: dict[int, pa.Array] = {}
    if len(form.columns) < COLUMNS_LEAST:
        return made
    by_kind: dict[str, list[int]] = {}
    for slot, column in enumerate(form.columns):
        by_kind.setdefault(column.type.kind, []).append(slot)
    for kind, slots in by_kind.items():
        if kind in FIXED and len(slots) >= COLUMNS_LEAST and FIXED[kind][0] != forms.BOOLEAN:
            made |= _arrays(form, kind, slots, source, straight)
    return made


def _arrays(form: Form, kind: str, slots: list[int], source: Source, straight: StraightRows) -> dict[int, pa.Array]:
    rows, columns, (how, width), where = straight.rows, len(slots), FIXED[kind], straight.places
    memory, counts = np.empty((width + 1) * columns * rows, np.uint8), np.empty(columns, np.int64)
    lines = where.line * np.array(slots, np.int64)
    places = np.ascontiguousarray(np.stack((where.off + lines, where.length + lines), axis=1))
    valid, out = memory[width * columns * rows :].reshape(columns, rows), address_of(memory)
    there = out, address_of(valid), where.bad, address_of(counts)
    put_fixed_columns(how, source.base, address_of(places), columns, rows, width, *there)
    held, made = pa.py_buffer(memory), {}
    for number, (slot, count) in enumerate(zip(slots, counts.tolist(), strict=True)):
        column = form.columns[slot]
        if count:
            marks = None if count == rows else pa.py_buffer(np.packbits(valid[number], bitorder="little"))
            values = held.slice(number * width * rows, width * rows)
            made[slot] = pa.Array.from_buffers(column.arrow, rows, [marks, values], rows - count)
        else:
            made[slot] = form.repeated.array(column.name, column.arrow, None, rows)
    return made
