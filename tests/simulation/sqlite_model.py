"""SQLite for simulated processes: real files outside of the simulated disk, over connections that end with their
process. What was not committed then is not there. Its calls are steps, and fail as calls to the disk do."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from tests.simulation.world import running, this_process, this_world

_CODES: Final = {
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    errno.EIO: sqlite3.SQLITE_IOERR,
    errno.EMFILE: sqlite3.SQLITE_CANTOPEN,
    errno.EACCES: sqlite3.SQLITE_CANTOPEN,
}
"""What SQLite says of an error of the system."""


class Files:
    """Of one history."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cdc-tail-simulated-", dir="/dev/shm"))
        self._changes = Counter[Path]()

    def file(self, path: str) -> Path:
        """Where a file of the simulation really is."""
        return self._folder / path.strip("/").replace("/", "-")

    def changes(self, path: str) -> int:
        """How many statements there were that change a file."""
        return self._changes[self.file(path)]

    def changes_in(self, file: Path) -> None:
        """One more."""
        self._changes[file] += 1

    def keep(self, path: str) -> None:
        """A copy of what is committed, in place of the last one."""
        if self.file(path).exists():
            with (
                closing(sqlite3.Connection(self.file(path))) as now,
                closing(sqlite3.Connection(self._kept(path))) as kept,
            ):
                now.backup(kept)

    def put_back(self, path: str) -> bool:
        """Whether there was a copy: the file is as it was then. No process has it open."""
        if not self._kept(path).exists():
            return False
        _copy(self._kept(path), self.file(path))
        self.changes_in(self.file(path))
        return True

    def _kept(self, path: str) -> Path:
        return self.file(path).with_suffix(".kept")

    def close(self) -> None:
        shutil.rmtree(self._folder)


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.Connection(source)) as here, closing(sqlite3.Connection(target)) as there:
        here.backup(there)


class Connection:
    """As `sqlite3.Connection`, as far as the product uses it."""

    def __init__(self, path: Any, **_: Any) -> None:
        process = this_process()
        self._files = this_world().files
        self._file = self._files.file(str(path))
        self._step("open")
        self._real = sqlite3.Connection(self._file, timeout=0.0, isolation_level=None, check_same_thread=False)
        self._real.execute("PRAGMA synchronous = OFF")
        self._process = process
        self._number = process.descriptor(self)

    def execute(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        changes = not statement.startswith(("SELECT", "PRAGMA", "BEGIN"))
        self._step("write" if changes else "read")
        try:
            return self._real.execute(statement, values)
        finally:
            if changes:
                self._files.changes_in(self._file)

    def executemany(self, statement: str, rows: Any) -> sqlite3.Cursor:
        self._step("write")
        return self._real.executemany(statement, rows)

    def rollback(self) -> None:
        self._real.rollback()

    def close(self) -> None:
        self._process.descriptors.pop(self._number, None)
        self._real.close()

    def events(self) -> int:
        return 0

    def let_go(self) -> None:
        """Its process ended."""
        self._real.close()

    def _step(self, call: str) -> None:
        try:
            this_world().step(call)
        except OSError as failed:
            error = sqlite3.OperationalError(str(failed))
            error.sqlite_errorcode = _CODES[failed.errno or errno.EIO]
            raise error from failed


def install(is_simulated: Any) -> None:
    """Once for a process."""
    real = sqlite3.connect
    sqlite3.connect = lambda path, *args, **more: (  # type: ignore[assignment]
        Connection(path, **more) if running() is not None and is_simulated(path) else real(path, *args, **more)
    )
