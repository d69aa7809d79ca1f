"""Consumers: named positions in the state folder, one file each, replaced atomically and durably (architecture 8).

Keeps positions and the lock that makes a name exclusive; decides nothing about what they mean.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import RefusedError
from tailer.options.names import check_name
from tailer.state.modes import make_folder, open_file, open_to_read, read_file, replacing_file
from tailer.state.offset import Memory, NodeOffset
from tailer.state.versions import Versioned, check_version
from tailer.system_errors import told

VERSION: Final = 1
LOCK_SECONDS: Final = 0.2
"""Somebody who only asks whether a consumer runs holds its lock for an instant."""

_LOCK_SLICE_SECONDS: Final = 0.05


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
    marks beyond `offset`, in order, wherever the memory changed: a checkpoint may stand there.
    """

    offset: NodeOffset
    memory: Memory = Memory()
    restart: tuple[int, int] = (0, 0)
    initial: NodeOffset | None = None
    ahead: tuple[Mark, ...] = ()


class ConsumerFile(msgspec.Struct, frozen=True):
    """The file's content. `moved` is seconds since the epoch; `program` and `host` say who moved it last."""

    name: str
    nodes: dict[str, NodeState]
    v: int = VERSION
    moved: float = 0.0
    program: str = ""
    host: str = ""


class Consumer:
    """A consumer, held by this process until `close`. A second process with the same name is refused (exit 6).

    `lock_seconds`: how long to wait for a predecessor that is about to die.
    """

    def __init__(self, state: Path, name: str, lock_seconds: float = LOCK_SECONDS) -> None:
        self.name = check_name(name)
        self._path = consumer_path(state, name)
        self._lock = take_consumer(state, name, lock_seconds)
        try:
            self.content = read_consumer(self._path, name)
        except BaseException:
            os.close(self._lock)
            raise

    def node(self, node: str) -> NodeState | None:
        """Where this consumer stands in a node's log; None before its first move."""
        return self.content.nodes.get(node)

    def save(self, node: str, state: NodeState, *, moved: float, program: str) -> None:
        """Write the node's new state: durable when this returns."""
        nodes = {**self.content.nodes, node: state}
        self.content = ConsumerFile(self.name, nodes, VERSION, moved, program, socket.gethostname())
        replace_file(self._path, msgspec.json.format(msgspec.json.encode(self.content), indent=1) + b"\n")

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


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


def registered(state: Path) -> list[ConsumerFile]:
    """Every consumer of a state folder. RefusedError where one cannot be read: what it needs is not known."""
    return [read_consumer(consumer_path(state, name), name) for name in consumer_names(state)]


def take_consumer(state: Path, name: str, lock_seconds: float = LOCK_SECONDS) -> int:
    """Take a name's lock, whatever its file says: the descriptor that holds it until it is closed."""
    path = consumer_path(state, name).with_suffix(".lock")
    make_folder(path.parent)
    return _take_lock(path, name, time.monotonic() + lock_seconds)


def is_running(state: Path, name: str) -> bool:
    """Whether a process holds the consumer now. Writes nothing."""
    try:
        fd = open_to_read(consumer_path(state, name).with_suffix(".lock"))
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def read_consumer(path: Path, name: str) -> ConsumerFile:
    """A consumer's file; an empty one where there is none. RefusedError for a file that is not understood."""
    try:
        data = read_file(path)
    except FileNotFoundError:
        return ConsumerFile(name, {})
    try:
        found = msgspec.json.decode(data, type=Versioned).v
        check_version(found, VERSION, "the consumer file", file=str(path), or_else=", or another consumer name")
        return msgspec.json.decode(data, type=ConsumerFile)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise RefusedError(
            f"the consumer file cannot be read: {error}",
            file=str(path),
            remedy="Restore it, or drop the consumer by deleting the file and start it anew.",
        ) from error


def replace_file(path: Path, data: bytes) -> None:
    """Atomic and durable: temporary file, fsync, rename, fsync of the directory."""
    temporary = path.with_name(path.name + ".new")
    with told("cannot write the state", path, writes=True):
        with os.fdopen(replacing_file(temporary), "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _take_lock(path: Path, name: str, until: float) -> int:
    fd = open_file(path, os.O_RDWR)
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() < until:
                time.sleep(_LOCK_SLICE_SECONDS)
                continue
            holder = os.pread(fd, 200, 0).decode("utf-8", "replace").strip()
            os.close(fd)
            raise RefusedError(
                f"consumer {name!r} is in use by {holder or 'another process'}",
                file=str(path),
                remedy="Stop it, or take another name for this consumer.",
            ) from error
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return fd
