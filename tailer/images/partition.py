"""One partition of the state while it is worked on: its header and the rows that were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from tailer.images.facts import Facts
from tailer.images.packed import Row, pack, unpack
from tailer.images.standing import Deletion, standing
from tailer.images.store import Store
from tailer.images.tables import KnownTable
from tailer.images.view import Seen, seen
from tailer.rebuild.changes import OWN, ROWS, token_of
from tailer.rebuild.facts import Kind
from tailer.rebuild.rows import Value

BEHIND_ROWS = bytes([ROWS[0] + 1])
"""Stands behind the keys of all rows of a partition."""

_RANGE_GONE, _PARTITION_GONE = int(Kind.RANGE_GONE), int(Kind.PARTITION_GONE)


class View(NamedTuple):
    """A row as a reader sees it. `text`: its JSON, None where it is not there, or nothing is known of it.

    `values`: of the columns that are known; a column that is none of them is null where the row is `complete`.
    `guessed`: something of it is not known any more that a server could tell.
    """

    lives: bool
    complete: bool
    values: dict[str, Value | None]
    text: str | None
    guessed: bool = False


class Partition:
    """`at`: the second that is now; `read`: what was logged until then every node was read past, 0 where that is not
    known. Nothing is in the store before `save`.

    `floor`: of its token, None for none. `covered`: whether all of its rows are complete by that; `confirmed`: whether
    they are because all of the table has become known. `guessed`: keys of rows of which a server could tell more, among
    those that were read.
    """

    def __init__(
        self, store: Store, table: KnownTable, name: bytes, at: int, read: int = 0, *, expirations: bool
    ) -> None:
        self._store = store
        self.table = table
        self.name = name
        self.at = at
        self._read = read
        self._expirations = expirations
        self._rows: dict[bytes, Row] = {}
        self.guessed: set[bytes] = set()
        self.header = self.row(OWN)
        self.floor = table.floors.at(token_of(name)) if table.facts.floors else None
        self.confirmed = table.facts.confirmed is not None and name <= table.facts.confirmed
        self.covered = self.floor is not None and self.floor.epoch == table.facts.epoch

    def row(self, key: bytes) -> Row:
        """A row; one without facts where there is none."""
        held = self._rows.get(key)
        if held is None:
            held = self._hold(key, self._store.get(self.table.id, self.name, key))
        return held

    def between(self, lower: bytes, upper: bytes) -> Iterator[Row]:
        """The rows of the state from `lower` on and below `upper`, in clustering order."""
        for key, value in self._store.scan(self.table.id, self.name, lower, upper):
            yield self._rows.get(key) or self._hold(key, value)

    def every_row(self) -> Iterator[Row]:
        return self.between(ROWS, BEHIND_ROWS)

    def due(self) -> list[Row]:
        """The rows (and header) of which something has expired that nobody was told of."""
        if not self._expirations:
            return []
        return [self.row(key) for key in self._store.due_in(self.table.id, self.name, self.at)]

    def deletions(self, key: bytes) -> list[Deletion]:
        """What the header's deletions cover of a row."""
        if key == OWN:
            return []
        return [
            Deletion(fact.write_ts, copies.marks)
            for fact, copies in self.header.facts.items()
            if fact.kind == _PARTITION_GONE or (fact.kind == _RANGE_GONE and fact.path <= key < fact.value)
        ]

    def is_complete(self, row: Row) -> bool:
        """Whether the row (of the header: every row) is known whole; none is while its table does not capture."""
        facts = self.table.facts
        return facts.cdc and (
            facts.whole or self.confirmed or self.covered or facts.epoch in (self.header.complete, row.complete)
        )

    def view(self, row: Row, at: int | None = None) -> View:
        """The row, or of the header the static row, as it is now or at another second."""
        return self.view_of(row, seen(row.visible, self.table.plan, self.at if at is None else at))

    def view_of(self, row: Row, found: Seen) -> View:
        """The row of which this is seen."""
        complete = self.is_complete(row)
        values = dict(found.values)
        guessed = found.guessed or bool(found.unsure)
        (self.guessed.add if guessed else self.guessed.discard)(row.key)
        if guessed and complete:
            complete, values = False, self._certain(row, values, found.unsure)
        if not found.lives and (not values or complete or self._is_gone(row, found)):
            return View(False, complete, values, None)
        static = row is self.header
        key = self.key if static else f"{self.key},{self.clustering(row)}" if row.clustering else self.key
        text = self.table.text.row(key, values, static=static, complete=complete)
        return View(found.lives, complete, values, text, guessed)

    def tells(self, row: Row) -> bool:
        """Whether it is known whether the row is there."""
        found = seen(row.visible, self.table.plan, self.at)
        gone = self._is_gone(row, found) or bool(self.deletions(row.key))
        return found.lives or gone or self.is_complete(row)

    def _is_gone(self, row: Row, found: Seen) -> bool:
        return row.gone or self.header.gone or found.ended

    def _certain(self, row: Row, values: dict[str, Value | None], unsure: tuple[str, ...]) -> dict[str, Value | None]:
        """All columns of a row but for those that it is unsure of."""
        columns = self.table.text.static if row is self.header else self.table.text.regular
        return {column.name: values.get(column.name) for column in columns if column.name not in unsure}

    @cached_property
    def key(self) -> str:
        """The partition key as JSON without the braces."""
        return self.table.text.partition_key(self.name)

    def clustering(self, row: Row) -> str | None:
        """A row's clustering likewise; None for the header, and where the table has none."""
        return None if row is self.header else self.table.text.clustering(row.clustering)

    def settle(self, row: Row, facts: Facts) -> None:
        """Give the row new facts, of which those stay that matter."""
        had = {copies.marks for copies in row.facts.values()}
        stands = standing(facts, self.deletions(row.key), self.table.plan)
        row.facts, row.visible = stands.kept, stands.visible
        row.due = self.next_due(row)
        if any(copies.marks not in had for copies in row.facts.values()):
            row.placed = self.at

    def next_due(self, row: Row) -> int | None:
        """The second at which something in the row expires next."""
        if not self._expirations:
            return None
        times = [fact.expires_at for fact in row.visible if fact.expires_at is not None and fact.expires_at > self.at]
        return min(times, default=None)

    def save(self) -> None:
        """Put into the store what has changed."""
        for key, row in self._rows.items():
            # The header is what seq goes by as long as the partition has rows, or ever had an image.
            if row.facts or row.seq:
                value = pack(row)
                if value != row.stored:
                    self._store.put(self.table.id, self.name, key, value, due=row.due, was_due=row.was_due)
            elif row.stored is not None:
                self._store.delete(self.table.id, self.name, key, was_due=row.was_due)

    def _hold(self, key: bytes, value: bytes | None) -> Row:
        row = self._rows[key] = Row(key) if value is None else unpack(key, value)
        row.age(self._read)
        return row
