"""Rows of the compiled and of the plain build put together, in log order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tailer.change.batch import Batch
from tailer.change.fast.arrays import FIXED, OFFSET, OPS, TEXT_BYTES_MAX, Rows, Texts, no_texts, text_bytes, texts_of
from tailer.change.fast.batch import ArrayBatch
from tailer.change.fast.lines import picked
from tailer.types.fast.plan import Numbers


def merged(batch: ArrayBatch, plain: Batch) -> ArrayBatch | None:
    """The rows of both, which have no entry in common; None if together they are more text than Arrow can hold."""
    if not len(plain):
        return batch
    fixed = np.concatenate((batch.arrays.fixed, _fixed(plain, batch)), axis=1)
    order = np.argsort(fixed[OFFSET], kind="stable")
    names = ("partition_key", "clustering", "columns", "cells", "range")
    ours = (*batch.arrays[1:], batch.range or no_texts(len(batch)))
    pairs = [(texts, texts_of(plain.column(name))) for texts, name in zip(ours, names, strict=True)]
    if any(text_bytes(one) + text_bytes(other) > TEXT_BYTES_MAX for one, other in pairs):
        return None
    *texts, ranges = (picked(_joined(*pair), order) for pair in pairs)
    rows = Rows(np.ascontiguousarray(fixed[:, order]), *texts)
    return ArrayBatch(rows, ranges, batch.tables, batch.node, batch.segment)


def _fixed(plain: Batch, batch: ArrayBatch) -> Numbers:
    numbers = {table.table_id: number for number, table in enumerate(batch.tables)}
    ttl, token = plain.column("ttl"), plain.column("token")
    lines: list[list[Any]] = [
        [numbers[table_id] for table_id in plain.column("table_id")],
        [OPS.index(op) for op in plain.column("op")],
        plain.column("is_static"),
        plain.column("write_ts"),
        [value is not None for value in ttl],
        [value or 0 for value in ttl],
        [value or 0 for value in plain.column("expires_at")],
        [value is not None for value in token],
        [value or 0 for value in token],
        plain.column("offset"),
        plain.column("row"),
    ]
    return np.array(lines, np.int64).reshape(FIXED, len(plain))


def _joined(one: Texts, other: Texts) -> Texts:
    base = int(one.offsets[-1])
    return Texts(
        np.concatenate((one.offsets, other.offsets[1:] + np.int32(base))),
        np.concatenate((one.data[:base], other.data)),
        np.concatenate((one.valid, other.valid)),
    )
