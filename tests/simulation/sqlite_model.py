"""SQLite for simulated processes: real files outside of the simulated disk, over connections that end with their
process. What was not committed then is not there. Its calls are steps, and fail as calls to the disk do."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import tempfile
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
    """Of one history. `changes`: how many statements there were."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cdc-tail-simulated-", dir="/dev/shm"))
        self.changes = 0

    def file(self, path: str) -> Path:
        """Where a file of the simulation really is."""
        return self._folder / path.strip("/").replace("/", "-")

    def close(self) -> None:
        shutil.rmtree(self._folder)


class Connection:
    """As `sqlite3.Connection`, as far as the product uses it."""

    def __init__(self, path: Any, **_: Any) -> None:
        process = this_process()
        self._step("open")
        self._files = this_world().files
        self._real = sqlite3.Connection(
            self._files.file(str(path)), timeout=0.0, isolation_level=None, check_same_thread=False
        )
        self._real.execute("PRAGMA synchronous = OFF")
        self._process = process
        self._number = process.descriptor(self)

    def execute(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        self._step("read" if statement.startswith(("SELECT", "PRAGMA", "BEGIN")) else "write")
        return self._real.execute(statement, values)

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

    @staticmethod
    def _step(call: str) -> None:
        world = this_world()
        if call == "write":
            world.files.changes += 1
        try:
            world.step(call)
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
