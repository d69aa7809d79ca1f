"""Who ships a folder of data files, and how far each is: a file for each, in DIR/.cdc_tail/consumers.

A shipper is registered before it reads, and from then on nothing that it has not sent is removed. Sends nothing.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import UsageError
from tailer.on_disk import sync_folder
from tailer.options.names import check_name
from tailer.state.away import Away, AwayNote
from tailer.state.consumers import (
    consumer_names,
    consumer_path,
    is_running,
    lock_path,
    take_consumer,
    target_away,
)
from tailer.state.lock import state_lock
from tailer.state.modes import replace_file
from tailer.state.versions import read_versioned
from tailer.system_errors import told
from tailer.versions import decode_whole

VERSION: Final = 1
FOLDER: Final = ".cdc_tail"
"""No node is called that."""


class Sent(msgspec.Struct, frozen=True):
    """Of one node's files: all up to the number `upto` were sent; the shipper began behind `since`.

    `sha256`: of the last file; empty where that is not known.
    """

    since: int
    upto: int
    sha256: str = ""


class ShipperFile(msgspec.Struct, frozen=True):
    """The file's content. `to`: the target in words; `moved`: seconds since 1970."""

    name: str
    to: str
    nodes: dict[str, Sent]
    moved: float
    host: str
    v: int = VERSION


def registered(folder: Path) -> list[ShipperFile]:
    """All shippers of a folder. RefusedError for a file that is not understood: nobody knows what that one needs."""
    found = (_read(folder, name) for name in consumer_names(folder / FOLDER))
    return [each for each in found if each is not None]


def runs(folder: Path, name: str) -> bool:
    """Whether a process ships under that name now."""
    return is_running(folder / FOLDER, name)


def away(folder: Path, name: str) -> Away | None:
    """What a process that ships under that name now says of a target that is away."""
    return target_away(folder / FOLDER, name)


def locked(folder: Path) -> AbstractContextManager[None]:
    """Whoever registers and whoever removes files shut each other out."""
    return state_lock(folder / FOLDER)


def drop(folder: Path, name: str) -> None:
    """Forget a shipper: it holds nothing back any more. UsageError where there is none, RefusedError while it runs."""
    known = consumer_names(folder / FOLDER)
    if name not in known:
        there = f"There are: {', '.join(known)}." if known else "There is none."
        raise UsageError(f"no shipper {name!r} of these data files", file=str(folder), remedy=there)
    lock = take_consumer(folder / FOLDER, name)
    path = consumer_path(folder / FOLDER, name)
    try:
        with locked(folder), told("cannot forget the shipper", path, writes=True):
            path.unlink()
            sync_folder(path.parent)
    finally:
        os.close(lock)


class Shipper:
    """A shipper, held until `close`: a second process with its name is refused (exit 6).

    `before`: the target that an earlier run shipped to; None at a first start. `away`: where a target that is away is
    told of.
    """

    def __init__(self, folder: Path, name: str, to: str) -> None:
        self.folder = folder
        self._lock = take_consumer(folder / FOLDER, check_name(name))
        self.away = AwayNote(self._lock, lock_path(folder / FOLDER, name))
        try:
            held = _read(folder, name)
            self.before = None if held is None else held.to
            self._content = ShipperFile(name, to, {} if held is None else held.nodes, time.time(), socket.gethostname())
            with locked(folder):
                self._write()
        except BaseException:
            os.close(self._lock)
            raise

    def sent(self, node: str) -> Sent | None:
        """How far it is with a node; None before its first file."""
        return self._content.nodes.get(node)

    def save(self, node: str, sent: Sent) -> None:
        """Durable when this returns."""
        nodes = {**self._content.nodes, node: sent}
        self._content = msgspec.structs.replace(self._content, nodes=nodes, moved=time.time())
        self._write()

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _write(self) -> None:
        text = msgspec.json.format(msgspec.json.encode(self._content), indent=1)
        replace_file(consumer_path(self.folder / FOLDER, self._content.name), text + b"\n")


def _read(folder: Path, name: str) -> ShipperFile | None:
    remedy = f"Restore it, or forget this shipper: cdc-tail ship {folder} --consumer {name} --drop."
    path = consumer_path(folder / FOLDER, name)
    return read_versioned(path, _decode, VERSION, "the shipper's file", remedy=remedy)


def _decode(data: bytes, version: int) -> ShipperFile:
    return decode_whole(data, ShipperFile)
