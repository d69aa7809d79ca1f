"""The format `debezium`: the envelope that Debezium's sinks, Flink, RisingWave and their like read, as JSON.

    {"before": …, "after": …, "source": {…}, "op": "c", "ts_ms": …}

Of one row are `c` (insert), `u` (update) and `d` (delete); `t` is a truncate. What deletes several rows at once such
readers have no word for: its `op` is the change row's own (`delete_range`, `delete_partition`), which they refuse or
skip, and never take for a row. Knows no connection and no schema.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import joined, quoted
from tailer.sinks.envelope.changes import BYTES, Changes, json_texts, where
from tailer.types import quote

CONNECTOR: Final = "cdc-tail"

_MORE: Final = ("ttl", "expires_at", "cells", "deltas", "range", "txn", "attrs")
"""What `source` has only where the change row has it."""
_TEXTS: Final = frozenset({"txn"})
_NUMBERS: Final = frozenset({"ttl", "expires_at"})


class Debezium:
    """Makes keys and values. `version`, `name`: as `source` says them."""

    def __init__(self, version: str, name: str) -> None:
        self._about = about(version, name)

    def made(self, changes: Changes, at_ms: int) -> tuple[pa.Array, pa.Array]:
        """Keys and values of the rows."""
        parts = Parts(changes, self._about)
        told = ('{"before":', changes.before, ',"after":', changes.after, ',"source":', parts.source)
        return changes.key, joined(*told, ',"op":"', parts.op, f'","ts_ms":{at_ms}}}')


def about(version: str, name: str) -> str:
    """The fields with which `source` begins."""
    return f'"version":{quote(version)},"connector":"{CONNECTOR}","name":{quote(name)}'


class Parts:
    """The parts of the envelope, row by row. `about`: fields with which `source` begins. `names_set`: as `Changes` has
    it; None: that of the changes. `flat`: what is JSON in it stands there as text, as a schema wants it."""

    def __init__(self, changes: Changes, about: str, names_set: pa.Array | None = None, *, flat: bool = False) -> None:
        self._changes = changes
        self._about = about
        self._names_set = names_set
        self._quoted = frozenset(_MORE) - _NUMBERS if flat else _TEXTS

    @cached_property
    def op(self) -> pa.Array:
        """One letter for a change of one row, else the change row's own word."""
        known = self._changes.column("op").dictionary_encode()
        words = [self._changes.letters.get(word, word) for word in known.dictionary.to_pylist()]
        op = pa.array(words, pa.string()).take(known.indices).cast(BYTES)
        return pc.if_else(self._changes.deletes_row, pa.scalar(b"d", BYTES), op)

    @cached_property
    def source(self) -> pa.Array:
        """Where the change comes from, and what Debezium's envelope has no word for."""
        changes = self._changes
        keyspace, table = (quoted(each).cast(BYTES) for each in changes.names())
        us = changes.text("write_ts")
        parts: list[pa.Array | str] = [
            f'{{{self._about},"ts_ms":', _or_null(_millis(changes.column("write_ts"))), ',"ts_us":', _or_null(us),
            ',"keyspace":', keyspace, ',"table":', table, ',"node":', _or_null(quoted(changes.text("node"))),
            ',"segment":', _or_null(changes.text("segment")), ',"offset":', _or_null(changes.text("offset")),
            ',"event_id":', _or_null(quoted(changes.text("event_id"))), ',"partial":', json_texts(changes.partial),
        ]  # fmt: skip
        names_set = changes.names_set if self._names_set is None else self._names_set
        parts.append(joined(',"set":', names_set).fill_null(b""))
        static = changes.column("is_static")
        if pc.any(static).as_py():
            parts.append(where(static, pa.repeat(pa.scalar(b',"static":true', BYTES), len(changes))))
        for name in _MORE:
            values = changes.deltas if name == "deltas" else changes.text(name)
            if values.null_count < len(values):
                text = quoted(values) if name in self._quoted else values
                parts.append(joined(f',"{name}":', text).fill_null(b""))
        for name, values in changes.extras:
            parts += [f',"{name}":', json_texts(values)]
        return joined(*parts, "}")


def _or_null(texts: pa.Array) -> pa.Array:
    return texts.fill_null(b"null") if texts.null_count else texts


def _millis(micros: pa.Array) -> pa.Array:
    """Milliseconds as text, rounded down."""
    whole = pa.array(np.floor_divide(micros.fill_null(0).to_numpy(), 1000)).cast(pa.string()).cast(BYTES)
    return pc.if_else(micros.is_valid(), whole, pa.scalar(None, BYTES)) if micros.null_count else whole
