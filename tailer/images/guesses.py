"""What is known of a row by its values alone, since the server that was asked for it shows no more of them.

A marker that may never have been written; elements of a list without their ids; a counter without its shards. They are
facts like others, with names that no log has, by which they are told from those.

    id of an element   time of 2010 and its number (100 ns each) | GUESSED_NODE | second in which it was read, u32
    shard              the id of element 0
    marker             has a value: GUESSED_MARKER

The server's own ids of elements that are put at the end have the time of that moment, and of those that are put before
all others as much before 2010 as that is behind (cql3/Lists.java, PrecisionTime): both lie around these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tailer.images.facts import Fact
from tailer.rebuild.counters import shard_value
from tailer.rebuild.facts import Kind

GUESSED_MARKER: Final = b"?"
GUESSED_NODE: Final = b"\xa5cdc"

SLACK_SECONDS: Final = 15
"""Clocks of servers, and what a read takes: an id so much younger than what was read is none of those read."""

_ID_BYTES: Final = 16
_EPOCH_TICKS: Final = 0x01B21DD213814000
"""Of 1970, in ticks of 100 ns since 1582 (RFC 4122, 4.1.4)."""
_TICKS: Final = 10_000_000
_MIDDLE: Final = 1_262_304_000
"""The second of 2010-01-01T00:00:00Z."""
_VERSION: Final = 0x1000
_FUTURE: Final = 100 * 366 * 86_400
"""An id that is so much younger is none that a server made."""


def guessed_id(number: int, second: int) -> bytes:
    """The id of an element of a list, by its place there, that was read in a second."""
    ticks = _EPOCH_TICKS + _MIDDLE * _TICKS + number
    time = (ticks & 0xFFFFFFFF) << 32 | (ticks >> 32 & 0xFFFF) << 16 | _VERSION | ticks >> 48
    return time.to_bytes(8, "big") + GUESSED_NODE + second.to_bytes(4, "big")


def is_guessed_id(path: bytes) -> bool:
    return len(path) == _ID_BYTES and path[8:12] == GUESSED_NODE


def guessed_marker(write_ts: int, ttl: int | None, expires_at: int | None) -> Fact:
    """A marker that would explain why a row is there."""
    return Fact(int(Kind.LIVE), "", b"", GUESSED_MARKER, write_ts, ttl, expires_at)


def guessed_counter(column: str, total: int, second: int, write_ts: int) -> Fact:
    """A shard that has all that a counter counts."""
    return Fact(int(Kind.SHARD), column, guessed_id(0, second), shard_value(0, total), write_ts)


def is_guess(fact: Fact) -> bool:
    """Whether a server's answer does not tell it for certain."""
    return (fact.kind == Kind.LIVE and bool(fact.value)) or is_guessed_id(fact.path)


def is_unsure(facts: Iterable[Fact]) -> bool:
    """Whether the facts of one column tell of ids that may be among those that were guessed."""
    held: Sequence[Fact] = list(facts)
    read = max((int.from_bytes(fact.path[12:], "big") for fact in held if is_guessed_id(fact.path)), default=None)
    if read is None:
        return False
    return any(_may_be_older(fact, read) for fact in held if not is_guessed_id(fact.path))


def same_but_for_guesses(old: object, new: object) -> bool:
    """Whether two values of a list differ in nothing but ids, of which some were guessed."""
    if not (isinstance(old, list) and isinstance(new, list)):
        return False
    if not any(is_guessed_id(path) for path, _ in (*old, *new)):
        return False
    return [part for _, part in old] == [part for _, part in new]


def _may_be_older(fact: Fact, read: int) -> bool:
    if fact.kind == Kind.SHARD:
        return True
    if len(fact.path) != _ID_BYTES:
        # Of the column as a whole: it takes what is older, whatever its id.
        return False
    return not read + SLACK_SECONDS < _made(fact.path) < read + _FUTURE


def _made(path: bytes) -> int:
    """The second in which a server made the id of an element."""
    time = int.from_bytes(path[:8], "big")
    ticks = (time & 0xFFF) << 48 | (time >> 16 & 0xFFFF) << 32 | time >> 32
    second = (ticks - _EPOCH_TICKS) // _TICKS
    return max(second, 2 * _MIDDLE - second)
