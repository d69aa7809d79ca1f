"""The LMDB file of one images state: opened by one process at a time to write, in transactions; it grows by itself.

Others may read it beside that. Knows no image.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

import lmdb

from tailer.errors import CdcError, SystemFailedError, UsageError
from tailer.image_state.folder import FILE_NAME, lock_folder, made_folder
from tailer.image_state.lmdb_store import LmdbStore
from tailer.image_state.one_transaction import TABLES, Transaction
from tailer.versions import UndecodableError, undecodable

T = TypeVar("T")

FIRST_BYTES: Final = 64 << 20
"""What the file may grow to at first; it takes what it has, not this."""

GROWTH_MAX: Final = 8 << 30
"""It doubles, but by no more than so many bytes at once."""

_READERS: Final = 16
_REMEDY: Final = "Restore it together with the consumer, or begin anew: another consumer and folder."


class ImageFile:
    """Not thread-safe: one transaction at a time. Close it."""

    def __init__(self, folder: Path, *, first_bytes: int | None = None) -> None:
        """Take the folder's file, which is made where it is missing. RefusedError where another process has it."""
        self.folder = made_folder(folder)
        self._store: LmdbStore | None = None
        self._lock = lock_folder(folder)
        with ExitStack() as undo:
            undo.callback(os.close, self._lock)
            size = max(first_bytes or FIRST_BYTES, 2 * _bytes_of(folder))
            with _documented(folder):
                self._environment = lmdb.open(
                    str(folder), map_size=size, max_dbs=len(TABLES), max_readers=_READERS, mode=0o600
                )
            undo.callback(self._environment.close)
            # All at once: who looks on finds each of them, or no state yet.
            with _documented(folder), self._environment.begin(write=True) as made:
                self._tables = {name: self._environment.open_db(name, made) for name in TABLES}
            undo.pop_all()

    def close(self) -> None:
        """Give it back; nothing waits to be written."""
        if self._lock >= 0:
            self._environment.close()
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> ImageFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def write(self, work: Callable[[Transaction], T]) -> T:
        """What `work` gives; all that it wrote is durable when this returns, or nothing of it.

        Where the file is full it grows, and `work` is called again, from the beginning.
        """
        while True:
            try:
                with _documented(self.folder, lmdb.MapFullError):
                    return self._write_once(work)
            except lmdb.MapFullError:
                self._grow()

    def read(self, work: Callable[[Transaction], T]) -> T:
        """What `work` gives, which writes nothing."""
        with _documented(self.folder), self._environment.begin() as transaction:
            return work(Transaction(transaction, self._tables))

    def _write_once(self, work: Callable[[Transaction], T]) -> T:
        transaction = self._environment.begin(write=True)
        try:
            # The same store each time: whoever merges goes on with it.
            seen = Transaction(transaction, self._tables, self._store)
            self._store = seen.store
            made = work(seen)
            transaction.commit()
        except BaseException:
            transaction.abort()
            raise
        return made

    def _grow(self) -> None:
        size = self._environment.info()["map_size"]
        with _documented(self.folder):
            self._environment.set_mapsize(size + min(size, GROWTH_MAX))


@contextmanager
def reading(folder: Path) -> Iterator[Transaction]:
    """A look at the file as it is now, beside whoever writes it. UsageError where there is none, or none yet."""
    if not _bytes_of(folder):
        raise _missing(folder)
    with _documented(folder):
        environment = lmdb.open(
            str(folder), map_size=2 * _bytes_of(folder) + FIRST_BYTES, max_dbs=len(TABLES), readonly=True, create=False
        )
        try:
            try:
                tables = {name: environment.open_db(name, create=False) for name in TABLES}
            except lmdb.NotFoundError as error:
                raise _missing(folder) from error
            with environment.begin() as transaction:
                yield Transaction(transaction, tables)
        finally:
            environment.close()


def _missing(folder: Path) -> UsageError:
    return UsageError("there is no state of images", file=str(folder), remedy="Name the folder with --image-state.")


def _bytes_of(folder: Path) -> int:
    try:
        return (folder / FILE_NAME).stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _documented(folder: Path, *but: type[Exception]) -> Iterator[None]:
    """LMDB's errors as documented ones, but for some."""
    damaged = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError, lmdb.VersionMismatchError)
    try:
        yield
    except but:
        raise
    except UndecodableError as error:
        error.found_in(str(folder), _REMEDY)
        raise
    except CdcError:
        raise
    except damaged as error:
        raise undecodable("the state of images", str(error), file=str(folder), remedy=_REMEDY) from error
    except lmdb.Error as error:
        raise SystemFailedError(
            f"the state of images: {error}", file=str(folder), remedy="Look after its disk and rights; start again."
        ) from error
