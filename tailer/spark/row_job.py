"""Rows that are in a partition themselves: of definitions that no entry tells (`planning.untold`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tailer.rows.batch import ChangeBatch
from tailer.schema.extras import NO_EXTRAS, Extras

if TYPE_CHECKING:
    import pyarrow

MARK: Final = b"\1"
"""What such a partition begins with, and no other one does."""


def pack_rows(batches: Sequence[ChangeBatch], extras: Extras = NO_EXTRAS) -> bytes:
    """The partition's value, of one batch at least. `extras`: see `widened`; no row of these has a token."""
    import pyarrow

    from tailer.rows.widened import widened

    made = [widened(batch, extras, None).to_arrow() for batch in batches]
    out = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(out, made[0].schema) as stream:
        for batch in made:
            stream.write_batch(batch)
    return MARK + bytes(out.getvalue())


def has_rows(value: bytes) -> bool:
    """Whether a partition's value is one of these."""
    return value.startswith(MARK)


def read_rows(value: bytes) -> Iterator[pyarrow.RecordBatch]:
    """The rows."""
    import pyarrow

    with pyarrow.ipc.open_stream(pyarrow.py_buffer(value[len(MARK) :])) as stream:
        yield from stream
