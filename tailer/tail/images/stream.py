"""One state of images, and all nodes of a run that feed it: rows and place in one transaction, images behind it.

Images are durable in the outbox before anybody gets them; what nobody said to have taken comes again, byte for byte the
same, in a later run. Knows no log and no sink.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from tailer.errors import RefusedError
from tailer.image_state.file import ImageFile
from tailer.image_state.identity import (
    FollowedNode,
    Identity,
    begin,
    check_folder,
    nodes_of,
    place_of,
    put_node,
    put_place,
)
from tailer.image_state.one_transaction import ImageBatch, Transaction
from tailer.images import Image, Merger, Settings
from tailer.images.encoded import EncodedImages
from tailer.images.tables import Tables, definition_in, definitions_in
from tailer.schema.model import TableDefinition
from tailer.schema.selection import ALL_TABLES, Selection
from tailer.sinks.outlet import Place
from tailer.tail.images.begun import choose, left_out, named
from tailer.tail.images.merging import Merge, Merging

Give = Callable[[ImageBatch], bool]
"""Takes a batch; whether it is out of this process by then. If not, `taken` tells later."""


Work = Callable[[Transaction, Merging], Sequence[Image] | EncodedImages]
"""Done in one transaction; what comes of it."""


class Outbox(NamedTuple):
    """What stands in the outbox of a state: batches behind number `given` up to number `last`."""

    given: int
    last: int


Reach = Callable[["ImageStream"], int]
"""Opens where the images of a stream go: up to which number of the outbox it has them already."""

T = TypeVar("T")

EXPIRED_AT_ONCE: Final = 1000
"""Of what has expired so many rows go in one transaction."""


def reach_given(stream: ImageStream) -> int:
    """Of who does not know: what was said to have been taken."""
    return stream.outbox.given


class ImageStream:
    """Of one run; to be opened, and closed. One thread at a time is in its state, and one, as callers see to, gives.

    `nodes`: those that the run follows. `tokens`: the range that it is of, as asked. `rereads`: of `Settings`.
    `selection`: the tables that the run reads. `wall`: seconds since the epoch.
    """

    def __init__(
        self,
        file: ImageFile,
        consumer: str,
        nodes: Sequence[str],
        give: Give,
        *,
        reach: Reach = reach_given,
        tokens: str = "",
        expirations: bool = True,
        gc_grace_seconds: int | None = None,
        rereads: bool = False,
        selection: Selection = ALL_TABLES,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.where = str(file.folder)
        self.nodes = tuple(nodes)
        self.wall = wall
        self._file = file
        self._consumer, self._tokens = consumer, tokens
        self._give, self._reach = give, reach
        self._expirations, self._grace, self._rereads = expirations, gc_grace_seconds, rereads
        self._selection = selection
        self._chosen = False
        self._lock = threading.RLock()
        self._merger: Merger | None = None
        self._late = 0
        self._identity: Identity | None = None
        self._followed: dict[str, FollowedNode] = {}
        self._taken = 0
        self._ready: deque[ImageBatch] = deque()
        """Put, and not given yet: in the order of their numbers."""

    def open(self) -> None:
        """Be sure whose state it is, and give what an earlier run did not see taken. RefusedError for another's."""
        with self._lock:
            self._identity = self._file.write(self._begin)
            self._taken = self._reach(self)
            batch = self._next(self._taken)
            while batch is not None:
                self._hand_over(batch)
                batch = self._next(batch.number)
            # A run that was killed did not get to the end of these.
            self.confirm()

    def close(self) -> None:
        """What was taken is taken out. The file is given back."""
        with self._lock:
            try:
                if self._identity is not None:
                    self._file.write(lambda transaction: transaction.take_out(self._taken))
            finally:
                self._file.close()

    @property
    def identity(self) -> str:
        """The random id of the state."""
        assert self._identity is not None, "the stream is open"
        return self._identity.id

    @property
    def outbox(self) -> Outbox:
        """What stands there."""
        return self._file.read(lambda seen: Outbox(seen.given, seen.last))

    @property
    def late_facts(self) -> int:
        """Facts of this run that took effect although what is older than they was forgotten."""
        return self._late

    def taken(self, number: int) -> None:
        """Batches up to a number are where they are wanted."""
        self._taken = max(self._taken, number)

    def definition(self, table_id: str) -> TableDefinition | None:
        """The newest one of a table by its id as digits; None for one that nobody defined."""
        with self._lock:
            return self._file.read(lambda seen: definition_in(seen.store, table_id))

    def definitions(self, table_id: str) -> list[tuple[int, TableDefinition]]:
        """Each with the number of the `schema` image that begins it; see `definitions_in`."""
        with self._lock:
            return self._file.read(lambda seen: definitions_in(seen.store, table_id))

    def join(self, node: str, folder: str, began: Callable[[], FollowedNode]) -> Place | None:
        """How far a node's log is merged; None before its first row. `began`: asked where it was never followed.

        RefusedError where its log's state, which has the id `folder`, is not the one that it was made of.
        """
        with self._lock:
            known = self._followed[node]
            check_folder(node, known, folder, self.where)
            if not known.folder or known.left is not None:
                fresh = None if known.folder else began()
                self._write(lambda transaction, merging: merging.join(node, fresh), reads=False)
            return self._file.read(lambda transaction: place_of(transaction, node))

    def stands(self) -> bool:
        """Whether the log of every node of the run was open, now or before: it has a place."""
        return all(self._followed[name].folder for name in self.nodes)

    def followed(self, node: str) -> FollowedNode:
        """What is known of a node."""
        return self._followed[node]

    def commit(self, node: str, before: Place | None, behind: Place, merge: Merge) -> None:
        """Merge a node's rows, and keep the place behind them. RefusedError where another stands than `before`."""

        def work(transaction: Transaction, merging: Merging) -> Sequence[Image] | EncodedImages:
            self._check_place(node, place_of(transaction, node), before)
            put_place(transaction, node, behind)
            if before is not None and before.generation != behind.generation:
                # Somebody moved the consumer by hand, perhaps over rows that nobody merged.
                merging.missed(node, merging.followed[node].missed_until(behind))
            return merge(merging)

        self._merged(work)

    def run(self, merge: Merge) -> None:
        """Do something to the state that no node caused."""
        self._put(lambda transaction, merging: merge(merging), reads=False)
        self.give_ready()

    def work(self, work: Work) -> None:
        """The same, of who keeps something beside the facts."""
        self._merged(work)

    def put(self, work: Work) -> None:
        """The same without giving what comes of it: `give_ready` does, or who comes first with more. One thread may
        give while another one puts."""

        self._put(work)

    def _put(self, work: Work, *, reads: bool = True) -> None:
        def sent(transaction: Transaction, merging: Merging) -> ImageBatch | None:
            transaction.take_out(self._taken)
            images = work(transaction, merging)
            return transaction.send(images) if images else None

        with self._lock:
            batch = self._write(sent, reads=reads)
            if batch is not None:
                self._ready.append(batch)

    def give_ready(self) -> None:
        """Give what was put, in order; for who holds what giving is guarded by."""
        while self._ready:
            # Until it was given: whoever comes after one that failed does not go past it.
            self._hand_over(self._ready[0])
            self._ready.popleft()

    def read(self, work: Callable[[Transaction], T]) -> T:
        """What `work` gives, which writes nothing."""
        with self._lock:
            return self._file.read(work)

    def take_out(self) -> None:
        """What was taken leaves the outbox, where nothing else is written that would take it along."""
        with self._lock:
            if self._taken > self.outbox.given:
                self._file.write(lambda transaction: transaction.take_out(self._taken))

    def due(self) -> bool:
        """Whether something has expired of which nobody was told. Writes nothing."""
        with self._lock:
            second = int(self.wall())
            return self._expirations and bool(self._file.read(lambda seen: seen.store.due(second, 1)))

    def expire(self) -> None:
        """Report all that has expired, batch by batch; each one is durable."""
        while self.due():
            self.run(lambda merging: merging.merger.expire(merging.now_us, EXPIRED_AT_ONCE))

    def confirm(self) -> None:
        """Report all rows that read differently by a new definition, and those that have become complete because their
        table has, batch by batch; each one is durable."""
        while self._confirms():
            self.run(lambda merging: merging.merger.confirm(merging.now_us))

    def _confirms(self) -> bool:
        with self._lock:
            if self._merger is not None:
                return self._merger.confirms
            return self._file.read(lambda seen: Tables(seen.store).confirming)

    def _merged(self, work: Work) -> None:
        self.put(work)
        self.give_ready()

    def _write(self, work: Callable[[Transaction, Merging], T], *, reads: bool = True) -> T:
        """`reads`: it is done with what logs or servers have, of the tables that the run reads."""
        now_us = int(self.wall() * 1_000_000)

        def attempt(transaction: Transaction) -> tuple[T, Merging, int]:
            merger = self._merger_of(transaction)
            late = merger.late_facts
            # What it holds in memory is not what the file has, if this fails.
            self._merger = None
            merging = Merging(merger, now_us, dict(self._followed), transaction.store)
            if reads and not self._chosen:
                merging.followed = choose(transaction, merger, merging.followed, self._selection, now_us)
            made = work(transaction, merging)
            for name, node in merging.followed.items():
                if node != self._followed[name]:
                    put_node(transaction, name, node)
            return made, merging, merger.late_facts - late

        made, merging, late = self._file.write(attempt)
        self._merger, self._followed = merging.merger, merging.followed
        self._late += late
        self._chosen = self._chosen or reads
        return made

    def _merger_of(self, transaction: Transaction) -> Merger:
        if self._merger is not None:
            return self._merger
        assert self._identity is not None, "the stream is open"
        settings = Settings(self._identity.started_us, self._expirations, self._grace, self._rereads)
        return Merger(transaction.store, self.nodes, settings)

    def _begin(self, transaction: Transaction) -> Identity:
        now_us = int(self.wall() * 1_000_000)
        self._identity = begin(transaction, self._consumer, self._tokens, now_us, self.where)
        known = nodes_of(transaction)
        others = {**named(known, self.nodes), **left_out(known, self.nodes, self._merger_of(transaction).forgot)}
        self._followed = {**known, **others}
        for name, node in others.items():
            # One that joins does so with its log: till then it is a name, perhaps a wrong one.
            if not node.joins:
                put_node(transaction, name, node)
        return self._identity

    def _next(self, behind: int) -> ImageBatch | None:
        return self._file.read(lambda seen: next(seen.waiting(behind), None))

    def _hand_over(self, batch: ImageBatch) -> None:
        if self._give(batch):
            self.taken(batch.number)

    def _check_place(self, node: str, found: Place | None, expected: Place | None) -> None:
        if found != expected:
            raise RefusedError(
                f"somebody else merged rows of node {node}",
                file=self.where,
                expected="this run's place",
                found="none" if found is None else found.offset,
                remedy="Is another run feeding this state? Let one go on.",
            )
