"""The quarantine: entries that could not be delivered, with their bytes, position and reason, kept in the state folder.

One text file per consumer, one JSON object a line, appended and fsynced. Decides nothing: who calls it chose to go on.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from tailer.errors import CdcError, QuarantineFullError
from tailer.limits import MIB, QUARANTINE_BYTES_MAX
from tailer.on_disk import sync_folder
from tailer.position import Position
from tailer.state.lease_file import lease_path
from tailer.state.modes import make_folder, open_file, open_to_read
from tailer.system_errors import told
from tailer.typed_decode import decode_json
from tailer.versions import UNDECODABLE, decode_versioned

VERSION: Final = 1
_ANONYMOUS: Final = "none"
_CUT: Final = "Input data was truncated"
"""What msgspec says of it."""
_REMEDY: Final = "Restore the file, or move it away: what it has is not replayed then."

_Form = TypeVar("_Form")


class Kept(msgspec.Struct, frozen=True):
    """One record: `bytes` in hex (a whole entry, or the rest of a section), where it stood, and why it is here.

    `tables`: those that the run had selected; none: all that capture, or an earlier version kept it.
    `row`: that row of the entry alone was refused by an outlet's target, and `bytes` are its JSON.
    """

    node: str
    segment: int
    offset: int
    file: str
    code: int
    reason: str
    bytes: str
    v: int = VERSION
    row: int | msgspec.UnsetType = msgspec.UNSET
    tables: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        # ValueError, of which msgspec makes its own where it decodes.
        bytes.fromhex(self.bytes)

    @property
    def at(self) -> Position:
        return Position(self.segment, self.offset)


def kept_of(
    node: str,
    tables: tuple[str, ...],
    at: Position,
    file: str,
    error: CdcError,
    data: bytes,
    row: int | None = None,
) -> Kept:
    """The record of one entry's bytes, or of a refused row's, as a run that has these tables selected keeps it."""
    return Kept(
        node,
        at.segment,
        at.offset,
        file,
        error.code,
        error.sentence(),
        data.hex(),
        row=msgspec.UNSET if row is None else row,
        tables=tables or msgspec.UNSET,
    )


class KeptAt(msgspec.Struct, frozen=True):
    """Of a record where its entry stood, and the exit code of what is wrong with it."""

    node: str
    segment: int
    offset: int
    row: int | None = None
    code: int = 0


def quarantine_path(state: Path, consumer: str | None) -> Path:
    return state / "quarantine" / f"{consumer or _ANONYMOUS}.jsonl"


def quarantined_consumers(state: Path) -> list[str | None]:
    """Whose entries are kept in a state folder; None: those of runs without a consumer."""
    folder = state / "quarantine"
    try:
        with told("cannot list the quarantine", folder):
            names = sorted(path.stem for path in folder.iterdir() if path.suffix == ".jsonl")
    except FileNotFoundError:
        return []
    return [None if name == _ANONYMOUS else name for name in names]


def kept_in(path: Path) -> Iterator[KeptAt]:
    """Where the records of a file stood; see `whole_records`."""
    yield from _records(path, KeptAt)


def whole_records(path: Path) -> Iterator[Kept]:
    """The records of a file with their bytes, none where there is no file. RefusedError for one of a newer version."""
    yield from _records(path, Kept)


def _records(path: Path, form: type[_Form]) -> Iterator[_Form]:
    try:
        descriptor = open_to_read(path)
    except FileNotFoundError:
        return
    with os.fdopen(descriptor, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if not _is_torn(line):
                yield decode_versioned(
                    line, lambda data, version: decode_json(data, form), VERSION, "the quarantine",
                    file=f"{path}, line {number}", remedy=_REMEDY, or_else=", or move the file away", named=False,
                )  # fmt: skip


def _is_torn(line: bytes) -> bool:
    """Whether a crash has cut the line: its entry is read again and kept again.

    It ends too early, or blocks of it that never reached the disk are zeros. Any other damage is none of a crash, and
    an entry that is past would be lost with it.
    """
    if not line.strip() or b"\0" in line:
        return True
    try:
        # Who writes behind a torn line ends it first. It may be cut within a character.
        decode_json(_WHOLE_CHARACTERS().decode(line.rstrip(b"\n")).encode(), msgspec.Raw)
    except UNDECODABLE as error:
        return str(error) == _CUT
    return False


_WHOLE_CHARACTERS: Final = codecs.getincrementaldecoder("utf-8")
"""It leaves out the beginning of a character at the end."""

_Stamp = tuple[int, int, int, int] | None
"""Device, inode, size and time of a file; None where there is none."""

_CHANGED: Final = (-1, -1, -1, -1)


class Quarantine:
    """Keeps what could not be decoded. The same position is kept once, however often it is read.

    `tables`: those that the run has selected. `counts`: whether a consumer's file counts for the bound; without it all
    but those of consumers that readers on other machines had, which `serve` bounds by client.
    """

    def __init__(
        self,
        state: Path | None,
        consumer: str | None,
        node: str,
        bytes_max: int = QUARANTINE_BYTES_MAX,
        *,
        tables: tuple[str, ...] = (),
        counts: Callable[[str], bool] | None = None,
    ) -> None:
        self._counts = counts or (lambda name: state is None or not lease_path(state, name).exists())
        self._path = quarantine_path(state, consumer) if state is not None else None
        self._node = node
        self._bytes_max = bytes_max
        self._tables = tables
        self._stamp = self._stamp_now()
        known = kept_in(self._path) if self._path is not None else ()
        self._kept = {(Position(each.segment, each.offset), each.row) for each in known if each.node == node}
        self.count = 0

    @property
    def keeps(self) -> bool:
        """Whether what it is given is kept; without a state folder it is only counted."""
        return self._path is not None

    @property
    def places(self) -> int:
        """How many of this node are kept."""
        return len(self._kept)

    def is_current(self) -> bool:
        """Whether nobody else has changed its file since that was read, as somebody does who moves it away."""
        return self._stamp == self._stamp_now()

    def _stamp_now(self) -> _Stamp:
        try:
            return None if self._path is None else _stamp_of(self._path.stat())
        except FileNotFoundError:
            return None

    def keep(self, at: Position, file: str, error: CdcError, data: bytes, row: int | None = None) -> None:
        """Keep one entry's bytes, or a refused row; durable when this returns. QuarantineFullError at the bound."""
        self.count += 1
        if (at, row) in self._kept:
            return
        if self._path is not None:
            # As much as its bytes are as text, before that text is made.
            self._check_room(2 * len(data), at)
            self._write(kept_of(self._node, self._tables, at, file, error, data, row))
        self._kept.add((at, row))

    def put(self, record: Kept) -> None:
        """Keep a record that somebody else has made, of this node; see `keep`."""
        place = (record.at, None if record.row is msgspec.UNSET else record.row)
        if place not in self._kept:
            self._write(record)
            self._kept.add(place)

    def _write(self, record: Kept) -> None:
        assert self._path is not None
        line = msgspec.json.encode(record) + b"\n"
        make_folder(self._path.parent)
        self._check_room(len(line), record.at)
        fd = open_file(self._path, os.O_RDWR | os.O_APPEND)
        try:
            with told("cannot write the quarantine", self._path, writes=True):
                found = os.fstat(fd)
                alone = self._stamp == _stamp_of(found) or (self._stamp is None and not found.st_size)
                _append(fd, line)
                os.fsync(fd)
                self._stamp = _stamp_of(os.fstat(fd)) if alone else _CHANGED
        finally:
            os.close(fd)
        sync_folder(self._path.parent)

    def _check_room(self, more: int, at: Position) -> None:
        assert self._path is not None
        folder = self._path.parent
        files = [item for item in folder.iterdir() if self._counts(item.stem)] if folder.is_dir() else []
        used = sum(item.stat().st_size for item in files)
        if used + more > self._bytes_max:
            raise QuarantineFullError(
                f"the quarantine is full ({self._bytes_max // MIB} MiB)",
                at=at,
                file=str(self._path),
                remedy="Look into it, move its files away, and start again.",
            )


def _stamp_of(found: os.stat_result) -> _Stamp:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _append(fd: int, line: bytes) -> None:
    """Write a line at the file's end; one that a crash has cut stays a line of its own."""
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        line = b"\n" + line
    while line:
        line = line[os.write(fd, line) :]
