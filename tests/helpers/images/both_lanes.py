"""Logged mutations merged twice, by `Merger` alone and by compiled code as far as it goes, each into a file of LMDB."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

from tailer.image_state.lmdb_store import NAMES, LmdbStore
from tailer.images import Merger, Settings
from tailer.images.encoded import EncodedImages
from tailer.images.facts import Fact
from tailer.images.guesses import guessed_id, guessed_marker
from tailer.images.marks import Mark
from tailer.images.served import Answer, EventIds, ServedRange, ServedRow, ServedRows
from tailer.images.tables import KnownTable
from tailer.options.token_range import TokenRange
from tailer.rebuild import Table
from tailer.rebuild.changes import row_key_of, token_of
from tailer.rebuild.facts import Kind
from tailer.rows.place import Place
from tailer.rows.prepared import prepare
from tailer.schema.model import TableDefinition
from tailer.schema.ring import TOKEN_MAX, TOKEN_MIN
from tailer.types import Shape

NODES = ("a", "b", "c")
SECOND = 1_000_000


class Lane:
    """A state in a transaction that is never committed."""

    def __init__(self, environment: lmdb.Environment[bytes], started_us: int, **more: Any) -> None:
        self._tables = {name: environment.open_db(name) for name in NAMES}
        self._transaction = environment.begin(write=True)
        self.store = LmdbStore(self._transaction, self._tables)
        self.merger = Merger(self.store, NODES, Settings(started_us, **more))

    def state(self) -> dict[bytes, list[tuple[bytes, bytes]]]:
        """All that is kept."""
        return {name: list(self._transaction.cursor(db)) for name, db in self._tables.items()}

    def close(self) -> None:
        self._transaction.abort()


class Lanes:
    """Both, told the same."""

    def __init__(self, environments: Sequence[lmdb.Environment[bytes]], started_us: int, **more: Any) -> None:
        self.plain, self.compiled = (Lane(each, started_us, **more) for each in environments)
        self._definitions: dict[str, TableDefinition] = {}
        self._offsets = itertools.count(40, 40)
        self.images = 0
        self.by_compiled = 0
        self.rows = 0
        self.until = started_us + 2
        """The floor of what is served."""

    def define(self, definition: TableDefinition, now_us: int, *, created: bool) -> None:
        self._definitions[definition.id] = definition
        for lane in (self.plain, self.compiled):
            lane.merger.define(Table.of(definition), created=created, cdc=True, now_us=now_us)

    def tell(
        self, node: str, payloads: Sequence[bytes], now_us: int, room: Any = None, tokens: TokenRange | None = None
    ) -> None:
        """A batch of entries of one node's log; what comes of it, and the whole state, is the same."""
        from tailer.image_state.compiled import lane
        from tailer.rows.generic.compiled.build import build
        from tailer.scan.mutation.compiled.scan import scan

        prepared = prepare(self._definitions, self._definitions)
        starts = list(itertools.accumulate((len(each) for each in payloads), initial=0))
        offsets = [next(self._offsets) for _ in payloads]
        data = b"".join(payloads)
        index = scan(data, starts[:-1], list(map(len, payloads)), prepared.scan_tables)
        assert index.stopped.entry == len(payloads), index.stopped
        batch = build(index, data, prepared, Place(node, 7, offsets, keeps_source=True)).batch
        if not len(batch):
            return
        rows = batch.to_arrow().to_pylist()
        plain = EncodedImages()
        kept = [row for row in rows if tokens is None or tokens.has(row["token"])]
        for _, entry in itertools.groupby(kept, lambda row: row["offset"]):
            plain.add(self.plain.merger.entry(list(entry), now_us))
        made = EncodedImages()
        more = {} if room is None else {"room": lane.Room(*room)}
        told = self.compiled.merger.entry
        left: list[Mapping[str, Any]] = []

        def entry(changes: Sequence[Mapping[str, Any]], now: int) -> Any:
            left.extend(changes)
            return told(changes, now)

        self.compiled.merger.entry = entry  # type: ignore[method-assign]
        lane.merge_batch(self.compiled.merger, self.compiled.store, batch, now_us, made, tokens, **more)
        self.compiled.merger.entry = told  # type: ignore[method-assign]
        self.images += len(plain)
        self.rows += len(kept)
        self.by_compiled += len(kept) - len(left)
        assert made.joined() == plain.joined()
        assert self.compiled.state() == self.plain.state()
        assert self.compiled.merger.late_facts == self.plain.merger.late_facts

    def expire(self, now_us: int) -> None:
        """What time did by then."""
        made = [[*lane.merger.expire(now_us, 100)] for lane in (self.plain, self.compiled)]
        assert made[0] == made[1]

    def forget(self, now_us: int) -> None:
        """All nodes were read up to then."""
        for lane in (self.plain, self.compiled):
            lane.merger.forget(now_us, dict.fromkeys(NODES, now_us // SECOND))

    def serve_half(self, now_us: int) -> None:
        """A snapshot has read half of the ring."""
        self._serve(now_us, 0)

    def serve_all(self, now_us: int) -> None:
        """A snapshot has read all of it."""
        self._serve(now_us, TOKEN_MAX)

    def _serve(self, now_us: int, high: int) -> None:
        """A row of each partition that is known, by two cells and a marker that is a guess: older than most, newer than
        some, and as old as others."""
        made = []
        for lane in (self.plain, self.compiled):
            images: list[Any] = []
            for id in sorted(self._definitions):
                table = lane.merger.table(id)
                assert table is not None, "it was defined"
                names = list(_partitions(lane.store, id))
                rows = {name: served(table, self.until) for name in names if token_of(name) <= high}
                answer = Answer(self.until, True, (Mark(0, (7, 40)), Mark(1, (7, 80))), EventIds(""))
                images += lane.merger.served(id, ServedRange(TOKEN_MIN, high, rows), answer, now_us)
            made.append(images)
        assert made[0] == made[1]
        assert self.compiled.state() == self.plain.state()

    def lost(self, now_us: int) -> None:
        """Something is missing."""
        for lane in (self.plain, self.compiled):
            lane.merger.lost(None, now_us)

    def close(self) -> None:
        self.plain.close()
        self.compiled.close()


@contextmanager
def environments(folder: Path) -> Iterator[list[lmdb.Environment[bytes]]]:
    """Two empty files."""
    made = [
        lmdb.open(str(folder / name), map_size=64 << 20, max_dbs=len(NAMES), sync=False) for name in ("one", "other")
    ]
    try:
        yield made
    finally:
        for each in made:
            each.close()


TTL = 45
"""Of a marker that is a guess, in every other table: it has ended when much later entries come."""


def served(table: KnownTable, until: int) -> ServedRows:
    """One row as a server might have it: each column that has a value of four bytes, written while it was read, and
    elements of a list."""
    clustering = [b"\0\0\0\1" if column.type.text == "int" else b"a" for column in table.plan.clustering]
    if any(column.type.text == "timeuuid" for column in table.plan.clustering):
        return {}
    key, framed = row_key_of(table.plan, clustering)
    facts = []
    for column in table.text.regular:
        if column.type.text == "int":
            facts.append(Fact(int(Kind.CELL), column.name, b"", b"\0\0\0\2", until + 1))
        elif column.type.shape is Shape.LIST:
            facts += [Fact(int(Kind.CELL), column.name, guessed_id(at, until // SECOND), b"a", until) for at in (0, 1)]
    ends = (TTL, until // SECOND + TTL) if len(facts) % 2 else (None, None)
    marker = guessed_marker(until + 1, *ends) if facts else Fact(int(Kind.LIVE), "", b"", b"", until)
    return {key: ServedRow(key, framed, [*facts, marker])}


def _partitions(store: LmdbStore, id: str) -> Iterator[bytes]:
    name = store.next_partition(id, b"")
    while name is not None:
        yield name
        name = store.next_partition(id, name)
