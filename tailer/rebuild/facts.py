"""What one change says about one row, value or stretch of a partition: a fact, with when and where it was logged.

Facts contradict each other; `rank` says who wins. A fact is never changed, only outweighed.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class Kind(IntEnum):
    """What a fact is about. The numbers are in stored states."""

    LIVE = 0
    CELL = 1
    CELL_GONE = 2
    SHARD = 3
    COLUMN_GONE = 4
    ROW_GONE = 5
    RANGE_GONE = 6
    PARTITION_GONE = 7


DELETIONS: Final = frozenset({Kind.ROW_GONE, Kind.RANGE_GONE, Kind.PARTITION_GONE})

_FOR_EVER: Final = 2**63
"""Behind all seconds."""

Place = tuple[int, int]
"""Segment and offset."""


class Stamp(NamedTuple):
    """Of which log, where in it, and with which times. `clustering`: the row's values as this change spells them."""

    clustering: bytes
    node: str
    segment: int
    offset: int
    write_ts: int
    ttl: int | None = None
    expires_at: int | None = None

    @property
    def place(self) -> Place:
        return self.segment, self.offset


class Fact(NamedTuple):
    """`path`: of an element, or a counter's shard; of a range its lower edge, with `value` its upper one."""

    kind: Kind
    stamp: Stamp
    column: str = ""
    path: bytes = b""
    value: bytes = b""


Rank = tuple[object, ...]
"""Of two facts about one thing the one with the greater rank wins."""


def rank(fact: Fact) -> Rank:
    """Of a cell or a row marker: `strength`. Of a deletion the later. (Shards: `counters`.)"""
    _, _, _, _, write_ts, ttl, expires_at = fact.stamp
    return strength(fact.kind == Kind.CELL_GONE, write_ts, ttl, expires_at, fact.value, fact.path)


def strength(gone: bool, write_ts: int, ttl: int | None, expires_at: int | None, value: bytes, path: bytes) -> Rank:
    """The later; at one time a tombstone (`gone`), then what expires (later, shorter-lived first), then the greater
    bytes.
    """
    if gone:
        return write_ts, 2, 0, 0, b"", path
    if expires_at is not None:
        return write_ts, 1, expires_at, -(ttl or 0), value, path
    return write_ts, 0, 0, 0, value, path


def fixed_order(fact: Fact) -> Rank:
    """An order of all facts, for states that are the same byte by byte."""
    kind, stamp, column, path, value = fact
    *rest, ttl, expires_at = stamp
    return kind, column, path, *rest, -1 if ttl is None else ttl, -1 if expires_at is None else expires_at, value


def by_age(write_ts: int, expires_at: int | None) -> tuple[int, int]:
    """An order of cells by age; of one age what lives longest is first."""
    return write_ts, -_FOR_EVER if expires_at is None else -expires_at
