"""Looks at two sides that move: a difference is what stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from tailer.comparing.known import known_partitions
from tailer.comparing.looks import Looks, Result
from tailer.comparing.partition import Columns, KnownPartition, ServedPartition
from tailer.comparing.served import Piece
from tailer.images.memory import MemoryStore
from tailer.images.store import Store
from tailer.images.tables import Tables
from tailer.rebuild import Table
from tailer.rebuild.changes import partition_name, token_of
from tailer.rebuild.table import plan_of
from tailer.schema.ring import TOKEN_MAX, TOKEN_MIN
from tailer.types import murmur3_token
from tailer.types.parts import framed
from tests.helpers.log_writer import i32
from tests.unit.images.told import SECOND, START, State, definition, delete, delete_partition, insert, update

TABLE = Table.of(definition())
PLAN = plan_of(TABLE)
ALL = [(TOKEN_MIN, TOKEN_MAX)]
NOW = START // SECOND + 10


def name(k: int) -> bytes:
    return partition_name(PLAN, murmur3_token(i32(k)), f'{{"k": {k}}}')


def at(x: int) -> bytes:
    return framed([i32(x)])


def columns(**values: int | None) -> Columns:
    return {"s": None, "v": None, "w": None} | {n: None if v is None else i32(v) for n, v in values.items()}


class Server:
    """A table that can be changed."""

    def __init__(self, rows: dict[bytes, dict[bytes | None, Columns]]) -> None:
        self.rows = rows

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Cut in the middle."""
        for begin, end in pairwise((low, 0, high)):
            names = sorted(each for each in self.rows if begin < token_of(each) <= end)
            yield Piece(begin, end, [ServedPartition(each, dict(self.rows[each])) for each in names if self.rows[each]])

    def partition(self, wanted: bytes) -> ServedPartition | None:
        rows = self.rows.get(wanted)
        return ServedPartition(wanted, dict(rows)) if rows else None


def state(*changes: dict[str, Any], created: bool = True) -> MemoryStore:
    made = State(whole=created)
    for each in changes:
        made.tell(each)
    return made.store


def look(store: MemoryStore, server: Server, *between: Callable[[], None]) -> Result:
    """`between`: what happens before each further look."""
    waits = iter(between)

    @contextmanager
    def reading() -> Iterator[Store]:
        yield store

    (table,) = Tables(store)
    return Looks(reading, table, server, lambda: NOW, lambda: next(waits, lambda: None)()).all(ALL)


ROWS = {name(1): {at(1): columns(v=5, s=9), at(2): columns(w=6, s=9)}, name(2): {at(1): columns(v=7)}}
CHANGES = (insert(START + 1, v=5), insert(START + 1, 2, w=6), update(START + 1, None, s=9), insert(START + 1, v=7, k=2))


def test_both_sides_alike() -> None:
    result = look(state(*CHANGES), Server({n: dict(rows) for n, rows in ROWS.items()}))
    assert (result.found, result.rows, result.partitions, result.unknown) == ([], 3, 2, 0)


def test_what_stands_still_is_a_difference() -> None:
    rows = {n: dict(each) for n, each in ROWS.items()}
    rows[name(2)] = {at(1): columns(v=8)}
    del rows[name(1)][at(2)]
    rows[name(3)] = {at(1): columns(v=1)}
    result = look(state(*CHANGES), Server(rows))
    assert {(each.partition, each.row, each.kind, each.column) for each in result.found} == {
        (name(1), at(2), "surplus", ""),
        (name(2), at(1), "value", "v"),
        (name(3), at(1), "missing", ""),
    }
    assert result.undecided == 0


def test_what_is_on_its_way_is_none() -> None:
    server = Server({n: dict(rows) for n, rows in ROWS.items()})
    rows = server.rows[name(2)]
    rows[at(1)] = columns(v=1)

    def goes_on() -> None:
        rows[at(1)] = columns(v=7)

    assert look(state(*CHANGES), server, goes_on).found == []


def test_what_moves_all_the_time_is_undecided() -> None:
    server = Server({n: dict(rows) for n, rows in ROWS.items()})
    rows, numbers = server.rows[name(2)], iter(range(100, 200))

    def moves() -> None:
        rows[at(1)] = columns(v=next(numbers))

    moves()
    result = look(state(*CHANGES), server, *[moves] * 10)
    assert (result.found, result.undecided) == ([], 1)


def test_of_a_table_that_is_known_in_part_other_rows_are_unknown() -> None:
    rows = {n: dict(each) for n, each in ROWS.items()}
    rows[name(1)][at(3)] = columns(v=1, s=9)
    rows[name(4)] = {at(1): columns(v=1)}
    # Of columns that no row told nothing is known: they are held to nothing.
    rows[name(2)] = {at(1): columns(v=7, w=3)}
    result = look(state(*CHANGES, created=False), Server(rows))
    assert (result.found, result.unknown) == ([], 2)


def test_a_row_that_was_deleted_is_known_not_to_be_there() -> None:
    store = state(*CHANGES, delete(START + 2), created=False)
    result = look(store, Server({n: dict(rows) for n, rows in ROWS.items()}))
    assert [(each.partition, each.row, each.kind) for each in result.found] == [(name(1), at(1), "missing")]


def test_a_static_row_alone_in_its_partition() -> None:
    store = state(update(START + 1, None, s=9))
    assert look(store, Server({name(1): {None: columns(s=9)}})).found == []
    (found,) = look(store, Server({name(1): {None: columns(s=8)}})).found
    assert (found.row, found.column) == (None, "s")
    (found,) = look(store, Server({})).found
    assert (found.row, found.kind) == (None, "surplus")


def test_what_has_expired_is_not_there() -> None:
    store = state(insert(START - 5, v=5, ttl=1, expires_at=NOW - 5), insert(START + 1, 2, w=6))
    (table,) = Tables(store)
    (known,) = known_partitions(store, table, TOKEN_MIN, TOKEN_MAX, NOW)
    assert isinstance(known, KnownPartition)
    assert list(known.rows) == [at(2)]


def test_a_range_begins_behind_its_first_token() -> None:
    store = state(insert(START + 1, v=5), insert(START + 1, v=7, k=2))
    (table,) = Tables(store)
    first, last = sorted((name(1), name(2)))
    found = [[each.name for each in known_partitions(store, table, token_of(low), token_of(high), NOW)]
             for low, high in ((first, last), (last, last))]  # fmt: skip
    assert found == [[last], []]
    assert [each.name for each in known_partitions(store, table, TOKEN_MIN, token_of(first), NOW)] == [first]


def test_a_partition_that_was_deleted_is_known_whole() -> None:
    store = state(insert(START + 1, v=5), delete_partition(START + 2), created=False)
    result = look(store, Server({name(1): {at(7): columns(v=1)}}))
    assert [(each.row, each.kind) for each in result.found] == [(at(7), "missing")]
