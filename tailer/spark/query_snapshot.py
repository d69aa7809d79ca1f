"""The snapshot that a query begins with: read by threads of the driver into a spool, handed out piece by piece.

Where it is stands in the query's offset; what was read and not committed yet stands in the spool. Knows no pyspark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Final

from tailer.errors import RefusedError
from tailer.options.to_spark import SourceOptions
from tailer.rebuild import Table
from tailer.rebuild.facts import Place
from tailer.snapshot.spool import Spool
from tailer.spark.offsets import SnapshotOffset
from tailer.spark.spooled import PieceJob, pack_piece
from tailer.state.offset import NodeOffset
from tailer.tail.follow import Say
from tailer.tail.node_log import state_of
from tailer.tail.snapshot.nodes import Nodes, servers_of
from tailer.tail.snapshot.run import SnapshotRun
from tailer.tail.snapshot.spooled import InSpool, check_told, home_of
from tailer.tail.snapshot.tables import no_table

TABLES_SECONDS: Final = 2.0
"""So often the logs are asked for their tables while they are read."""

_PIECES_MAX: Final = 256
"""In one micro-batch: each is a task."""


class QuerySnapshot:
    """Of one query. `places`: asked in other threads for where the log of each node that stands is read to."""

    def __init__(
        self,
        options: SourceOptions,
        places: Callable[[], Mapping[str, Place]],
        say: Say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options, self._say, self._clock = options, say, clock
        self._lock = Lock()
        self._spool: Spool | None = None
        self._places = places
        self._run: SnapshotRun | None = None
        self._into: InSpool | None = None
        self._asked = float("-inf")
        self._base: SnapshotOffset | None = None
        self.handed: SnapshotOffset | None = None

    @property
    def active(self) -> bool:
        """Whether there is more to come."""
        return self._base is not None and not self._base.end

    def initial(self, nodes: Mapping[str, NodeOffset]) -> SnapshotOffset:
        """The first offset's part: the same as long as the nodes' is, and no piece was committed."""
        spool = self._held()
        since = " ".join(f"{name}={nodes[name].id}:{nodes[name].position}" for name in sorted(nodes))
        if spool.now is None or spool.now.since != since or spool.now.given:
            spool.begin(since)
        return SnapshotOffset(spool.known.id, 0)

    def stand(self, offset: SnapshotOffset | None) -> None:
        """Spark stands there. RefusedError where the spool is not the one that the checkpoint knows."""
        if offset is not None and not offset.end:
            held = self._held().now
            if held is None or held.id != offset.id or held.given > offset.n:
                raise RefusedError(
                    "the rows of the snapshot that this checkpoint goes on with are gone",
                    file=str(self._held().folder),
                    expected=f"snapshot {offset.id} from piece {offset.n + 1} on",
                    found="none" if held is None else f"snapshot {held.id} from piece {held.given + 1} on",
                    remedy="Restore the folder together with the checkpoint, or begin anew: another checkpoint and "
                    "consumer.",
                )
        self._base = self.handed = offset

    def needs_tables(self) -> bool:
        """Whether `take_tables` is to be called: now and then as long as it reads."""
        now = self._clock()
        if not self.active or now - self._asked < TABLES_SECONDS:
            return False
        self._asked = now
        return True

    def take_tables(self, tables: Sequence[Table]) -> None:
        """The chosen tables as the logs define them now; the first time reading begins. UsageError where there is none
        to begin with."""
        into = self._begun(tables)
        into.define(tables)

    def offer(self, budget: int) -> bool:
        """Whether there is something to hand out, of so many bytes at most but for the first piece; then `handed` is
        behind that. Raises what ended the reading."""
        if not self.active or self._run is None:
            return False
        self._run.check()
        base, spool = self._base, self._held()
        assert base is not None, "it is active"
        # Before the number of pieces is looked at: then there are no more.
        ended = self._run.ended
        if ended:
            self._run.report_end()
        with self._lock:
            upto = _upto(spool, base.n, budget)
            end = ended and upto == spool.known.last
        self.handed = SnapshotOffset(base.id, upto, end)
        return self.handed != base

    def jobs(self, start: SnapshotOffset | None, end: SnapshotOffset | None) -> list[bytes]:
        """The partitions of the pieces between two offsets."""
        if end is None:
            return []
        spool, ranges = self._held(), self._options.tail.schema_changes
        first = 0 if start is None else start.n
        paths = [spool.path(number) for number in range(first + 1, end.n + 1)]
        reads = self._options.on_driver
        return [pack_piece(PieceJob(str(path), path.read_bytes() if reads else None, ranges)) for path in paths]

    def commit(self, offset: SnapshotOffset | None) -> None:
        """What lies before it is done."""
        if offset is not None and self._held().now is not None and self._held().known.id == offset.id:
            with self._lock:
                self._held().taken(offset.n)

    def close(self) -> None:
        if self._into is not None:
            self._into.close()
        if self._run is not None:
            self._run.close()

    def _begun(self, tables: Sequence[Table]) -> InSpool:
        if self._into is None:
            options = self._options
            if not tables:
                raise no_table(options.tail.selection.tables)
            check_told(tables, incomplete=options.snapshot.incomplete)
            names = [name for name, _ in options.places]
            servers = servers_of({name: options.of(name, once=False) for name in names})
            nodes = Nodes(servers)
            nodes.check(names)
            self._into = InSpool(self._held(), self._lock, names, self._places)
            self._into.define(tables)
            self._run = SnapshotRun(self._into, nodes, options.snapshot, None, self._say)
            self._run.begin(tables)
            self._run.start()
        return self._into

    def _held(self) -> Spool:
        if self._spool is None:
            self._spool = Spool(_folder(self._options))
        return self._spool


def _folder(options: SourceOptions) -> Path:
    consumer = options.tail.consumer or ""
    if options.spool is not None:
        return options.spool / consumer
    states = ((name, state_of(place, options.of(name, once=False))) for name, place in options.places)
    return home_of(states, consumer, "Name a folder that driver and executors see: option snapshotSpool.").folder


def _upto(spool: Spool, behind: int, budget: int) -> int:
    """The last piece of those that fit."""
    used = 0
    for number in range(behind + 1, min(spool.known.last, behind + _PIECES_MAX) + 1):
        used += spool.size(number)
        if used > budget and number > behind + 1:
            return number - 1
    return min(spool.known.last, behind + _PIECES_MAX)
