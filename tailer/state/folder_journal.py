"""The journal in its file: the state folder's append-only file, with the base beside it (architecture section 5).

Several processes may read and append at once: an append holds an exclusive `flock`, reads what others added, goes on
with their numbers, and returns after the fsync. A line that does not check is a torn append if nothing but lines of the
same append is behind it, which readers leave out and the next writer cuts; anywhere else it is corruption.

A compaction moves what still counts into the base (`journal_base.py`) and empties the file.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tailer.errors import CdcError
from tailer.state import journal_errors as errors
from tailer.state.journal import Journal
from tailer.state.journal_base import NO_FILE, Base, Identity, identity, read_base, write_base
from tailer.state.journal_file import locked, write_all
from tailer.state.journal_records import (
    AnyRecord,
    CompactedRecord,
    RetractRecord,
    SchemaRecord,
    StateRecord,
    checks,
    decode,
    encode,
    numbers_of,
)
from tailer.state.modes import open_to_read
from tailer.system_errors import system_error

FILE_NAME: Final = "journal"


_Status = tuple[int, int, int, int]


class FolderJournal(Journal):
    """The records of one state folder's journal; see `Journal`. In a service's process one thread reads with it, and
    another one saves."""

    def __init__(self, folder: Path, *, writable: bool = True) -> None:
        self._path = folder / FILE_NAME
        super().__init__(str(self._path), writable=writable)
        self.folder = folder
        # Held before the file's own lock, never behind it.
        self._turn = threading.RLock()
        self._base_seen = NO_FILE
        self._inode: tuple[int, int] | None = None
        self._whole: _Status | None = None
        self._end = 0
        self.refresh()

    def refresh(self) -> None:
        with self._turn:
            if not (self._own or self._is_read()):
                self._read_on()

    def _read_on(self) -> None:
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

    def catch_up(self) -> None:
        """`refresh`, and see a base too that no write followed, for a compaction was killed: its numbers count."""
        with self._turn:
            self._whole = None
            self.refresh()

    def _append(self, records: Sequence[AnyRecord]) -> list[int]:
        try:
            with self._turn, locked(self.folder, self._path) as descriptor:
                return self._write(descriptor, records)
        except OSError as error:
            raise self._failed("cannot be written", error) from error

    def append_at(self, records: Sequence[AnyRecord], expected: int) -> list[int] | None:
        """`append`, where there are `expected` records; None where there are not, and nothing is written then."""
        try:
            with self._turn, locked(self.folder, self._path) as descriptor:
                self._catch_up(descriptor)
                return self._write(descriptor, records) if self.count == expected else None
        except OSError as error:
            raise self._failed("cannot be written", error) from error

    def append_retract(self, of: int) -> int:
        """Journal that a schema record has no effect any more; gives the number of the record that says so.

        UsageError where `of` is no schema record: decided under the lock, by what the file holds then.
        """
        self.refresh()
        self._check_retract(of)
        try:
            with self._turn, locked(self.folder, self._path) as descriptor:
                self._catch_up(descriptor)
                self._check_retract(of)
                return self._write(descriptor, [RetractRecord(of=of)])[0]
        except OSError as error:
            raise self._failed("cannot be written", error) from error

    def compact(
        self,
        segment: int,
        wanted: Callable[[Sequence[AnyRecord]], Sequence[AnyRecord]],
        *,
        least: int = 1,
        pinned: bool = True,
    ) -> Base | None:
        """Forget all but the `wanted` records, if those are `least` or more; the new base, None where nothing went.

        What is left out must say nothing of `segment` or a higher one. Not `pinned`: no offset that may come goes by
        it, so none is refused for it. Other processes may append meanwhile: they wait.
        """
        try:
            with self._turn, locked(self.folder, self._path) as descriptor:
                self._catch_up(descriptor)
                kept = wanted(self._records)
                numbers = {record.n: record for record in kept}
                gone = [record.n for record in self._records if record.n not in numbers]
                replaced = any(numbers.get(record.n, record) != record for record in self._records)
                if len(gone) < least and not replaced:
                    return None
                upto = self.count + 1
                news = (r.n for r in self._records if pinned and r.pins and r.n not in numbers)
                j = max(self._base.j, *news, 0)
                base = Base(id=self._id, upto=upto, segment=max(segment, self._base.segment), j=j)
                self._base = write_base(self.folder, base, kept)
                # From here on the file's records are known by their numbers to be the base's. The one line that it
                # begins with says to an older program that a newer one was here.
                os.ftruncate(descriptor, 0)
                write_all(descriptor, encode(CompactedRecord(n=upto)))
                os.fsync(descriptor)
                self._catch_up(descriptor)
                return self._base
        except OSError as error:
            raise self._failed("cannot be compacted", error) from error

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
            seen = identity(self.folder)
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
            if identity(self.folder) == seen:
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
        found = [numbers_of(line, str(self._path)) for line in behind if checks(line)]
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
        self._base, records = read_base(self.folder)
        for record in records:
            self._take(record)
        self.foreign += len(records)
        self._count, self._id = self._base.upto, self._base.id
        self._inode, self._base_seen = inode, seen

    def _forget(self) -> None:
        super()._forget()
        self._base_seen = NO_FILE
        self._inode, self._whole, self._end = None, None, 0

    def _corrupt(self, expected: str, found: str) -> CdcError:
        return errors.damaged(self._path, self.count + 1, expected, found)

    def _failed(self, what: str, error: OSError) -> CdcError:
        return system_error(f"the journal {what}", error, self._path, writes=self._writable)


def _status(found: os.stat_result) -> _Status:
    """What tells that a file was written in, or is another one."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
