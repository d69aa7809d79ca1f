"""Consumers: named positions in the state folder, one file each, replaced atomically and durably (architecture 8).

Keeps positions and the lock that makes a name exclusive; decides nothing about what they mean. What the planner
remembers of segments is no part of the file (`remembered.py`), but for files of version 1.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any, Final

import msgspec

from tailer.errors import RefusedError
from tailer.on_disk import closed_on_error, lock_file
from tailer.state.away import Away, away_of
from tailer.state.ids import Ids
from tailer.state.ids_json import from_ranges
from tailer.state.learnt import Learnt
from tailer.state.modes import make_folder, open_file, open_to_read, replace_file
from tailer.state.offset import Memory, NodeOffset
from tailer.state.versions import read_versioned
from tailer.system_errors import told
from tailer.typed_decode import decode_json

VERSION: Final = 3
LOCK_SECONDS: Final = 0.2
"""Somebody who only asks whether a consumer runs holds its lock for an instant."""


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """An offset that was handed out, and what the planner remembered there.

    `restart`: where reading must begin after a restart there; None where that is the offset itself.
    """

    offset: NodeOffset
    memory: Memory = Memory()
    restart: tuple[int, int] | None = None


class NodeState(msgspec.Struct, frozen=True, omit_defaults=True):
    """One node's part of a consumer: its offset, where reading must begin after a restart, what the planner remembers.

    `initial` is the first offset that was handed out, returned again until the consumer has moved past it. `ahead`:
    marks beyond `offset`, in order, wherever the memory changed: a checkpoint may stand there. `learnt`: of the segment
    that it stands in, up to the offset or further; with it `restart` was read there too. `generation`: of a consumer
    that feeds an outlet how often it was moved by hand, from 1 on; 0 where it feeds none.
    """

    offset: NodeOffset
    memory: Memory = Memory()
    restart: tuple[int, int] = (0, 0)
    initial: NodeOffset | None = None
    ahead: tuple[Mark, ...] = ()
    learnt: Learnt | None = None
    generation: int = 0


class ConsumerFile(msgspec.Struct, frozen=True):
    """The file's content. `moved` is seconds since the epoch; `program` and `host` say who moved it last."""

    name: str
    nodes: dict[str, NodeState]
    v: int = VERSION
    moved: float = 0.0
    program: str = ""
    host: str = ""


def consumer_path(state: Path, name: str) -> Path:
    return state / "consumers" / f"{name}.json"


def consumer_names(state: Path) -> list[str]:
    """The consumers that are registered in a state folder."""
    folder = state / "consumers"
    try:
        with told("cannot list the consumers", folder):
            return sorted(path.stem for path in folder.iterdir() if path.suffix == ".json")
    except FileNotFoundError:
        return []


def lock_path(state: Path, name: str) -> Path:
    return consumer_path(state, name).with_suffix(".lock")


def take_consumer(state: Path, name: str, lock_seconds: float = LOCK_SECONDS) -> int:
    """Take a name's lock, whatever its file says: the descriptor that holds it until it is closed."""
    path = lock_path(state, name)
    make_folder(path.parent)
    while True:
        lock = lock_file(open_file(path, os.O_RDWR), path, lambda holder: _in_use(path, name, holder), lock_seconds)
        with closed_on_error(lock), told("cannot lock the file", path, writes=True):
            named = os.fstat(lock).st_nlink
        if named:
            return lock
        # Whoever had the name has removed its file: another process may have made a new one.
        os.close(lock)


def is_running(state: Path, name: str) -> bool:
    """Whether a process holds the consumer now. Writes nothing."""
    try:
        fd = open_to_read(lock_path(state, name))
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def target_away(state: Path, name: str) -> Away | None:
    """What the process that holds the consumer now says of a target that is away. Writes nothing."""
    found = away_of(lock_path(state, name))
    return found if found is not None and is_running(state, name) else None


def read_consumer(path: Path, name: str) -> ConsumerFile:
    """A consumer's file; an empty one where there is none. RefusedError for a file that is not understood."""
    remedy = "Restore it, or drop the consumer by deleting the file and start it anew."
    other = ", or another consumer name"
    found = read_versioned(path, _decode, VERSION, "the consumer file", remedy=remedy, or_else=other, named=False)
    return found if found is not None else ConsumerFile(name, {})


def write_consumer(state: Path, content: ConsumerFile) -> None:
    """Replace a consumer's file: durable when this returns. Its memories must be numbers alone."""
    text = msgspec.json.format(msgspec.json.encode(content), indent=1)
    replace_file(consumer_path(state, content.name), text + b"\n")


class _Position(msgspec.Struct):
    """What every version has of an offset. A default in its place would be the beginning of the log."""

    s: int
    o: int
    done: bool


class _Node(msgspec.Struct):
    offset: _Position
    initial: _Position | None = None


class _Positions(msgspec.Struct):
    nodes: dict[str, _Node]


def _decode(data: bytes, version: int) -> ConsumerFile:
    decode_json(data, _Positions)
    return decode_json(data, ConsumerFile, _ids)


def _ids(kind: type, data: Any) -> Ids:
    """Version 1: ids that were seen one by one, holes as ranges. Later ones have numbers alone."""
    return from_ranges(kind, [(each, each) if isinstance(each, int) else each for each in data])


def _in_use(path: Path, name: str, holder: str) -> RefusedError:
    return RefusedError(
        f"consumer {name!r} is in use by {holder}",
        file=str(path),
        remedy="Stop it, or take another name for this consumer.",
    )
