"""The snapshot of one table, wherever its rows go: which ranges there are, and which of them are to be read still.

Reads no server, and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

import msgspec

from tailer.errors import UsageError
from tailer.images.tables import KnownTable
from tailer.options.token_range import TokenRange
from tailer.rebuild import Table
from tailer.snapshot.progress import Snapshot
from tailer.snapshot.ranges import HeldRange, Range, cut, joined, within, without
from tailer.snapshot.reading import ReadPiece
from tailer.tail.snapshot.nodes import Nodes, share

_PARTS: Final = 64
"""A table is read in so many ranges at least."""


class TableSnapshot(Protocol):
    """`now`: what is known of how far it is."""

    now: Snapshot

    def check(self) -> None:
        """UsageError where nodes hold rows of it that are not followed."""

    def begin(self, tokens: TokenRange | None, *, anew: bool) -> Snapshot:
        """The one that is not at its end yet, or a new one: where there never was one, where changes were lost since,
        or (`anew`) where the last one is at its end."""

    def is_gone(self) -> bool:
        """Whether the log has told that the table was dropped."""

    def left(self) -> Iterator[tuple[int, Range]]:
        """The ranges that are to be read still, each with its number in the plan."""

    def known(self) -> KnownTable:
        """The table as the log has it now."""

    def merge(self, number: int, piece: ReadPiece, seen: KnownTable, seconds: float) -> bool:
        """Keep what was read of range `number`; False where the table is another one by now than when reading began.

        `seconds`: what it took since the piece before.
        """


class Target(Protocol):
    """Where a run's snapshots go. `wall`: seconds since the epoch. `piece_rows`: so many rows at most are one piece,
    but for a partition that has more."""

    wall: Callable[[], float]
    piece_rows: int
    twins: Sequence[str]
    """The compiled twins that take part, beside those that read."""

    def stands(self) -> bool:
        """Whether every node's consumer stands somewhere, and holds what is behind that."""

    def behind(self, second: float) -> Sequence[str]:
        """Nodes of which not all that they had logged at a second is where rows go, where that has to come first."""

    def is_defined(self, table: Table) -> bool | None:
        """Whether a table is known as the logs define it where their rows are; None where that is still to come, False
        where the logs say by now that it was dropped, or is not captured."""

    def has(self, table: Table) -> bool:
        """Whether nothing of a table is to be read: its snapshot is at its end and nothing was lost since, or the log
        has told that it was dropped."""

    def table(self, table: Table, nodes: Nodes, settle_seconds: float) -> TableSnapshot:
        """Of one table. `settle_seconds`: see `--snapshot-settle`."""


class Ranges:
    """The ranges of one table."""

    def __init__(self, nodes: Nodes, table: Table) -> None:
        self._nodes, self._name = nodes, table.name
        self.held: Sequence[HeldRange] = nodes.ranges(table.definition.keyspace)

    def check(self) -> None:
        """UsageError where nodes hold rows of it that are not followed."""
        missing = [each for each in self.held if not self._nodes.follows(each)]
        if missing:
            raise UsageError(
                f"{self._name}: not all replicas of {share(missing):.0%} of its tokens are followed",
                expected="every node that holds rows of it, each with its own server: NODE=HOST,NODE=HOST",
                found=", ".join(self._nodes.servers),
                remedy="Follow the others too, or have such rows read as well, and marked: --partial.",
            )

    def plan(self, tokens: TokenRange | None) -> list[Range]:
        """What is read, in pieces that one reader reads."""
        return [part for each in cut(self.held, _PARTS) for part in within([(each.low, each.high)], tokens)]

    def follows(self, held: HeldRange) -> bool:
        """Whether all that hold it are of this run."""
        return self._nodes.follows(held)


def left_of(snapshot: Snapshot) -> Iterator[tuple[int, Range]]:
    """The ranges that are to be read still, each with its number in the plan."""
    for number, whole in enumerate(snapshot.plan):
        for part in without(whole, snapshot.done):
            yield number, part


def with_piece(now: Snapshot, piece: ReadPiece, told: int, seconds: float) -> Snapshot:
    """How far it is with one more piece, of which so many images or rows came."""
    done = joined(now.done, (piece.low, piece.high))
    return msgspec.structs.replace(
        now,
        done=done,
        rows=now.rows + piece.rows,
        images=now.images + told,
        bytes=now.bytes + piece.size,
        seconds=now.seconds + seconds,
        ended=not any(without(part, done) for part in now.plan),
    )
