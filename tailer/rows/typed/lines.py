"""Typed rows as JSON lines, column by column: what Arrow can spell it spells, the rest is spelled value by value.

One JSON object a row, all columns in order, nested objects, compact, UTF-8. `plain_lines` is the plain twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import is_clean, joined, letters
from tailer.rows.typed.form import Form
from tailer.schema.typed import META
from tailer.types import quote
from tailer.types.kinds import ROWS

JSON_TEXTS: Final = frozenset({"attrs", "cells", "deltas", "range"})
"""Those of META that are JSON text already."""

SMALL_ROWS: Final = 16
"""The plain twin is done with fewer before Arrow has begun."""

_NULL: Final = pa.scalar("null")

_NUMBERS: Final = frozenset(
    native.name for native in ROWS if not native.quoted and native.arrow in ("bool", "int8", "int16", "int32", "int64")
)
"""Kinds whose values Arrow spells as JSON does."""

Texts: TypeAlias = "pa.Array | pa.Scalar"
Spell = Callable[[Any], str]


def json_lines(form: Form, batch: pa.RecordBatch) -> bytes:
    """The rows' lines, each ended by a newline."""
    return (plain_lines if batch.num_rows < SMALL_ROWS else fast_lines)(form, batch)


def fast_lines(form: Form, batch: pa.RecordBatch) -> bytes:
    """By Arrow, as far as it can."""
    if batch.num_rows == 0:
        return b""
    parts: list[Texts] = []
    begin = "{"
    for name, column in zip(form.schema.names, _columns(form, batch), strict=True):
        parts += [pa.scalar(f"{begin}{quote(name)}:"), _texts(*column)]
        begin = ","
    lines = pc.binary_join_element_wise(*parts, pa.scalar("}\n"), "")
    return letters(lines).tobytes()


def own_texts(form: Form, batch: pa.RecordBatch) -> list[Texts]:
    """The JSON texts of the table's own columns, which `batch` begins with, each value as the lines have it."""
    return [_texts(*column) for column in _own(form, batch)]


def plain_lines(form: Form, batch: pa.RecordBatch) -> bytes:
    """Value by value."""
    texts: list[Sequence[str]] = [_one_by_one(values, spell) for values, _, spell in _columns(form, batch)]
    labels = [quote(name) + ":" for name in form.schema.names]
    lines = ["{" + ",".join(map(str.__add__, labels, row)) + "}\n" for row in zip(*texts, strict=True)]
    return "".join(lines).encode()


def _columns(form: Form, batch: pa.RecordBatch) -> list[tuple[pa.Array, str, Spell]]:
    """Each column's values, what they are, and how one of them is spelled."""
    meta = zip(META, batch.columns[len(form.columns) :], strict=True)
    return [
        *_own(form, batch),
        *((values, "json" if name in JSON_TEXTS else "meta", _spell(name)) for name, values in meta),
    ]


def _own(form: Form, batch: pa.RecordBatch) -> list[tuple[pa.Array, str, Spell]]:
    return [
        (values if column.plain == column.arrow else values.cast(column.plain), column.type.kind, column.json)
        for column, values in zip(form.columns, batch.columns[: len(form.columns)], strict=True)
    ]


def _texts(values: pa.Array, kind: str, spell: Spell) -> Texts:
    """The JSON texts of a column."""
    if values.null_count == len(values):
        return _NULL
    type_ = values.type
    if kind == "json":
        made: Any = values
    elif kind in _NUMBERS or (kind == "meta" and not pa.types.is_string(type_) and not pa.types.is_list(type_)):
        made = values.cast(pa.string())
    elif pa.types.is_string(type_) and is_clean(values):
        made = joined('"', values, '"')
    elif kind == "meta" and pa.types.is_list(type_) and is_clean(values.flatten()):
        made = _lists(values)
    else:
        return pa.array(_one_by_one(values, spell), pa.string())
    return made.fill_null("null") if made.null_count else made


def _one_by_one(values: pa.Array, spell: Spell) -> list[str]:
    return [spell(value) for value in values.to_pylist()]


def _lists(values: pa.Array) -> pa.Array:
    """Lists of names."""
    quoted = joined('"', values.flatten(), '"')
    # `flatten` leaves out what nulls and a slice's neighbours hold, so the lengths tell where each list lies now.
    lengths = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    named = pc.binary_join(pa.ListArray.from_arrays(ends, quoted), ",")
    return pc.if_else(values.is_valid(), joined("[", named, "]"), pa.scalar(None, pa.string()))


def _spell(name: str) -> Spell:
    if name in JSON_TEXTS:
        return lambda value: "null" if value is None else value
    return _any_text


def _any_text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case list():
            return f"[{','.join(map(quote, value))}]"
        case _:
            return quote(value)
