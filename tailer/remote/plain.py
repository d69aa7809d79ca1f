"""A node where cassandra-sidecar answers, not `cdc-tail serve`: it lists and gives segments, and keeps no state.

Its readers keep their own, where they say, and are told once what they miss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from tailer.errors import UsageError
from tailer.remote.link import Link
from tailer.state.holds import HoldFile, HoldStore
from tailer.state.home import FolderHome, HeldConsumer, KeepsAside
from tailer.state.journal import Journal

NOWHERE: Final = Path("/nonexistent/cdc_raw")
"""What the state of a run lies beside that keeps none: nothing is read from there, and nothing written."""


class PlainHome(FolderHome):
    """`folder`: where this reader keeps its state; None keeps it in memory, for this run alone."""

    def __init__(self, link: Link, folder: Path | None) -> None:
        super().__init__(NOWHERE, folder)
        self._link = link
        self._keeps = folder is not None

    @property
    def shared(self) -> bool:
        return False

    def make(self) -> None:
        if self._keeps:
            super().make()

    def journal(self, *, writable: bool) -> Journal:
        return super().journal(writable=writable and self._keeps)

    def consumer(self, name: str, lock_seconds: float) -> HeldConsumer:
        if not self._keeps:
            raise no_state(self._link.where)
        return super().consumer(name, lock_seconds)

    def quarantine(self, consumer: str | None, node: str, tables: tuple[str, ...], *, writes: bool) -> KeepsAside:
        return super().quarantine(consumer, node, tables, writes=writes and self._keeps)

    def holds(self) -> HoldStore:
        return NoHolds(self._link.where)

    def registering(self, begin: Callable[[], None]) -> None:
        """Nobody there heeds it."""
        begin()

    def notices(self) -> Sequence[str]:
        told = (
            f"{self._link.where} answers as cassandra-sidecar: segments without sidecar file are not seen, so give "
            "definitions with --schema or --server; nothing there waits for this reader before it is deleted"
        )
        return [told, *(super().notices() if self._keeps else ())]


class NoHolds:
    """Nothing is held there; see `HoldStore`."""

    there = False

    def __init__(self, where: str) -> None:
        self.where = where

    def locked(self) -> AbstractContextManager[None]:
        return nullcontext()

    def write(self, name: str, content: HoldFile) -> None: ...

    def drop(self, name: str) -> None: ...


def no_state(where: str) -> UsageError:
    """The error for a consumer whose position nobody keeps."""
    return UsageError(
        "cassandra-sidecar keeps no positions",
        file=where,
        expected="a state folder of this reader's own",
        found="none",
        remedy="Name one with --state DIR (stateDir), or run `cdc-tail serve` on the node.",
    )
