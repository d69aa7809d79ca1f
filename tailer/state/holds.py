"""Holds: what a batch read needs while it runs, so that `clean` beside it takes nothing from under it.

A lease of some seconds, a file of its own beside the consumers'; one that ran out counts no more. It is taken where a
state folder is, and never makes one: where there is none nothing is cleaned unasked. Decides nothing about what a hold
means.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

import msgspec

from tailer.errors import CdcError
from tailer.state.lock import state_lock
from tailer.state.modes import make_folder, replacing_file
from tailer.state.versions import read_versioned
from tailer.versions import decode_whole

VERSION: Final = 1
_SUFFIX: Final = ".hold"
_OTHERS: Final = re.compile(r"[^A-Za-z0-9.-]+")


class HoldFile(msgspec.Struct, frozen=True):
    """The file's content: segments from `segment` on are held until `until`, seconds since the epoch."""

    node: str
    segment: int
    until: float
    v: int = VERSION
    program: str = ""
    host: str = ""
    process: int = 0


class HoldStore(Protocol):
    """Where holds are kept, by their names."""

    where: str

    @property
    def there(self) -> bool:
        """Whether there is a state; without one nothing is cleaned unasked."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """As long as it lasts `clean` deletes nothing and nobody registers."""
        ...

    def write(self, name: str, content: HoldFile) -> None: ...

    def drop(self, name: str) -> None:
        """Delete a hold, if it is there. OSError where that cannot be done: it runs out."""
        ...


class FolderHolds:
    """Those of a state folder."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self.where = str(state)

    @property
    def there(self) -> bool:
        return self._state.is_dir()

    def locked(self) -> AbstractContextManager[None]:
        return state_lock(self._state)

    def write(self, name: str, content: HoldFile) -> None:
        _write(self._path(name), content)

    def drop(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def read(self, name: str) -> HoldFile | None:
        """One hold, None where there is none of that name. RefusedError where it cannot be read."""
        return _read(self._path(name))

    def names(self) -> list[str]:
        """Of all there are, also of those that ran out and were not deleted yet."""
        return [path.stem for path in _paths(self._state)]

    def _path(self, name: str) -> Path:
        return self._state / "consumers" / f"{name}{_SUFFIX}"


class Hold:
    """One batch read's lease, of `seconds`; none with 0. `name` tells leases of one process apart.

    `stays`: it is left to run out, for who reads goes on after this process is done.
    """

    def __init__(
        self, store: HoldStore, node: str, program: str, seconds: float, name: str, *, stays: bool = False
    ) -> None:
        host = socket.gethostname()
        self._content = HoldFile(node, 0, 0.0, program=program, host=host, process=os.getpid())
        self._store = store
        self._name = _OTHERS.sub("-", f"read-{host}-{name}")
        self._seconds = seconds
        self._stays = stays
        self._taken = False
        self._notices: list[str] = []

    @contextlib.contextmanager
    def finding(self, clock: Callable[[], float], needed: Callable[[], int]) -> Iterator[None]:
        """Until it is known where reading begins everything is held, and from then on what is `needed`.

        `clean` and whoever starts wait for two files to be written, not for what is read in between.
        """
        if not self._wanted:
            yield
            return
        everything = f"{self._name}.{secrets.token_hex(4)}"
        with self._giving_up(), self._store.locked():
            self._store.write(everything, msgspec.structs.replace(self._content, until=clock() + self._seconds))
        try:
            yield
            if self._wanted:
                # Together: who lists the holds finds one of the two.
                with self._giving_up(), self._store.locked():
                    self.take(needed(), clock())
                    self._store.drop(everything)
        finally:
            with contextlib.suppress(OSError):
                self._store.drop(everything)

    def take(self, segment: int, now: float) -> None:
        """Hold what is from a segment on. Where that is not to be had a notice says so, and reading goes on."""
        if not self._wanted:
            return
        if self._stays and self._taken:
            # What was passed by who took it is still to be read.
            segment = min(segment, self._content.segment)
        content = msgspec.structs.replace(self._content, segment=segment, until=now + self._seconds)
        with self._giving_up():
            self._store.write(self._name, content)
            self._content, self._taken = content, True

    @property
    def _wanted(self) -> bool:
        return self._seconds > 0 and self._store.there

    @contextlib.contextmanager
    def _giving_up(self) -> Iterator[None]:
        """What keeps a hold from being written ends all holding, and no reading."""
        try:
            yield
        except CdcError as error:
            self._give_up(error.what)
        except OSError as error:
            self._give_up(error.strerror or str(error))

    def ends_soon(self, now: float) -> bool:
        """Half of its time is over: who reads on takes it again."""
        return self._taken and now > self._content.until - self._seconds / 2

    def let_go(self) -> None:
        """Reading has ended."""
        if self._taken and not self._stays:
            # What cannot be deleted runs out.
            with contextlib.suppress(OSError):
                self._store.drop(self._name)
            self._taken = False

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def _give_up(self, why: str) -> None:
        self._seconds = 0.0
        where = self._store.where
        self._notices.append(
            f"nothing holds the segments that are read here ({where}: {why}): a `clean` beside it may take them"
        )


def _write(path: Path, content: HoldFile) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    make_folder(path.parent)
    # No fsync: a lease does not outlive the machine's run, nor does who holds it.
    with os.fdopen(replacing_file(temporary), "wb") as out:
        out.write(msgspec.json.encode(content) + b"\n")
    temporary.replace(path)


def read_holds(state: Path, now: float) -> list[HoldFile]:
    """The holds of a state folder that have not run out. RefusedError where one cannot be read."""
    return [held for held in map(_read, _paths(state)) if held is not None and held.until > now]


def drop_ended(state: Path, now: float) -> None:
    """Delete the holds that have run out."""
    for path in _paths(state):
        if (held := _read(path)) is not None and held.until <= now:
            # It counts no more, whether this user may delete it or not.
            with contextlib.suppress(OSError):
                path.unlink()


def _paths(state: Path) -> list[Path]:
    return sorted((state / "consumers").glob(f"*{_SUFFIX}"))


def _read(path: Path) -> HoldFile | None:
    """None for one that was let go just now."""
    remedy = "Delete it when that read has ended."
    return read_versioned(path, _decode, VERSION, "the hold of a batch read", remedy=remedy)


def _decode(data: bytes, version: int) -> HoldFile:
    return decode_whole(data, HoldFile)
