"""Rows that wait for their commit, as messages in columns, and how long these are. Knows no broker and no topic."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, fields
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailer.sinks.base import Rows
from tailer.sinks.envelope.messages import Messages
from tailer.sinks.kafka.record_size import MORE_IN_BATCH, batch_size

_HEADERS: Final = ("event_id", "node", "position")
_FRAME: Final = batch_size(None, None, [(name, b"") for name in _HEADERS]) + 5 * 4 + MORE_IN_BATCH
"""More than a message has in a batch besides its contents."""


@dataclass(frozen=True, slots=True)
class Held:
    """The messages of a batch. `bytes`: of all of them; `longest`: none is longer. `tables`: theirs, keyspace and name.
    `keyless`: whether any has no key."""

    batch: Rows
    messages: Messages
    bytes: int
    longest: int
    tables: frozenset[tuple[str, str]]
    keyless: bool

    def without(self, rows: Container[int]) -> Held:
        """The same but for some rows of the batch."""
        stay = pa.array([row not in rows for row in self.messages.row.to_pylist()], pa.bool_())
        columns = {each.name: getattr(self.messages, each.name).filter(stay) for each in fields(self.messages)}
        return hold(self.batch, Messages(**columns))


def hold(batch: Rows, messages: Messages) -> Held:
    """The messages that were made of a batch."""
    sizes = np.full(len(messages), _FRAME, np.int64)
    for name in ("key", "value", *_HEADERS):
        sizes += _lengths(getattr(messages, name))
    return Held(
        batch,
        messages,
        int(sizes.sum()),
        int(sizes.max(initial=0)),
        _tables(messages.keyspace, messages.table),
        messages.key.null_count > 0,
    )


def _tables(keyspaces: pa.Array, tables: pa.Array) -> frozenset[tuple[str, str]]:
    """The pairs that there are."""
    known, named = keyspaces.unique().to_pylist(), tables.unique().to_pylist()
    if min(len(known), len(named)) <= 1:
        # Of a batch of few rows finding this out is most of the work: so it is asked without a query.
        return frozenset(product(known, named))
    pairs = pa.table({"keyspace": keyspaces, "table": tables}).group_by(["keyspace", "table"]).aggregate([]).to_pydict()
    return frozenset(zip(pairs["keyspace"], pairs["table"], strict=True))


def _lengths(texts: pa.Array) -> npt.NDArray[np.int64]:
    lengths: npt.NDArray[np.int64] = pc.binary_length(texts).fill_null(0).cast(pa.int64()).to_numpy()
    return lengths
