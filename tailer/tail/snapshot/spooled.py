"""The snapshot of tables into a spool: rows as change rows, and behind those of each stretch of tokens its range.

Reads no server, and merges nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, Lock
from typing import Final, NamedTuple
from uuid import uuid4
from weakref import WeakKeyDictionary

from tailer.errors import UsageError
from tailer.images.tables import KnownTable, TableFacts
from tailer.limits import MIB
from tailer.options.token_range import TokenRange
from tailer.rebuild import Table
from tailer.rebuild.facts import Place
from tailer.rebuild.table import plan_of
from tailer.rows.batch import Row
from tailer.snapshot.change_row import SnapshotRows
from tailer.snapshot.progress import Snapshot
from tailer.snapshot.ranges import Range
from tailer.snapshot.reading import ReadPiece
from tailer.snapshot.served_range import ReadRange
from tailer.snapshot.spool import Spool, spool_folder
from tailer.tail.snapshot.nodes import Nodes, range_of
from tailer.tail.snapshot.table import Ranges, left_of, with_piece

PIECE_ROWS: Final = 5_000

Places = Callable[[], Mapping[str, Place]]
"""Where the log of each node that stands is read to."""

ROOM_BYTES: Final = 256 * MIB
"""Reading waits where so much was read and is not where rows go yet."""

_SECOND: Final = 1_000_000
_WAIT_SECONDS: Final = 0.1


class SpoolHome(NamedTuple):
    """Where a spool is: a folder in the state of that node, which is there when the node's log is open."""

    node: str
    folder: Path


def home_of(states: Iterable[tuple[str, Path | None]], consumer: str, otherwise: str) -> SpoolHome:
    """With the first node whose state is a folder here. UsageError where there is none; `otherwise`: its remedy."""
    for node, state in states:
        if state is not None:
            return SpoolHome(node, spool_folder(state, consumer))
    raise UsageError("where do rows of the snapshot wait? No node's log is a folder here", remedy=otherwise)


class InSpool:
    """A Target. `nodes`: all that are followed. `places`: asked in other threads. One thread at a time is in the spool,
    which holds `lock`."""

    piece_rows = PIECE_ROWS
    twins: Sequence[str] = ()

    def __init__(self, spool: Spool, lock: Lock, nodes: Sequence[str], places: Places) -> None:
        self.wall = time.time
        self.spool, self.lock = spool, lock
        spool.sweep()
        self.nodes = tuple(nodes)
        self.places = places
        self._tables: dict[str, Table] = {}
        self._closed = Event()

    def define(self, tables: Sequence[Table]) -> None:
        """The tables as the logs define them now; those that are missing are gone."""
        self._tables = {table.definition.id: table for table in tables}

    def newest(self, table: Table) -> Table | None:
        """A table as it is now; None for one that was dropped."""
        return self._tables.get(table.definition.id)

    def wait_for_room(self) -> None:
        """Until whoever takes pieces is not too far behind, or all ends."""
        while self.spool.bytes >= ROOM_BYTES and not self._closed.is_set():
            self._closed.wait(_WAIT_SECONDS)

    def close(self) -> None:
        """Nobody is to wait any more."""
        self._closed.set()

    def stands(self) -> bool:
        return self.places().keys() >= set(self.nodes)

    def behind(self, second: float) -> Sequence[str]:
        """Rows of the log are put together with these by their times, whenever they come."""
        return ()

    def is_defined(self, table: Table) -> bool:
        return True

    def has(self, table: Table) -> bool:
        with self.lock:
            found = self.spool.known.tables.get(table.definition.id)
        return self.newest(table) is None or (found is not None and found.ended)

    def table(self, table: Table, nodes: Nodes, settle_seconds: float) -> TableInSpool:
        return TableInSpool(self, nodes, table, settle_seconds)


class TableInSpool:
    """A TableSnapshot."""

    def __init__(self, into: InSpool, nodes: Nodes, table: Table, settle_seconds: float) -> None:
        self._into, self._nodes, self._table = into, nodes, table
        self._settle = settle_seconds
        self._ranges = Ranges(nodes, table)
        # Of each look at the table: several readers look, each before it reads.
        self._read_to: WeakKeyDictionary[KnownTable, Mapping[str, Place]] = WeakKeyDictionary()
        self.now: Snapshot

    def check(self) -> None:
        self._ranges.check()

    def begin(self, tokens: TokenRange | None, *, anew: bool) -> Snapshot:
        spool, id = self._into.spool, self._table.definition.id
        with self._into.lock:
            found = spool.known.tables.get(id)
            if found is None:
                until = int((self._into.wall() + self._settle / 2) * _SECOND)
                found = Snapshot(uuid4().hex[:12], self._table.name, id, until, 1, self._ranges.plan(tokens))
                spool.put_table(found)
        self.now = found
        return found

    def is_gone(self) -> bool:
        return self._into.newest(self._table) is None

    def left(self) -> Iterator[tuple[int, Range]]:
        return left_of(self.now)

    def known(self) -> KnownTable:
        newest = self._into.newest(self._table)
        facts = TableFacts(newest or self._table, cdc=True, whole=False, complete_since=0, dropped=newest is None)
        known = KnownTable(facts)
        self._read_to[known] = self._into.places()
        return known

    def merge(self, number: int, piece: ReadPiece, seen: KnownTable, seconds: float) -> bool:
        self._into.wait_for_room()
        with self._into.lock:
            now = self._into.spool.known.tables[self._table.definition.id]
            rows = list(self._rows(number, piece, seen, now))
            self.now = with_piece(now, piece, len(rows), seconds)
            self._into.spool.add(rows, self.now)
        return True

    def _rows(self, number: int, piece: ReadPiece, seen: KnownTable, now: Snapshot) -> Iterator[Row]:
        held, event = range_of(piece.high, self._ranges.held), f"snapshot:{now.id}:{number}"
        read_to = self._read_to[seen]
        places = {name: read_to[name] for name in self._nodes.holders(held)}
        first = min(places) if places else self._into.nodes[0]
        made = SnapshotRows(seen.plan, event, now.until, first, read_to[first])
        at = now.images
        for partition, rows in piece.found().partitions.items():
            for row in rows.values():
                yield made.row(partition, row, at)
                at += 1
        range_ = ReadRange(piece.low, piece.high, now.until, self._ranges.follows(held), self._into.nodes, places)
        yield made.range(range_, at)


def check_told(tables: Sequence[Table], *, incomplete: bool) -> None:
    """UsageError for tables of which change rows do not tell what becomes of a row that a snapshot has."""
    for table in tables if not incomplete else ():
        if guessed := sorted(plan_of(table).guessed):
            raise UsageError(
                f"{table.name} has {', '.join(guessed)}, of which a snapshot knows values alone: rows do not tell "
                "what a change makes of them",
                remedy="Leave the table out, take `cdc-tail follow --image --from snapshot`, which asks the server, or "
                "go on and have such rows marked: --incomplete (in Spark incomplete=true).",
            )
