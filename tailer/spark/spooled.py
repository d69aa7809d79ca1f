"""A piece of a snapshot in a partition: its file's name, or its bytes where executors do not see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tailer.errors import UsageError
from tailer.snapshot.spool import read_piece
from tailer.typed_decode import decode_msgpack

if TYPE_CHECKING:
    import pyarrow

MARK: Final = b"\0"
"""What such a partition begins with, and no other one does."""


class PieceJob(msgspec.Struct, frozen=True, array_like=True):
    """`data`: the file's bytes, None where the task reads it. `ranges`: with the row that tells its range."""

    file: str
    data: bytes | None
    ranges: bool


def pack_piece(job: PieceJob) -> bytes:
    """The partition's value."""
    return MARK + msgspec.msgpack.encode(job)


def is_piece(value: bytes) -> bool:
    """Whether a partition's value is one of these."""
    return value.startswith(MARK)


def read_piece_job(value: bytes) -> Iterator[pyarrow.RecordBatch]:
    """The rows of the piece. UsageError where the task does not see its file."""
    job = decode_msgpack(value[len(MARK) :], PieceJob)
    yield read_piece(_bytes(job), job.file, ranges=job.ranges)


def _bytes(job: PieceJob) -> bytes:
    if job.data is not None:
        return job.data
    try:
        return Path(job.file).read_bytes()
    except FileNotFoundError:
        raise UsageError(
            "this executor does not see the rows of the snapshot",
            file=job.file,
            remedy="Mount it under the same path on every executor (option snapshotSpool), or set readOn=driver.",
        ) from None
