"""The journal: the state folder's append-only file of everything that decides rows (architecture section 5).

Several processes may read and append at once: an append holds an exclusive `flock`, reads what others added, goes on
with their numbers, and returns after the fsync. A line that does not check is a torn append if it is the last one,
which readers leave out and the next writer cuts; anywhere else it is corruption.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import CdcError, CorruptError, RefusedError, SystemFailedError, UsageError
from tailer.position import Position
from tailer.state.journal_records import (
    AnyRecord,
    LossRecord,
    RetractRecord,
    SchemaRecord,
    SegmentEndRecord,
    SkipRecord,
    checks,
    decode,
    encode,
)

FILE_NAME: Final = "journal"

_NOT_ALLOWED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


def state_folder(cdc_raw: Path, override: Path | None = None) -> Path:
    """Where a log folder's state lies: `<real path of cdc_raw>.cdc_tail` beside it, or the private folder given."""
    if override is not None:
        return override
    real = Path(os.path.realpath(cdc_raw))
    return real.with_name(f"{real.name}.cdc_tail")


class Journal:
    """The records of one state folder's journal, as far as this process has read it.

    With `writable=False` nothing on disk is made or changed: records appended then live in this process only, with
    numbers that go on from what was read, and what others append later is not looked at.
    """

    def __init__(self, folder: Path, *, writable: bool = True) -> None:
        self._folder = folder
        self._path = folder / FILE_NAME
        self._writable = writable
        self._records: list[AnyRecord] = []
        self._known: dict[bytes, int] = {}
        self._retracted: frozenset[int] = frozenset()
        self._inode: tuple[int, int] | None = None
        self._end = 0
        self._own = 0
        self._kept: list[AnyRecord] = []
        self.foreign = 0
        """How many records of other processes were taken in so far."""
        self.refresh()

    @property
    def count(self) -> int:
        """How many records there are: the number of the newest."""
        return len(self._records)

    @property
    def retracted(self) -> frozenset[int]:
        """Numbers of the records that a later record took back."""
        return self._retracted

    def read(self, upto: int | None = None) -> Sequence[AnyRecord]:
        """The first `upto` records, all that are known if None. Raises RefusedError if there are not that many."""
        if upto is None:
            return tuple(self._records)
        if upto > self.count:
            self.refresh()
        if upto > self.count:
            raise RefusedError(
                "the journal is shorter than the position given says",
                file=str(self._path),
                expected=f"{upto} records",
                found=str(self.count),
                remedy="The state folder was deleted or replaced: start with a new consumer or checkpoint.",
            )
        return tuple(self._records[:upto])

    def refresh(self) -> None:
        """Read what other processes appended. Cheap when there is nothing new."""
        if self._own:
            return
        try:
            with self._path.open("rb", buffering=0) as file:
                before = self.count
                self._catch_up(file.fileno())
                if self._writable and self.count > before:
                    # Whoever wrote these may have died before its fsync, and what we decide next rests on them.
                    os.fsync(file.fileno())
        except FileNotFoundError:
            self._forget()
        except OSError as error:
            raise self._failed("cannot be read", error) from error

    def append(self, records: Sequence[AnyRecord]) -> list[int]:
        """Journal the records, durably; gives their numbers. One that is journalled already keeps its number.

        Raises SystemFailedError if the disk refuses; then nothing counts as journalled.
        """
        if not self._writable:
            self._own += 1
            return [self._number(record)[0] for record in records]
        try:
            with self._locked() as descriptor:
                return self._write(descriptor, records)
        except OSError as error:
            raise self._failed("cannot be written", error) from error

    @property
    def kept(self) -> Sequence[AnyRecord]:
        """What holds for this run alone: a run without consumer has its decisions here."""
        return self._kept

    def keep(self, record: AnyRecord) -> None:
        """Keep a record for this run alone: in memory, without a number."""
        self._kept.append(record)

    def append_retract(self, of: int) -> int:
        """Journal that a schema record has no effect any more; gives the number of the record that says so.

        UsageError where `of` is no schema record: decided under the lock, by what the file holds then.
        """
        self.refresh()
        self._check_retract(of)
        try:
            with self._locked() as descriptor:
                self._catch_up(descriptor)
                self._check_retract(of)
                return self._write(descriptor, [RetractRecord(of=of)])[0]
        except OSError as error:
            raise self._failed("cannot be written", error) from error

    def append_segment_end(self, segment: int, end: int, published: int, how: str, consumer: str | None = None) -> int:
        """Journal that a segment is finished; `consumer` only if that rests on the consumer's option."""
        record = SegmentEndRecord(segment=segment, published=published, end=end, finished=how, consumer=consumer)
        return self.append([record])[0]

    def append_skip(self, consumer: str | None, at: Position, error: CdcError, lost: int = 0) -> None:
        """Journal a consumer's decision to leave out an entry. A run without consumer keeps its own in memory."""
        self._decide(SkipRecord(consumer=consumer, at=at, reason=error.sentence(), lost=lost))

    def append_loss(self, consumer: str | None, start: Position, end: Position) -> None:
        """Journal a loss that a consumer accepted. A run without consumer keeps its own in memory."""
        self._decide(LossRecord(consumer=consumer, start=start, end=end))

    def _decide(self, record: SkipRecord | LossRecord) -> None:
        if record.consumer is None:
            self.keep(record)
        else:
            self.append([record])

    def segment_ends(self, consumer: str | None) -> list[SegmentEndRecord]:
        """The ends that hold for a consumer: everybody's and its own, in journal order."""
        return [
            record
            for record in self._records
            if isinstance(record, SegmentEndRecord)
            and record.consumer in (None, consumer)
            and record.n not in self._retracted
        ]

    def _check_retract(self, of: int) -> None:
        record = self._records[of - 1] if 1 <= of <= self.count else None
        if isinstance(record, SchemaRecord):
            return
        found = f"{self.count} records" if record is None else f"a record of kind {record.__struct_config__.tag!r}"
        raise UsageError(
            f"record {of} cannot be retracted",
            file=str(self._path),
            expected="the number of a schema record",
            found=found,
            remedy="`cdc-tail schema DIR --source` lists them.",
        )

    def _write(self, descriptor: int, records: Sequence[AnyRecord]) -> list[int]:
        self._catch_up(descriptor)
        if os.fstat(descriptor).st_size > self._end:
            os.ftruncate(descriptor, self._end)
        end = self._end
        lines = b""
        numbers = []
        for record in records:
            number, line = self._number(record)
            numbers.append(number)
            lines += line
        try:
            _write_all(descriptor, lines)
            os.fsync(descriptor)
        except OSError:
            # What is on disk now is unknown; the next append reads and cuts it. In memory nothing of it counts.
            self._forget()
            os.ftruncate(descriptor, end)
            raise
        self._end = end + len(lines)
        return numbers

    def _number(self, record: AnyRecord) -> tuple[int, bytes]:
        """The record's number and its line; an empty line if it is known already."""
        known = self._known.get(_key(record)) if record.once else None
        if known is not None:
            return known, b""
        numbered = msgspec.structs.replace(record, n=self.count + 1)
        self._take(numbered)
        return numbered.n, encode(numbered)

    def _take(self, record: AnyRecord) -> None:
        self._records.append(record)
        self._known.setdefault(_key(record), record.n)
        if isinstance(record, RetractRecord):
            self._retracted |= {record.of}

    def _catch_up(self, descriptor: int) -> None:
        """Take in the whole lines behind what was read, from the file that the descriptor is of."""
        state = os.fstat(descriptor)
        identity = (state.st_dev, state.st_ino)
        if identity != self._inode or state.st_size < self._end:
            self._forget()
            self._inode = identity
        if state.st_size == self._end:
            return
        data = os.pread(descriptor, state.st_size - self._end, self._end)
        lines = data.split(b"\n")
        for at, line in enumerate(lines[:-1]):
            if not checks(line):
                # Only the last line can be torn; a writer would have cut it before it wrote another.
                if at == len(lines) - 2 and not lines[-1]:
                    break
                raise self._corrupt("a line that checks", f"line {self.count + 1}")
            record = decode(line, f"{self._path}, line {self.count + 1}")
            if record.n != self.count + 1:
                raise self._corrupt(f"record {self.count + 1}", f"record {record.n}")
            self._take(record)
            self.foreign += 1
            self._end += len(line) + 1

    def _forget(self) -> None:
        self._records, self._known, self._retracted = [], {}, frozenset()
        self._inode, self._end = None, 0

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The journal opened for appending, under its lock; made if it is not there."""
        while True:
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                # The folder may have been deleted while we waited: then this file is nobody's journal any more.
                if os.fstat(descriptor).st_nlink:
                    yield descriptor
                    return
            finally:
                os.close(descriptor)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        try:
            return os.open(self._path, flags)
        except FileNotFoundError:
            self._make_folder()
            descriptor = os.open(self._path, flags | os.O_CREAT, 0o644)
            _sync_folder(self._folder)
            return descriptor

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _sync_folder(self._folder.parent)
        except OSError as error:
            if error.errno not in _NOT_ALLOWED:
                raise
            raise UsageError(
                "the state folder cannot be made",
                file=str(self._folder),
                found=error.strerror,
                remedy=f"Create it for the user that runs this (uid {os.geteuid()}), or give another with --state.",
            ) from error

    def _corrupt(self, expected: str, found: str) -> CdcError:
        return CorruptError(
            "the journal is damaged",
            file=f"{self._path}, line {self.count + 1}",
            expected=expected,
            found=found,
            remedy="Restore the state folder from a backup; what the journal decided cannot be guessed.",
        )

    def _failed(self, what: str, error: OSError) -> CdcError:
        if error.errno in _NOT_ALLOWED:
            return UsageError(f"the journal {what}", file=str(self._path), found=error.strerror)
        return SystemFailedError(f"the journal {what}", file=str(self._path), found=error.strerror)


def _key(record: AnyRecord) -> bytes:
    """What makes two records equal: all but the number, and of definitions not who told them."""
    bare = msgspec.structs.replace(record, n=0)
    if isinstance(bare, SchemaRecord):
        bare = msgspec.structs.replace(bare, source="")
    return blake2b(msgspec.json.encode(bare), digest_size=16).digest()


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
