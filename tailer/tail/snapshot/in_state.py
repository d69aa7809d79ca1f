"""The snapshot of one table in a state of images: begun or gone on with, and its pieces merged. Reads no server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final
from uuid import uuid4

from tailer.image_state.identity import place_of
from tailer.image_state.one_transaction import Transaction
from tailer.image_state.snapshots import put_snapshot, snapshot_of
from tailer.images import Image
from tailer.images.encoded import COMPILED as PRINTS
from tailer.images.encoded import EncodedImages
from tailer.images.marks import Mark, Marks, united
from tailer.images.merged_tables import SECOND
from tailer.images.served import Answer, EventIds
from tailer.images.tables import KnownTable, Tables
from tailer.jit.ready import twin_now
from tailer.options.token_range import TokenRange
from tailer.planning.two_positions import offset_of_text
from tailer.rebuild import Table
from tailer.snapshot.progress import Snapshot
from tailer.snapshot.ranges import HeldRange, Range
from tailer.snapshot.reading import ReadPiece
from tailer.tail.images.merging import Merging
from tailer.tail.images.stream import ImageStream, Work
from tailer.tail.images.timers import Timers
from tailer.tail.images.told import reached_by
from tailer.tail.snapshot.nodes import Nodes, range_of
from tailer.tail.snapshot.table import Ranges, left_of, with_piece
from tailer.tail.snapshot.tables import is_over, table_at
from tailer.tail.tail import Tail

_COMPILED: Final = "tailer.image_state.compiled.served_lane"

PIECE_ROWS: Final = 4_000
"""Rows that are merged in one transaction, but for a partition that has more: rows of the log wait as long."""

Guard = Callable[[], AbstractContextManager[object]]
"""Held while images are handed over."""


class InState:
    """A Target: the state of a run of images."""

    piece_rows = PIECE_ROWS
    twins: Sequence[str] = (_COMPILED, PRINTS)

    def __init__(self, stream: ImageStream, timers: Timers, guard: Guard) -> None:
        self.wall = stream.wall
        self._stream, self._timers, self._guard = stream, timers, guard
        self._undefined: set[str] = set()
        """Ids of tables that are to be read and that the state does not have."""
        self._over: dict[str, set[str]] = {}
        """Those that were dropped before it had them, each with the nodes whose logs tell so."""

    def behind(self, second: float) -> Sequence[str]:
        return [name for name in self._stream.nodes if not self._timers.is_past(name, second)]

    def stands(self) -> bool:
        return self._stream.stands()

    def is_defined(self, table: Table) -> bool | None:
        id = table.definition.id
        if self._stream.definition(id) is not None:
            self._undefined.discard(id)
            return True
        if self._over.get(id, set()).issuperset(self._stream.nodes):
            return False
        self._undefined.add(id)
        return None

    def define(self, tail: Tail) -> None:
        """Define tables that the state does not have as a node's log defines them where the state stands: the log may
        be known further, and rows from before a change have the columns of their time. Called in the node's thread."""
        for id in tuple(self._undefined):
            _put(self._stream, self._guard, partial(self._define, tail, id))

    def _define(self, tail: Tail, id: str, transaction: Transaction, merging: Merging) -> list[Image]:
        if merging.merger.table(id) is not None:
            return []
        node = tail.options.node
        at = reached_by(tail, merging.followed[node], place_of(transaction, node))
        table = table_at(tail, id, at)
        if table is None:
            over = self._over.setdefault(id, set())
            (over.add if is_over(tail, id) else over.discard)(node)
            return []
        return merging.merger.define(table, created=False, cdc=True, now_us=merging.now_us)

    def has(self, table: Table) -> bool:
        def work(transaction: Transaction) -> bool:
            known = Tables(transaction.store).get(table.definition.id)
            found = None if known is None else _standing(transaction, known)
            return known is not None and (known.facts.dropped or (found is not None and found.ended))

        return self._stream.read(work)

    def table(self, table: Table, nodes: Nodes, settle_seconds: float) -> TableInState:
        return TableInState(self._stream, self._guard, nodes, table, settle_seconds)


class TableInState:
    """A TableSnapshot. `settle_seconds`: see `--snapshot-settle`."""

    def __init__(self, stream: ImageStream, guard: Guard, nodes: Nodes, table: Table, settle_seconds: float) -> None:
        self._stream, self._guard, self._nodes = stream, guard, nodes
        self._table = table
        self._settle = settle_seconds
        self._ranges = Ranges(nodes, table)
        self.now: Snapshot

    def check(self) -> None:
        self._ranges.check()

    def begin(self, tokens: TokenRange | None, *, anew: bool) -> Snapshot:
        def work(transaction: Transaction, merging: Merging) -> list[Image]:
            known = merging.merger.table(self._table.definition.id)
            assert known is not None, "it is defined"
            found = _standing(transaction, known)
            if found is None or (found.ended and anew):
                until = merging.now_us + int(self._settle * SECOND / 2)
                plan = self._ranges.plan(tokens)
                found = Snapshot(uuid4().hex[:12], self._table.name, known.id, until, known.facts.epoch, plan)
                put_snapshot(transaction, found)
            self.now = found
            return []

        self._work(work)
        return self.now

    def is_gone(self) -> bool:
        id = self._table.definition.id
        return self._stream.read(lambda seen: (found := Tables(seen.store).get(id)) is not None and found.facts.dropped)

    def left(self) -> Iterator[tuple[int, Range]]:
        return left_of(self.now)

    def known(self) -> KnownTable:
        return self._stream.read(lambda seen: Tables(seen.store).of(self._table.definition.id))

    def merge(self, number: int, piece: ReadPiece, seen: KnownTable, seconds: float) -> bool:
        merged = False

        def work(transaction: Transaction, merging: Merging) -> EncodedImages:
            nonlocal merged
            known, now = merging.merger.table(self.now.table_id), snapshot_of(transaction, self.now.table_id)
            assert known is not None, "it was defined"
            assert now is not None, "it was begun"
            merged = now.id == self.now.id and version_of(known) == version_of(seen)
            if not merged:
                return EncodedImages()
            held = range_of(piece.high, self._ranges.held)
            ids = EventIds(f"snapshot:{now.id}:{number}:", now.images)
            answer = Answer(now.until, self._ranges.follows(held), self._marks(transaction, merging, held), ids)
            images = _served(merging, known, piece, answer)
            self.now = with_piece(now, piece, len(images), seconds)
            put_snapshot(transaction, self.now)
            return images

        self._work(work)
        return merged

    def answer(self, transaction: Transaction, merging: Merging, token: int, until: int, ids: EventIds) -> Answer:
        """How far a later answer counts that is of a token."""
        held = range_of(token, self._ranges.held)
        return Answer(until, self._ranges.follows(held), self._marks(transaction, merging, held), ids)

    def _marks(self, transaction: Transaction, merging: Merging, held: HeldRange) -> Marks:
        """Those who hold a range vouch for what is read of it, until they truncate it from where they stand now on."""
        marks = []
        for name in self._nodes.holders(held):
            place = place_of(transaction, name)
            text = merging.followed[name].began if place is None else place.offset
            at = offset_of_text(text, self._stream.where).position
            marks.append((Mark(merging.merger.number(name), (at.segment, at.offset)),))
        return united(marks)

    def _work(self, work: Work) -> None:
        _put(self._stream, self._guard, work)


def _put(stream: ImageStream, guard: Guard, work: Work) -> None:
    # What others give meanwhile does not hold it up.
    stream.put(work)
    with guard():
        stream.give_ready()


def _served(merging: Merging, known: KnownTable, piece: ReadPiece, answer: Answer) -> EncodedImages:
    """The images of a piece: by compiled code as far as that can, by `Merger` where it cannot."""
    merger, images = merging.merger, EncodedImages()
    held = merger.held(known.id, piece.low, piece.high)
    compiled: Any = twin_now(_COMPILED)
    left = piece.raw
    if compiled is not None and compiled.is_for(known, piece, answer):
        left = compiled.serve(merger, merging.store, known, piece, answer, held, merging.now_us, images)
    images.add(merger.served(known.id, piece.found(left), answer, merging.now_us, held))
    return images


def _standing(transaction: Transaction, known: KnownTable) -> Snapshot | None:
    """The snapshot of a table; None where changes were lost since it was begun, too."""
    found = snapshot_of(transaction, known.id)
    return None if found is None or found.epoch != known.facts.epoch else found


def version_of(table: KnownTable) -> tuple[int, int]:
    """Changes with each TRUNCATE, each change of its columns, and each loss."""
    return table.facts.seq, table.facts.epoch
