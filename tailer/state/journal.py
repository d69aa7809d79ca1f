"""The journal: the state folder's append-only file of everything that decides rows (architecture section 5).

Several processes may read and append at once: an append holds an exclusive `flock`, reads what others added, goes on
with their numbers, and returns after the fsync. A line that does not check is a torn append if nothing but lines of the
same append is behind it, which readers leave out and the next writer cuts; anywhere else it is corruption.

A compaction moves what still counts into the base (`journal_base.py`) and empties the file. Numbers stay, with gaps
between them, and an offset's `j` still says which records counted when it left.
"""

from __future__ import annotations

import os
import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import CdcError
from tailer.position import Position
from tailer.state import journal_errors as errors
from tailer.state.journal_base import NO_FILE, NOTHING, Base, Identity, identity, read_base, write_base
from tailer.state.journal_file import locked, write_all
from tailer.state.journal_records import (
    AnyRecord,
    CompactedRecord,
    LossRecord,
    RetractRecord,
    SchemaRecord,
    SegmentEndRecord,
    SkipRecord,
    StateRecord,
    checks,
    content,
    decode,
    encode,
    numbers_of,
)
from tailer.state.modes import open_to_read
from tailer.state.offset import NodeOffset
from tailer.system_errors import system_error

FILE_NAME: Final = "journal"


_Status = tuple[int, int, int, int]


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
        self._base, self._base_seen = NOTHING, NO_FILE
        self._inode: tuple[int, int] | None = None
        self._whole: _Status | None = None
        self._id = ""
        self._count = 0
        self._end = 0
        self._own = 0
        self._kept: list[AnyRecord] = []
        self.foreign = 0
        """How many records of other processes were taken in so far."""
        self.losses = 0  # accepted here
        self.refresh()

    @property
    def count(self) -> int:
        """How many records there ever were: the number of the newest."""
        return self._count

    @property
    def writable(self) -> bool:
        """Whether what is appended here is there for others, and for a later run."""
        return self._writable

    @property
    def folder(self) -> Path:
        """The state folder."""
        return self._folder

    @property
    def id(self) -> str:
        """The state's own random id, for as long as there is this journal; empty where it has none yet."""
        return self._id

    @property
    def base(self) -> Base:
        """What the last compaction left, and up to where it forgot."""
        return self._base

    @property
    def retracted(self) -> frozenset[int]:
        """Numbers of the records that a later record took back."""
        return self._retracted

    def read(self, upto: int | None = None, *, after: int = 0) -> Sequence[AnyRecord]:
        """The records with numbers above `after` and up to `upto`, all that are known if None, in order.

        Raises RefusedError if there never were that many.
        """
        if upto is not None:
            self.require(upto)
        first = self._behind(after)
        return tuple(self._records[first : None if upto is None else self._behind(upto)])

    def require(self, count: int) -> None:
        """RefusedError if there never were that many records."""
        if count > self.count:
            self.refresh()
        if count > self.count:
            raise errors.shorter(self._path, count, self.count)

    def identify(self) -> None:
        """See that the state has an id, durably, if this process may write."""
        if self._writable and not self._id:
            self.append([])

    def stamped(self, offset: NodeOffset) -> NodeOffset:
        """The offset as one of this state, for which all records count that there are."""
        return msgspec.structs.replace(offset, j=self.count, id=self._id)

    def check(self, offset: NodeOffset) -> None:
        """RefusedError for an offset that this journal says too little of: of another state, shorter, or forgotten."""
        self.check_same(offset)
        self._base.check(offset, self._path)

    def check_same(self, offset: NodeOffset) -> None:
        """RefusedError where this is not the journal any more that an offset left by: it was deleted, or replaced."""
        self.check_id(offset)
        self.require(offset.j)

    def check_id(self, offset: NodeOffset) -> None:
        """RefusedError for an offset of another state, or of more records than this one has. Without an id it is of a
        version that gave none."""
        if offset.id and self._id != offset.id:
            self.refresh()
        if offset.id and self._id and self._id != offset.id:
            raise errors.of_another_state(self._folder, self._id, offset.id)
        if offset.id and self._id:
            self.require(offset.j)

    def refresh(self) -> None:
        """Read what other processes appended. Cheap when there is nothing new."""
        if self._own or self._is_read():
            return
        try:
            with os.fdopen(open_to_read(self._path), "rb", buffering=0) as file:
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
            return [self._number(record)[0].n for record in records]
        try:
            with locked(self._folder, self._path) as descriptor:
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
            with locked(self._folder, self._path) as descriptor:
                self._catch_up(descriptor)
                self._check_retract(of)
                return self._write(descriptor, [RetractRecord(of=of)])[0]
        except OSError as error:
            raise self._failed("cannot be written", error) from error

    def append_skip(self, consumer: str | None, at: Position, error: CdcError, lost: int = 0) -> None:
        """Journal a consumer's decision to leave out an entry. A run without consumer keeps its own in memory."""
        self._decide(SkipRecord(consumer=consumer, at=at, reason=error.sentence(), lost=lost))

    def append_loss(self, consumer: str | None, start: Position, end: Position) -> None:
        """Journal a loss that a consumer accepted. A run without consumer keeps its own in memory."""
        self.losses += 1
        self._decide(LossRecord(consumer=consumer, start=start, end=end))

    def _decide(self, record: SkipRecord | LossRecord) -> None:
        if record.consumer is None:
            self.keep(record)
        else:
            self.append([record])

    def compact(
        self, segment: int, wanted: Callable[[Sequence[AnyRecord]], Sequence[AnyRecord]], *, least: int = 1
    ) -> Base | None:
        """Forget all but the `wanted` records, if those are `least` or more; the new base, None where nothing went.

        What is left out must say nothing of `segment` or a higher one. Other processes may append meanwhile: they wait.
        """
        try:
            with locked(self._folder, self._path) as descriptor:
                self._catch_up(descriptor)
                kept = wanted(self._records)
                numbers = {record.n: record for record in kept}
                gone = [record.n for record in self._records if record.n not in numbers]
                replaced = any(numbers.get(record.n, record) != record for record in self._records)
                if len(gone) < least and not replaced:
                    return None
                upto = self.count + 1
                j = max([self._base.j, *(r.n for r in self._records if r.n not in numbers and r.pins)])
                base = Base(id=self._id, upto=upto, segment=max(segment, self._base.segment), j=j)
                self._base = write_base(self._folder, base, kept)
                # From here on the file's records are known by their numbers to be the base's. The one line that it
                # begins with says to an older program that a newer one was here.
                os.ftruncate(descriptor, 0)
                write_all(descriptor, encode(CompactedRecord(n=upto)))
                os.fsync(descriptor)
                self._catch_up(descriptor)
                return self._base
        except OSError as error:
            raise self._failed("cannot be compacted", error) from error

    def segment_ends(self, consumer: str | None, *, after: int = 0) -> list[SegmentEndRecord]:
        """The ends that hold for a consumer, from records above `after`: everybody's and its own, in journal order."""
        return [
            record
            for record in self._records[self._behind(after) :]
            if isinstance(record, SegmentEndRecord)
            and record.consumer in (None, consumer)
            and record.n not in self._retracted
        ]

    def _check_retract(self, of: int) -> None:
        held = self.read(upto=min(of, self.count), after=of - 1)
        if held and isinstance(held[0], SchemaRecord):
            self._base.check_retract(held[0], self._path)
            return
        found = f"a record of kind {held[0].__struct_config__.tag!r}" if held else f"{self.count} records, not this one"
        raise errors.not_retractable(self._path, of, found)

    def _write(self, descriptor: int, records: Sequence[AnyRecord]) -> list[int]:
        self._catch_up(descriptor)
        if os.fstat(descriptor).st_size > self._end:
            os.ftruncate(descriptor, self._end)
        end, begin = self._end, self.count + 1
        identity = [] if self._id else [StateRecord(id=secrets.token_hex(8))]
        numbered = [self._number(record) for record in records]
        fresh = [*identity, *(record for record, new in numbered if new)]
        lines = b"".join(encode(record, begin if len(fresh) > 1 else 0) for record in fresh)
        try:
            write_all(descriptor, lines)
            os.fsync(descriptor)
        except OSError:
            # What is on disk now is unknown; the next append reads and cuts it. In memory nothing of it counts.
            self._forget()
            os.ftruncate(descriptor, end)
            raise
        self._end = end + len(lines)
        self._id = identity[0].id if identity else self._id
        return [record.n for record, _ in numbered]

    def _number(self, record: AnyRecord) -> tuple[AnyRecord, bool]:
        """The record with its number, and whether it is new here."""
        known = self._known.get(content(record)) if record.once else None
        numbered = msgspec.structs.replace(record, n=known or self.count + 1)
        if known is None:
            self._take(numbered)
        return numbered, known is None

    def _behind(self, number: int) -> int:
        """Where in the list the records with higher numbers begin."""
        return bisect_right(self._records, number, key=_number_of)

    def _take(self, record: AnyRecord) -> None:
        self._count = record.n
        self._records.append(record)
        if record.once:
            self._known.setdefault(content(record), record.n)
        if isinstance(record, RetractRecord):
            self._retracted |= {record.of}

    def _is_read(self) -> bool:
        """Whether nothing was written since all was read. One `stat`, at each look: a new base is followed by a write.

        Until that comes, what was read before the base still says the same.
        """
        try:
            return self._whole is not None and _status(self._path.stat()) == self._whole
        except OSError:
            return False

    def _catch_up(self, descriptor: int) -> None:
        """Take in the whole lines behind what was read, from the file that the descriptor is of."""
        while True:
            seen = identity(self._folder)
            state = os.fstat(descriptor)
            inode = (state.st_dev, state.st_ino)
            if inode != self._inode or seen != self._base_seen or state.st_size < self._end:
                self._begin(inode, seen)
            if state.st_size == self._end:
                self._whole = _status(state)
                return
            data = os.pread(descriptor, state.st_size - self._end, self._end)
            # A new base comes before the file is emptied and grows again: as long as there is none, the bytes are those
            # behind what was read.
            if identity(self._folder) == seen:
                break
        *lines, _ = data.split(b"\n")
        for at, line in enumerate(lines):
            if not checks(line):
                self._check_torn(lines[at + 1 :])
                return
            self._take_line(line)
            self._end += len(line) + 1

    def _check_torn(self, behind: Sequence[bytes]) -> None:
        """Only the last append can be torn, in any of its blocks: a writer would have cut it before another.

        Behind what a compaction wrote in the emptied file may be lines again that it had: the power went before both
        were durable, and the base has all that counts of them.
        """
        found = [numbers_of(line) for line in behind if checks(line)]
        if not all(0 < each.begin <= self.count + 1 or each.n <= self._base.upto for each in found):
            raise self._corrupt("a line that checks", "one that does not")

    def _take_line(self, line: bytes) -> None:
        record = decode(line, f"{self._path}, record {self.count + 1}")
        if isinstance(record, StateRecord):
            self._id = self._id or record.id
            return
        # A compaction that was killed left the lines of what its base has.
        if record.n <= self._base.upto:
            return
        if record.n != self.count + 1:
            missing = f" and no {FILE_NAME}.base" if isinstance(record, CompactedRecord) else ""
            raise self._corrupt(f"record {self.count + 1}", f"record {record.n}{missing}")
        self._take(record)
        self.foreign += 1

    def _begin(self, inode: tuple[int, int], seen: Identity) -> None:
        """Read anew, from the base on."""
        self._forget()
        self._base, records = read_base(self._folder)
        for record in records:
            self._take(record)
        self.foreign += len(records)
        self._count, self._id = self._base.upto, self._base.id
        self._inode, self._base_seen = inode, seen

    def _forget(self) -> None:
        self._records, self._known, self._retracted = [], {}, frozenset()
        self._base, self._base_seen = NOTHING, NO_FILE
        self._inode, self._whole, self._id, self._count, self._end = None, None, "", 0, 0

    def _corrupt(self, expected: str, found: str) -> CdcError:
        return errors.damaged(self._path, self.count + 1, expected, found)

    def _failed(self, what: str, error: OSError) -> CdcError:
        return system_error(f"the journal {what}", error, self._path, writes=self._writable)


def _status(found: os.stat_result) -> _Status:
    """What tells that a file was written in, or is another one."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _number_of(record: AnyRecord) -> int:
    return record.n
