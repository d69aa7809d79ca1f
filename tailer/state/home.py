"""Where the state of one log is kept, as a tail asks for it: a folder here; another node keeps its own.

Gives the parts; decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tailer.errors import CdcError
from tailer.options.names import check_name
from tailer.position import Position
from tailer.state.cleaned import Cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import ConsumerFile, NodeState, consumer_path, read_consumer
from tailer.state.file_system import network_notices
from tailer.state.folder_journal import FolderJournal
from tailer.state.holds import FolderHolds, HoldStore
from tailer.state.journal import Journal
from tailer.state.lock import state_lock
from tailer.state.log_folder import state_folder
from tailer.state.modes import make_folder
from tailer.state.quarantine import Quarantine


class TellsAway(Protocol):
    """Tells who asks for status that a consumer's target cannot be reached."""

    def tell(self, error: CdcError | None) -> None:
        """None: it is there again."""
        ...


class HeldConsumer(Protocol):
    """A consumer held by this process; see `Consumer`."""

    name: str
    content: ConsumerFile

    @property
    def journal(self) -> Journal: ...

    @property
    def away(self) -> TellsAway: ...

    def node(self, node: str) -> NodeState | None:
        """Where it stands in a node's log; None before its first move."""
        ...

    def save(self, node: str, state: NodeState, *, moved: float, program: str) -> None:
        """Write the node's new state: durable when this returns."""
        ...

    def close(self) -> None: ...


class KeepsAside(Protocol):
    """Keeps what could not be delivered; see `Quarantine`."""

    count: int

    @property
    def keeps(self) -> bool:
        """Whether what it is given is kept, and not only counted."""
        ...

    def keep(self, at: Position, file: str, error: CdcError, data: bytes, row: int | None = None) -> None: ...


class Home(Protocol):
    """The state of one log."""

    @property
    def shared(self) -> bool:
        """Whether `clean` heeds the consumers of this state."""
        ...

    def make(self) -> None:
        """Make it where it is missing: somebody will write."""
        ...

    def journal(self, *, writable: bool) -> Journal: ...

    def consumer(self, name: str, lock_seconds: float) -> HeldConsumer:
        """Take a consumer. RefusedError where another process has it."""
        ...

    def stands(self, name: str) -> ConsumerFile:
        """Where a consumer stands, whoever has it; nowhere if there is none. Its memories are numbers alone."""
        ...

    def cleaned(self) -> Cleaned: ...

    def quarantine(self, consumer: str | None, node: str, tables: tuple[str, ...], *, writes: bool) -> KeepsAside: ...

    def holds(self) -> HoldStore: ...

    def registering(self, begin: Callable[[], None]) -> None:
        """Call `begin`, which finds where a consumer begins and saves that: `clean` deletes nothing in between."""
        ...

    def notices(self) -> Sequence[str]:
        """What there is to say to who keeps a position there."""
        ...


class FolderHome:
    """The state folder beside a log folder, or a private one (`override`)."""

    def __init__(self, log: Path, override: Path | None = None) -> None:
        self.beside = state_folder(log)
        self.folder = state_folder(log, override)

    @property
    def shared(self) -> bool:
        return self.folder == self.beside

    def make(self) -> None:
        make_folder(self.folder)

    def journal(self, *, writable: bool) -> Journal:
        return FolderJournal(self.folder, writable=writable)

    def consumer(self, name: str, lock_seconds: float) -> HeldConsumer:
        return Consumer(self.folder, name, lock_seconds)

    def stands(self, name: str) -> ConsumerFile:
        return read_consumer(consumer_path(self.folder, check_name(name)), name)

    def cleaned(self) -> Cleaned:
        return Cleaned(self.beside)

    def quarantine(self, consumer: str | None, node: str, tables: tuple[str, ...], *, writes: bool) -> KeepsAside:
        return Quarantine(self.folder if writes else None, consumer, node, tables=tables)

    def holds(self) -> HoldStore:
        # Where `clean` looks, also of a run with a private state.
        return FolderHolds(self.beside)

    def registering(self, begin: Callable[[], None]) -> None:
        with state_lock(self.folder):
            begin()

    def notices(self) -> Sequence[str]:
        return network_notices(self.folder)
