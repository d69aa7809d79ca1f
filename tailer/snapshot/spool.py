"""Rows of a snapshot on disk, from the moment when they were read until whoever wants them has them.

    spool.json       how far each table is, and up to which piece there are files
    piece-17.arrow   change rows of one stretch of tokens, and behind them the row that tells its range

A piece counts once `spool.json` says so; what was read twice was given once. Knows no server and no consumer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import msgspec

from tailer.on_disk import NEW, put_in_place, sync_folder
from tailer.rows.batch import ChangeBatch, Row
from tailer.snapshot.progress import Snapshot
from tailer.state.modes import make_folder, replace_file, replacing_file
from tailer.typed_decode import decode_json
from tailer.versions import decode_versioned, decode_whole, undecodable

if TYPE_CHECKING:
    import pyarrow

VERSION: Final = 1
_FILE: Final = "spool.json"
_WHAT: Final = "the spool of a snapshot"
_REMEDY: Final = "Restore the folder, or begin anew: another consumer, or for a query another checkpoint."
_PIECE: Final = re.compile(r"piece-[0-9]+\.arrow")


class Spooled(msgspec.Struct, frozen=True):
    """`id`: random, of all tables together. `since`: where the logs were when it began, as their reader writes it.
    `tables`: by id as digits. `sizes`: bytes of the pieces that are there, of which the last one has number `last`."""

    v: int
    id: str
    since: str
    tables: dict[str, Snapshot] = {}
    last: int = 0
    sizes: tuple[int, ...] = ()

    @property
    def given(self) -> int:
        """Up to which number pieces are there no more."""
        return self.last - len(self.sizes)


class _Tables(msgspec.Struct):
    tables: dict[str, msgspec.Raw]


class Spool:
    """A folder, made when something is put there. One process at a time has it, one thread at a time is in it."""

    def __init__(self, folder: Path) -> None:
        """RefusedError for what a later version keeps, and for what cannot be decoded."""
        self.folder = folder
        try:
            held = (folder / _FILE).read_bytes()
        except FileNotFoundError:
            self.now: Spooled | None = None
            return
        self.now = decode_versioned(held, _decode, VERSION, _WHAT, file=str(folder / _FILE), remedy=_REMEDY)

    @property
    def bytes(self) -> int:
        """Of the pieces that are there."""
        return sum(self.known.sizes)

    @property
    def known(self) -> Spooled:
        assert self.now is not None, "it was begun"
        return self.now

    def begin(self, since: str) -> Spooled:
        """A new one, in place of what there was."""
        make_folder(self.folder)
        self._keep(Spooled(VERSION, uuid4().hex[:12], since))
        for path in self.folder.glob("piece-*"):
            path.unlink()
        return self.known

    def put_table(self, snapshot: Snapshot) -> None:
        """How far a table is."""
        self._keep(msgspec.structs.replace(self.known, tables={**self.known.tables, snapshot.table_id: snapshot}))

    def add(self, rows: Sequence[Row], snapshot: Snapshot) -> None:
        """One more piece, and how far its table is with it."""
        now = self.known
        path = self.path(now.last + 1)
        size = _write(path, rows)
        tables = {**now.tables, snapshot.table_id: snapshot}
        self._keep(msgspec.structs.replace(now, tables=tables, last=now.last + 1, sizes=(*now.sizes, size)))

    def taken(self, number: int) -> None:
        """Pieces up to a number are where they are wanted."""
        now = self.known
        gone = range(now.given + 1, min(number, now.last) + 1)
        if gone:
            self._keep(msgspec.structs.replace(now, sizes=now.sizes[len(gone) :]))
            for each in gone:
                self.path(each).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove the files of pieces that are on record no more: a process was killed between the two. For the owner
        alone, when it begins."""
        if self.now is None:
            return
        held = {self.path(number).name for number in range(self.now.given + 1, self.now.last + 1)}
        for path in self.folder.glob("piece-*"):
            if path.name not in held:
                path.unlink()

    def size(self, number: int) -> int:
        """Bytes of a piece that is there."""
        return self.known.sizes[number - self.known.given - 1]

    def path(self, number: int) -> Path:
        """The file of a piece."""
        return self.folder / f"piece-{number}.arrow"

    def _keep(self, now: Spooled) -> None:
        replace_file(self.folder / _FILE, msgspec.json.encode(now))
        self.now = now


def spool_folder(state: Path, consumer: str) -> Path:
    """Where rows of a consumer's snapshot wait, in a state folder."""
    return state / "snapshots" / consumer


def remove_spool(folder: Path) -> None:
    """The folder goes, with all that waits in it, if it holds a spool and nothing else. Killed meanwhile, it is one
    still. Nobody has it."""
    try:
        names = {path.name.removesuffix(NEW) for path in folder.iterdir()}
    except FileNotFoundError:
        return
    if _FILE not in names or not all(name == _FILE or _PIECE.fullmatch(name) for name in names):
        return
    # By what stands in this file the others are known.
    for path in sorted(folder.iterdir(), key=lambda path: path.name == _FILE):
        path.unlink()
    folder.rmdir()
    sync_folder(folder.parent)


def read_piece(data: pyarrow.Buffer | bytes, where: str | None = None, *, ranges: bool = True) -> pyarrow.RecordBatch:
    """The rows of a piece, by the bytes of its file `where`; with `ranges` also the one that tells the range, which is
    the last. RefusedError for damage."""
    import pyarrow

    try:
        reader: Any = pyarrow.ipc.open_file(pyarrow.py_buffer(data))
        rows = reader.get_batch(0)
        rows.validate(full=True)
    except (pyarrow.ArrowException, OSError) as error:
        raise undecodable("a piece of a snapshot", str(error), file=where, remedy=_REMEDY) from error
    return rows if ranges else rows.slice(0, rows.num_rows - 1)


def piece_rows(path: Path, *, ranges: bool) -> ChangeBatch:
    """The same of a piece that is there, for sinks."""
    rows = read_piece(path.read_bytes(), str(path), ranges=ranges)
    return ChangeBatch(tuple(column.to_pylist() for column in rows.columns))


def _decode(data: bytes, version: int) -> Spooled:
    spooled = decode_whole(data, Spooled)
    for table in decode_json(data, _Tables).tables.values():
        decode_whole(table, Snapshot)
    return spooled


def _write(path: Path, rows: Sequence[Row]) -> int:
    import pyarrow

    batch = ChangeBatch.of(rows).to_arrow()
    temporary = path.with_name(path.name + NEW)
    with os.fdopen(replacing_file(temporary), "wb") as out:
        options: Any = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        with pyarrow.ipc.new_file(out, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        out.flush()
        os.fsync(out.fileno())
        size = out.tell()
    put_in_place(temporary, path)
    return size
