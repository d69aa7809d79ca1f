"""Rows of the compiled and of the plain build put together, in log order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tailer.rows.batch import Batch
from tailer.rows.generic.compiled import arrays as a
from tailer.rows.generic.compiled.arrays import Rows, Texts, no_texts, text_bytes, texts_of
from tailer.rows.generic.compiled.batch import ArrayBatch
from tailer.rows.generic.compiled.lines import picked
from tailer.types.compiled.plan import Numbers


def merged(batch: ArrayBatch, plain: Batch) -> ArrayBatch | None:
    """The rows of both, which have no entry in common; None if together they are more text than Arrow can hold."""
    if not len(plain):
        return batch
    fixed = np.concatenate((batch.arrays.fixed, _fixed(plain, batch)), axis=1)
    # Numbers count through a transaction, whose rows all stand at one offset.
    order = np.lexsort((fixed[a.NUMBER], fixed[a.OFFSET]))
    names = ("partition_key", "clustering", "columns", "cells", "range", "attrs")
    ours = (*batch.arrays[1:], batch.attrs or no_texts(len(batch)))
    pairs = [(texts, texts_of(plain.column(name))) for texts, name in zip(ours, names, strict=True)]
    if any(text_bytes(one) + text_bytes(other) > a.TEXT_BYTES_MAX for one, other in pairs):
        return None
    *texts, attrs = (picked(_joined(*pair), order) for pair in pairs)
    rows = Rows(np.ascontiguousarray(fixed[:, order]), *texts)
    return replace(batch, arrays=rows, attrs=attrs if attrs.valid.any() else None)


def _fixed(plain: Batch, batch: ArrayBatch) -> Numbers:
    tables = enumerate(batch.tables)
    numbers = {(t.definition.keyspace, t.definition.table, t.table_id): number for number, t in tables}
    named = zip(plain.column("keyspace"), plain.column("table"), plain.column("table_id"), strict=True)
    ttl, token = plain.column("ttl"), plain.column("token")
    lines: list[list[Any]] = [
        [numbers[names] for names in named],
        [a.OPS.index(op) for op in plain.column("op")],
        plain.column("is_static"),
        plain.column("write_ts"),
        [value is not None for value in ttl],
        [value or 0 for value in ttl],
        [value or 0 for value in plain.column("expires_at")],
        [value is not None for value in token],
        [value or 0 for value in token],
        plain.column("offset"),
        plain.column("row"),
        [0] * len(plain),
        [-1] * len(plain),
    ]
    return np.array(lines, np.int64).reshape(a.FIXED, len(plain))


def _joined(one: Texts, other: Texts) -> Texts:
    base = int(one.offsets[-1])
    return Texts(
        np.concatenate((one.offsets, other.offsets[1:] + np.int32(base))),
        np.concatenate((one.data[:base], other.data)),
        np.concatenate((one.valid, other.valid)),
    )
