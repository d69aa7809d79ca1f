"""Where compiled code is kept: a folder for all of it, with a name of its own for each key. Knows no numba.

Beside the source, or in the user's cache folder where that cannot be written (`NUMBA_CACHE_DIR` comes before both).
Code is put into `<name>.partial`, which gets its name when it is whole: whoever finds the folder has everything, and
needs only to read it. A compiler that dies leaves files that the next one goes on with, and a lock that is free.
Folders that others than root and this user own or may write are passed over, for what lies there is run. Where
nothing is kept yet, what a wheel has brought along serves (`tailer.jit.baseline`), on machines that it fits.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Final

from tailer.jit.baseline import CARRIED, VARIABLES, baseline_name, is_such_a_machine
from tailer.jit.code_file import OTHERS_WRITE, NotKeptError, distrust, read_code
from tailer.jit.sources import SOURCES
from tailer.on_disk import sync_folder

BESIDE: Final = Path(__file__).resolve().parent / "__pycache__"
_USERS: Final = "cdc-tail"
_BEGIN: Final = "compiled"
_PARTIAL: Final = ".partial"
_LOCK: Final = ".lock"
_NEWS: Final = "news"
_FOLDER_MODE: Final = 0o755
_PROCESSOR_LINES: Final = ("model name", "flags", "Features", "CPU part")
WITHOUT: Final = "no compiled code, the plain reader goes on, slower"
"""What a user is told, before the reason."""

_refused: Final[dict[Path, str]] = {}
"""Folders that are there and not used, and why."""

_told: Final[set[Path]] = set()


def folders() -> list[Path]:
    """The folders that code is looked for in, and written to the first of that can be."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    found = [Path(given) / _USERS, BESIDE] if given else [BESIDE]
    with suppress(RuntimeError):  # A user without a home.
        found.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / _USERS)
    return found


def kept() -> Path | None:
    """The folder with all code for these versions, if it is there: for this very processor, or as the wheel has it."""
    for folder in folders():
        whole = folder / _name()
        if _is_safe(folder) and os.access(whole, os.R_OK | os.X_OK) and _is_safe(whole):
            return whole
    return _carried()


def _carried() -> Path | None:
    """The folder with the code that came with the package, if this machine can run it."""
    folder = CARRIED / baseline_name()
    if not os.access(folder, os.R_OK | os.X_OK) or not is_such_a_machine(_processor()):
        return None
    return folder if _is_safe(CARRIED) and _is_safe(folder) else None


def read(folder: Path, file: str) -> bytes:
    """A function's code, from a folder that is kept. NotKeptError where it is not whole or others may write it."""
    return read_code(folder / file, _forbidden(folder))


def _forbidden(folder: Path) -> int:
    """Who else may not write there. Whoever may write beside the source by its group may write the source too."""
    beside_source = folder in (BESIDE, CARRIED) or folder.parent == CARRIED
    return stat.S_IWOTH if beside_source else OTHERS_WRITE


def _is_safe(folder: Path) -> bool:
    """Whether it is there and code may be taken from it and put into it."""
    if folder in _refused:
        return False
    try:
        why = distrust(folder.stat(), _forbidden(folder))
    except OSError:
        return False
    if why is not None:
        _refused[folder] = why
    return why is None


def take_refusals() -> list[str]:
    """What there is to say of folders that are not used, once for each."""
    fresh = [folder for folder in _refused if folder not in _told]
    _told.update(fresh)
    return [f"{folder} {_refused[folder]}: compiled code there is not used" for folder in fresh]


def room() -> Path | None:
    """The folder that code may be put into until it is whole, made if need be. None where nothing can be written."""
    for folder in folders():
        partial = folder / (_name() + _PARTIAL)
        try:
            folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            if not _is_safe(folder):
                continue
            partial.mkdir(_FOLDER_MODE, exist_ok=True)
            if not _is_safe(partial):
                continue
            # Permissions do not tell of a file system that is read only.
            tempfile.TemporaryFile(dir=partial).close()
            _lock_of(partial).touch()
        except OSError:
            continue
        return partial
    return None


def finish(partial: Path) -> None:
    """All of it is there: it gets its name, and what was kept for earlier versions goes."""
    try:
        if BESIDE in folders()[: folders().index(partial.parent)]:
            verb = "used" if BESIDE in _refused else "written"
            (partial / _NEWS).write_text(f"{BESIDE} cannot be {verb}: compiled code is kept in {partial.parent}")
        sync_folder(partial)
        partial.rename(_whole_of(partial))
        sync_folder(partial.parent)
    except OSError:
        # Somebody was quicker with the same code, or has removed it for newer.
        shutil.rmtree(partial, ignore_errors=True)
    _remove_earlier(partial.parent)


def take_news() -> str | None:
    """What there is to say of where the code is kept: for the one process that comes first."""
    folder = kept()
    if folder is None:
        return None
    try:
        news = (folder / _NEWS).read_text()
        (folder / _NEWS).unlink()
    except OSError:
        return None
    return news


def discard() -> None:
    """What is kept does not load: it is to be compiled anew. What this user may not remove is not used any more."""
    folder = kept()
    if folder is not None and folder.parent == CARRIED:
        # The package's files are not ours to remove. Whoever finds the damage tells of it.
        _refused[folder] = "is damaged"
        _told.add(folder)
    elif folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            _refused[folder] = "is damaged and cannot be removed"


def discard_damaged(files: Iterable[str]) -> None:
    """Discards what is kept where one of these files is not there whole."""
    names = list(files)
    while (folder := kept()) is not None:
        try:
            for name in names:
                read(folder, name)
        except NotKeptError:
            discard()
        else:
            return


def is_being_compiled() -> bool:
    """Whether a living process compiles, anybody's that this one can see."""
    for folder in filter(_is_safe, folders()):
        with suppress(OSError), _locked(folder / (_name() + _LOCK), os.O_RDONLY) as free:
            if not free:
                return True
    return False


@contextmanager
def compiling(partial: Path) -> Iterator[bool]:
    """Whether this process may compile into it, and no other one does; until the end."""
    with _locked(_lock_of(partial), os.O_RDWR) as free:
        yield free


@contextmanager
def _locked(file: Path, mode: int) -> Iterator[bool]:
    # The lock goes with the process, however that ends.
    descriptor = os.open(file, mode | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def _lock_of(partial: Path) -> Path:
    return partial.with_name(partial.name.removesuffix(_PARTIAL) + _LOCK)


def _whole_of(partial: Path) -> Path:
    return partial.with_name(partial.name.removesuffix(_PARTIAL))


def _remove_earlier(folder: Path) -> None:
    """Removes what was kept for other versions at the same place. A process that reads there goes on without."""
    name = _name()
    place = name[: name.rindex("-") + 1]
    for other in folder.glob(f"{place}*"):
        if other.name.startswith(name):
            continue
        if other.suffix == _LOCK:
            with suppress(OSError):
                other.unlink()
        else:
            shutil.rmtree(other, ignore_errors=True)


@cache
def _name() -> str:
    """Names all that the compiled code depends on: first the place, which an upgrade leaves as it is."""
    place = [sys.implementation.cache_tag, str(BESIDE), _processor()]
    place += [os.environ.get(variable, "") for variable in VARIABLES]
    versions = [str(SOURCES), *(metadata.version(name) for name in ("numba", "llvmlite"))]
    return f"{_BEGIN}-{_digest(place)}-{_digest(versions)}"


def _digest(facts: list[str]) -> str:
    return blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def _processor() -> str:
    """The machine's processor with its features, as far as the system tells."""
    told = ""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0].splitlines()
        told = "\n".join(line for line in lines if line.startswith(_PROCESSOR_LINES))
    except OSError:
        told = platform.processor()
    return f"{platform.machine()} {told}"
