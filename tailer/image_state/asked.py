"""A snapshot that is asked of the process which has a state of images: by files beside it, for there is no other way.

    who asks: `snapshot.asked`  ->  the process takes it, and says in `snapshot.reply` which tables, or why not

How far it is stands in the state (`snapshots.py`). Chooses no table.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

import msgspec

from tailer.state.modes import read_file, replace_file
from tailer.versions import decode_versioned, decode_whole

VERSION: Final = 1
_ASKED: Final = "snapshot.asked"
_REPLY: Final = "snapshot.reply"

T = TypeVar("T", "Asked", "Reply")


class Asked(msgspec.Struct, frozen=True):
    """`id`: random. `tables`: their names and globs; none for all."""

    id: str
    tables: tuple[str, ...] = ()
    v: int = VERSION


class Reply(msgspec.Struct, frozen=True):
    """`id`: of what was asked. `tables`: the ids (32 hex digits) of those that are read. `reason`: why it cannot be
    done, empty where it can."""

    id: str
    tables: tuple[str, ...] = ()
    reason: str = ""
    v: int = VERSION


def ask(folder: Path, tables: tuple[str, ...]) -> Asked:
    """Ask for them, in place of what was asked before and nobody took."""
    asked = Asked(uuid4().hex, tables)
    replace_file(folder / _ASKED, msgspec.json.encode(asked))
    return asked


def is_open(folder: Path) -> bool:
    """Whether nobody has taken what was asked."""
    return (folder / _ASKED).exists()


def withdraw(folder: Path) -> None:
    """It is asked no more."""
    (folder / _ASKED).unlink(missing_ok=True)


def take(folder: Path) -> Asked | None:
    """What is asked, once; None for nothing."""
    if not is_open(folder):
        return None
    with suppress(FileNotFoundError):
        asked = _decoded(folder / _ASKED, Asked)
        withdraw(folder)
        return asked
    return None


def reply(folder: Path, given: Reply) -> None:
    """Say what became of what was asked."""
    replace_file(folder / _REPLY, msgspec.json.encode(given))


def replied(folder: Path, asked: Asked) -> Reply | None:
    """What was said to it; None for nothing yet."""
    try:
        found = _decoded(folder / _REPLY, Reply)
    except FileNotFoundError:
        return None
    return found if found.id == asked.id else None


def _decoded(path: Path, kind: type[T]) -> T:
    # Earlier programs named no version.
    return decode_versioned(
        read_file(path), lambda data, version: decode_whole(data, kind, ("v",)), VERSION, "what is asked of a snapshot",
        file=str(path), remedy="Remove the file and ask for the snapshot again.", named=False,
    )  # fmt: skip
