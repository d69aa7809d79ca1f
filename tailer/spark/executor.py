"""What an executor does: reads one span with what its partition holds, and nothing else.

A partition's value is bytes of plain data: folder, file, span, definitions, options, decisions, and where the driver
reads the files the bytes of the span. It holds no secret:
the keystore's passwords come from the executor's own environment.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tailer.definitions.at_spans import builtin
from tailer.errors import ACCEPT, CdcError, LossError, UsageError
from tailer.framing.name import parse_log_name
from tailer.jit.ready import take_notices
from tailer.options.log_place import LogPlace, NodeUrl, log_place
from tailer.options.tail import TailOptions
from tailer.planning.absent import check_mounted
from tailer.planning.batch_tasks import FileTask
from tailer.position import Position, Span
from tailer.reading.reader import Reader
from tailer.reading.task import Change, ReadTask
from tailer.remote.access import Access, access_of
from tailer.remote.link import Link
from tailer.remote.source import RemoteSource
from tailer.schema.extras import NO_EXTRAS, Extras
from tailer.schema.masks import NO_MASKS, Masks
from tailer.schema.model import TableDefinition
from tailer.schema.ring import Primaries
from tailer.schema.selection import Selection
from tailer.schema.typed import TypedTable
from tailer.segments.keystore import key_source
from tailer.segments.mask_key import mask_key
from tailer.segments.segment import KeySource, SegmentFile
from tailer.segments.segments import Segments, SourceSegments
from tailer.segments.source import FolderSource, Source, open_segment
from tailer.spark.carry import CarriedSegments, CarriedSpan, opened
from tailer.spark.executor_log import say
from tailer.spark.row_job import has_rows, read_rows
from tailer.spark.spooled import is_piece, read_piece_job
from tailer.spark.task_notices import TaskNotices
from tailer.spark.task_wait import TaskWait
from tailer.typed_decode import decode_msgpack, msgpack_decoder
from tailer.types.texts import OddKeys

if TYPE_CHECKING:
    import pyarrow

_SpanParts = tuple[int, int, int, int, int, int]


class Job(msgspec.Struct, frozen=True, array_like=True):
    """A read task as it travels. `definitions` and each change's are packed tables; what is built in stays at home.

    `keystore`, `password_file`, `mask_key`: paths, or empty. `typed`: a packed TypedTable, None for the generic form.
    `carried`: the span's bytes, None where the file is read. `access`: to a node that is asked for it, as paths; None
    for a folder. `wait`: seconds that a node which is away is waited for. `last`: of a read that ends, behind which the
    worker may be gone.
    """

    folder: str
    file: str
    node: str
    span: _SpanParts
    definitions: bytes
    changes: tuple[tuple[int, bytes], ...]
    tables: tuple[str, ...]
    schema_changes: bool
    skips: tuple[tuple[int, int], ...]
    keystore: str
    password_file: str
    typed: bytes | None = None
    carried: CarriedSpan | None = None
    history_begins: int = 0
    walk_skips: tuple[tuple[int, int, int], ...] = ()
    masks: Masks = NO_MASKS
    mask_key: str = ""
    extras: Extras = NO_EXTRAS
    ring: Primaries | None = None
    access: tuple[str, str, str, str] | None = None
    wait: float = 0.0
    odd_keys: OddKeys = "escape"
    lacks_some: bool = False
    last: bool = False


class JobPacker:
    """Packs tasks; the definitions, which seldom change, only once."""

    def __init__(self) -> None:
        self._last: tuple[Mapping[str, TableDefinition], bytes] | None = None

    def pack(
        self,
        planned: FileTask,
        place: LogPlace,
        options: TailOptions,
        carried: CarriedSpan | None = None,
        *,
        wait: float = 0.0,
        last: bool = False,
    ) -> bytes:
        task, span = planned.task, planned.task.span
        job = Job(
            str(place),
            planned.file,
            task.node,
            (span.segment, span.start, span.end, span.at, span.lower, span.upper),
            self._definitions(task.definitions),
            tuple((change.end, _pack(change.definitions)) for change in task.changes),
            task.selection.tables,
            task.schema_changes,
            task.skips,
            str(options.keystore or ""),
            str(options.keystore_password_file or ""),
            None if task.typed is None else msgspec.msgpack.encode(task.typed),
            carried,
            task.history_begins,
            task.walk_skips,
            task.masks,
            str(options.mask_key or ""),
            task.extras,
            task.ring,
            astuple(access_of(options)) if isinstance(place, NodeUrl) else None,
            wait,
            task.odd_keys,
            task.lacks_some,
            last,
        )
        return msgspec.msgpack.encode(job)

    def _definitions(self, definitions: Mapping[str, TableDefinition]) -> bytes:
        if self._last is None or self._last[0] is not definitions:
            self._last = definitions, _pack(definitions)
        return self._last[1]


def read_job(value: bytes) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a partition, as record batches of the form that was pinned for it. Raises the documented errors."""
    if has_rows(value):
        return read_rows(value)
    return read_piece_job(value) if is_piece(value) else _read_log(decode_msgpack(value, Job))


def _read_log(job: Job) -> Iterator[pyarrow.RecordBatch]:
    task = ReadTask(
        job.node,
        Span(*job.span),
        _unpack_all(job.definitions),
        tuple(Change(end, _unpack(packed)) for end, packed in job.changes),
        Selection(job.tables, job.masks.tables),
        job.schema_changes,
        job.skips,
        None if job.typed is None else _unpack_form(job.typed),
        job.history_begins,
        job.walk_skips,
        None if job.carried is None else job.carried.walk,
        job.masks,
        job.extras,
        job.ring,
        odd_keys=job.odd_keys,
        lacks_some=job.lacks_some,
    )
    reader = _reader(job.mask_key)
    # Who brings the bytes along needs no node.
    patience = TaskWait(job.node, log_place(job.folder), 0.0 if job.carried is not None else job.wait, say)
    given, whole = 0, False
    while not whole:
        passed = 0
        try:
            for batch in _rows(task, job, reader):
                passed += batch.num_rows
                if passed > given:
                    # The same rows come again behind a wait.
                    yield batch.slice(max(batch.num_rows - (passed - given), 0))
                    given = passed
            whole = True
        except (CdcError, OSError) as error:
            patience.wait(error)
    for notice in (*take_notices(), *reader.take_notices()):
        say(notice)
    # What began before anything that is known is said above: each task has its own.
    _NOTICES.report(reader, last=job.last)


def _rows(task: ReadTask, job: Job, reader: Reader) -> Iterator[pyarrow.RecordBatch]:
    keys = _keys(job)
    with _open(job, keys) as file:
        for batch in reader.read(task, file, _raise, _segments(job, keys)):
            yield batch.to_arrow()


@lru_cache(maxsize=8)
def _reader(key_file: str) -> Reader:
    """One for the worker's life: what was made ready for one micro-batch serves the next."""
    return Reader(mask_key(Path(key_file)) if key_file else None)


_NOTICES: Final = TaskNotices()
"""One for the worker's life: a kind that comes again is reported once a minute, by whichever task meets it."""

_Tables = dict[str, TableDefinition]
_DECODER: Final = msgpack_decoder(_Tables)


def _keys(job: Job) -> KeySource:
    keystore, password_file = (Path(each) if each else None for each in (job.keystore, job.password_file))
    return key_source(keystore, password_file)


def _segments(job: Job, keys: KeySource) -> Segments:
    if job.carried is not None:
        return CarriedSegments(job.carried.others, keys)
    return SourceSegments(_source(job), keys)


def _open(job: Job, keys: KeySource) -> SegmentFile:
    segment, name = job.span[0], parse_log_name(job.file)
    if job.carried is not None:
        return opened(job.carried.own, job.file, segment, keys)
    assert name is not None, "a plan names segments"
    try:
        return open_segment(_source(job), name, keys)
    except FileNotFoundError:
        if job.access is not None or Path(job.folder).is_dir():
            check_mounted(_source(job), segment)
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


@lru_cache(maxsize=64)
def _node(url: str, access: tuple[str, str, str, str]) -> Source:
    """One for the worker's life: its connections serve the next micro-batch too."""
    place = log_place(url)
    assert isinstance(place, NodeUrl)
    return RemoteSource(Link(place, Access(*access)))


def _source(job: Job) -> Source:
    return FolderSource(Path(job.folder)) if job.access is None else _node(job.folder, job.access)


def _raise(at: Position, error: CdcError, data: bytes) -> None:
    raise error


def _pack(definitions: Mapping[str, TableDefinition]) -> bytes:
    home = builtin()
    return msgspec.msgpack.encode({id: held for id, held in definitions.items() if home.get(id) is not held})


def _unpack(packed: bytes) -> _Tables:
    return _DECODER.decode(packed)


@lru_cache(maxsize=8)
def _unpack_form(packed: bytes) -> TypedTable:
    return decode_msgpack(packed, TypedTable)


@lru_cache(maxsize=8)
def _unpack_all(packed: bytes) -> Mapping[str, TableDefinition]:
    """The same object for the same bytes: what was compiled for it is used again."""
    return {**builtin(), **_unpack(packed)}
