"""What an executor does: reads one span with what its partition holds, and nothing else.

A partition's value is bytes of plain data: folder, file, span, definitions, options, decisions, and where the driver
reads the files the bytes of the span. It holds no secret:
the keystore's passwords come from the executor's own environment.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tailer.definitions.at_spans import builtin
from tailer.errors import ACCEPT, CdcError, LossError, UsageError
from tailer.jit.ready import take_notices
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import FileTask
from tailer.position import Position, Span
from tailer.reading.reader import Reader, left_out_notices
from tailer.reading.task import Change, ReadTask
from tailer.schema.model import TableDefinition
from tailer.schema.selection import Selection
from tailer.schema.typed import TypedTable
from tailer.segments.keystore import key_source
from tailer.segments.segment import KeySource, SegmentFile
from tailer.segments.segments import FolderSegments, Segments
from tailer.spark.carry import CarriedSegments, CarriedSpan, opened

if TYPE_CHECKING:
    import pyarrow

_SpanParts = tuple[int, int, int, int, int, int]


class Job(msgspec.Struct, frozen=True, array_like=True):
    """A read task as it travels. `definitions` and each change's are packed tables; what is built in stays at home.

    `keystore`, `password_file`: paths, or empty. `typed`: a packed TypedTable, None for the generic form. `carried`:
    the span's bytes, None where the file is read.
    """

    folder: str
    file: str
    node: str
    span: _SpanParts
    definitions: bytes
    changes: tuple[tuple[int, bytes], ...]
    tables: tuple[str, ...]
    complete: bool
    schema_changes: bool
    skips: tuple[tuple[int, int], ...]
    keystore: str
    password_file: str
    typed: bytes | None = None
    carried: CarriedSpan | None = None
    history_begins: int = 0
    walk_skips: tuple[tuple[int, int, int], ...] = ()


class JobPacker:
    """Packs tasks; the definitions, which seldom change, only once."""

    def __init__(self) -> None:
        self._last: tuple[Mapping[str, TableDefinition], bytes] | None = None

    def pack(self, planned: FileTask, folder: Path, options: TailOptions, carried: CarriedSpan | None = None) -> bytes:
        task, span = planned.task, planned.task.span
        job = Job(
            str(folder),
            planned.file,
            task.node,
            (span.segment, span.start, span.end, span.at, span.lower, span.upper),
            self._definitions(task.definitions),
            tuple((change.end, _pack(change.definitions)) for change in task.changes),
            task.selection.tables,
            task.complete,
            task.schema_changes,
            task.skips,
            str(options.keystore or ""),
            str(options.keystore_password_file or ""),
            None if task.typed is None else msgspec.msgpack.encode(task.typed),
            carried,
            task.history_begins,
            task.walk_skips,
        )
        return msgspec.msgpack.encode(job)

    def _definitions(self, definitions: Mapping[str, TableDefinition]) -> bytes:
        if self._last is None or self._last[0] is not definitions:
            self._last = definitions, _pack(definitions)
        return self._last[1]


def read_job(value: bytes) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a partition, as record batches of the form that was pinned for it. Raises the documented errors."""
    job = msgspec.msgpack.decode(value, type=Job)
    task = ReadTask(
        job.node,
        Span(*job.span),
        _unpack_all(job.definitions),
        tuple(Change(end, _unpack(packed)) for end, packed in job.changes),
        Selection(job.tables),
        job.complete,
        job.schema_changes,
        job.skips,
        None if job.typed is None else _unpack_form(job.typed),
        job.history_begins,
        job.walk_skips,
        None if job.carried is None else job.carried.walk,
    )
    keys = _keys(job)
    with _open(job, keys) as file:
        for batch in _READER.read(task, file, _raise, _segments(job, keys)):
            yield batch.to_arrow()
    for notice in (*take_notices(), *_left_out()):
        # Ends in the executor's log.
        sys.stderr.write(f"cdc_tail: {notice}\n")


_READER: Final = Reader()
"""One for the worker's life: what was compiled for one micro-batch serves the next."""

_Tables = dict[str, TableDefinition]
_DECODER: Final = msgspec.msgpack.Decoder(_Tables)


def _keys(job: Job) -> KeySource:
    keystore, password_file = (Path(each) if each else None for each in (job.keystore, job.password_file))
    return key_source(keystore, password_file)


def _segments(job: Job, keys: KeySource) -> Segments:
    if job.carried is not None:
        return CarriedSegments(job.carried.others, keys)
    return FolderSegments(Path(job.folder), keys)


def _open(job: Job, keys: KeySource) -> SegmentFile:
    folder, segment = Path(job.folder), job.span[0]
    if job.carried is not None:
        return opened(job.carried.own, job.file, segment, keys)
    try:
        return SegmentFile(folder / job.file, segment, keys)
    except FileNotFoundError:
        if folder.is_dir():
            lost = Position(segment, job.span[4])
            raise LossError(
                f"Changes are lost: a segment was deleted before it was read; the first position not read is {lost}",
                at=lost,
                file=job.file,
                remedy=ACCEPT,
            ) from None
    raise UsageError(
        f"this executor ({socket.gethostname()}) does not see the log folder",
        file=job.folder,
        remedy="Mount it under the same path on every executor, or set option readOn=driver.",
    )


def _left_out() -> list[str]:
    """What the typed form of this task had no column for, and what began before anything that is known."""
    left_out = left_out_notices(_READER.left_out, " (onSchemaChange=ignore)")
    _READER.left_out.clear()
    return [*_READER.take_notices(), *left_out]


def _raise(at: Position, error: CdcError, data: bytes) -> None:
    raise error


def _pack(definitions: Mapping[str, TableDefinition]) -> bytes:
    home = builtin()
    return msgspec.msgpack.encode({id: held for id, held in definitions.items() if home.get(id) is not held})


def _unpack(packed: bytes) -> _Tables:
    return _DECODER.decode(packed)


@lru_cache(maxsize=8)
def _unpack_form(packed: bytes) -> TypedTable:
    return msgspec.msgpack.decode(packed, type=TypedTable)


@lru_cache(maxsize=8)
def _unpack_all(packed: bytes) -> Mapping[str, TableDefinition]:
    """The same object for the same bytes: what was compiled for it is used again."""
    return {**builtin(), **_unpack(packed)}
