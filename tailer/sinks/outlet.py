"""What takes change rows to where people have them, and keeps the position with them: the protocol of all outlets.

An outlet is of one node's log, or of one state of images. Target first, state after: an outlet that keeps the position
makes it durable together with the rows, and a consumer's file follows. Knows no target and no loop
(`tailer/tail/deliver.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from tailer.errors import SystemFailedError
from tailer.sinks.in_force import Versions, no_versions

if TYPE_CHECKING:
    import pyarrow

    from tailer.errors import CdcError
    from tailer.schema.model import TableDefinition
    from tailer.schema.typed import TypedTable
    from tailer.sinks.base import Rows
    from tailer.sinks.table_text import Tables


class OutletKey(NamedTuple):
    """Whose position a target keeps. `folder`: the random id of the log folder's state."""

    folder: str
    node: str
    consumer: str


class Place(msgspec.Struct, frozen=True):
    """How far a target is: the node's whole offset as JSON text, in a fixed form, and the consumer's generation.

    The generation grows when somebody moves or drops the consumer by hand: a place of an older one counts no more.
    """

    offset: str
    generation: int = 0


class Bounds(NamedTuple):
    """When an outlet commits: at so many rows or bytes (None: no bound), and when rows have waited for `seconds`
    though nothing more is at hand."""

    rows: int | None = None
    bytes: int | None = None
    seconds: float = 0.0


class TargetAwayError(SystemFailedError):
    """The target cannot be reached, or lost what it was doing: worth another try, from `Outlet.open` on."""


Refused = Callable[[Any, int, "CdcError"], None]
"""Takes one row that the target refuses: its batch, its number there, and why.

Raises the error, or keeps the row aside where that was asked for; then the outlet leaves it out.
"""


class ImagesForm(NamedTuple):
    """Rows are images. `before`: whether they show rows as they were, too. `schema`: makes that of their batches."""

    before: bool
    schema: Callable[[], pyarrow.Schema]


def _no_history(table_id: str) -> Sequence[tuple[int, TableDefinition]]:
    return ()


@dataclass(frozen=True, slots=True)
class OutletContext:
    """What an outlet is opened with.

    `tables`: definitions by table id. `typed`: rows are of that typed form; None: of the generic one. `say` takes one
    line for the user. `more`: the columns that rows have behind all others. `images`: rows are images; None: change
    rows. `history`: the definitions that a table (by its id) had, each with the `seq` of the `schema` image that begins
    it (0: the first one); empty if it never changed. `versions`: all definitions that a table had, with the place of a
    row or image from which each counts.
    """

    key: OutletKey
    tables: Tables
    typed: TypedTable | None
    refused: Refused
    say: Callable[[str], None]
    more: tuple[str, ...] = ()
    images: ImagesForm | None = None
    history: Callable[[str], Sequence[tuple[int, TableDefinition]]] = _no_history
    versions: Versions = no_versions


@runtime_checkable
class ReportsEnd(Protocol):
    """An outlet that can deliver everything and still has something to report when a run ends."""

    def report_end(self) -> None:
        """Raise the error that the run ends with; nothing if there is none."""
        ...


class TableWaits(NamedTuple):
    """A table of the source whose images wait in the target for a person: how many, since when (seconds since the
    epoch), and why."""

    table: str
    images: int
    since: float
    reason: str


@runtime_checkable
class ReportsWaiting(Protocol):
    """An outlet that sets images of a table aside until a person has done something."""

    def waiting(self) -> Sequence[TableWaits]:
        """Which tables' images wait now."""
        ...


class Outlet(Protocol):
    """Takes one node's rows in log order, or the images of all nodes in the order in which they came, and makes them
    durable together with the position behind them.

    Not thread-safe. `name`: the target in words, without a password. `keeps_place`: rows and position become durable at
    once, so that each row is there once; without, the state's position counts, and rows behind it come again after a
    kill.
    """

    name: str
    keeps_place: bool
    bounds: Bounds

    def open(self) -> Place | None:
        """Connect, shut out whoever else writes under this key, and say what was committed last; None for nothing.

        Called again after TargetAwayError: what was written and not committed stays in hand. Raises UsageError for a
        target that cannot be used so, RefusedError where somebody else is at it, TargetAwayError.
        """
        ...

    def write(self, batch: Rows) -> int:
        """Take the rows, which are not durable yet. How many bytes wait to be committed, these included.

        They are in hand until they are committed, whatever becomes of the target meanwhile. Raises SinkError.
        """
        ...

    def commit(self, before: Place | None, behind: Place) -> None:
        """When this returns, everything written and the place `behind` it are durable; it may be the place alone.

        `before`: what stood there when `open` was asked, or was committed last. RefusedError where something else
        stands there now. SinkError, TargetAwayError: nothing was committed, or nobody knows; `open` tells.
        """
        ...

    def settled(self) -> None:
        """The commit that failed with TargetAwayError is there, as `open` told: its rows are in hand no more."""
        ...

    def close(self) -> None:
        """Let go. What was not committed is given up."""
        ...
