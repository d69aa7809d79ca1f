"""A row of the state, and a partition's header, as bytes: the same facts give the same bytes.

All numbers have the lowest byte first.

    head | clustering | sets of marks | facts in their fixed order

    set of marks   count u16, with the highest bit where no mark has a place | a number u16 for each node |
                   segment and offset i64 for each node, unless none has a place
    fact           FACT | expiry and TTL, where it has one of them | column's name | path | value

Compiled code reads and writes the same (`image_state/compiled`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError
from typing import Final

from tailer.images.facts import Copies, Fact, Facts, in_fixed_order
from tailer.images.marks import LONG_AGO, Mark, Marks, long_ago
from tailer.rebuild.facts import Kind
from tailer.versions import undecodable

PLACES_SECONDS: Final = 86_400
"""A TRUNCATE is logged seconds behind the place that it takes, not a day: marks that are a day older than what every
node was read past keep no place."""

HEAD: Final = Struct("<BxHIqqIII")
"""Flags, how many sets of marks and facts, due, seq, complete, placed, length of the clustering."""

SEQ: Final = 4
"""The number of `seq` in it."""

FACT: Final = Struct("<qIBBHHxxII")
"""write_ts, arrival, kind, flags, number of its marks, lengths of name, path and value."""

TIMES: Final = Struct("<qi")
"""Expiry and TTL."""

_COUNT: Final = Struct("<H")

GONE: Final = 1
HAS_DUE: Final = 2

HAS_TTL: Final = 1
HAS_EXPIRY: Final = 2
OUTWEIGHED: Final = 4

_KIND: Final = tuple(map(int, Kind))
"""A number that is none of these is damage."""

NO_PLACES: Final = 0x8000


@dataclass(slots=True, eq=False)
class Row:
    """A row of the state, or a partition's header (of key `OWN`), while it is worked on.

    `clustering`: the framed values as they were first spelled. `gone`: a deletion took it at some time, known or
    forgotten since. `complete`: the epoch of the table in which it was known whole, 0 for none. `due`: the second at
    which something in it expires. `seq`: of a header the last image's, 0 for none.

    `placed`: the second in which its marks last changed, 0 where none has a place (any more). `visible`: those of its
    facts that count. `stored`: its bytes in the store, None where it is not there, and with which `due`.
    """

    key: bytes
    clustering: bytes = b""
    gone: bool = False
    complete: int = 0
    due: int | None = None
    seq: int = 0
    placed: int = 0
    facts: Facts = field(default_factory=dict)
    visible: list[Fact] = field(default_factory=list)
    stored: bytes | None = None
    was_due: int | None = None

    def age(self, read: int) -> None:
        """Leave places out that are so old that no TRUNCATE that is logged after second `read` will lie before them."""
        if self.placed and self.placed + PLACES_SECONDS < read:
            self.facts = {fact: Copies(long_ago(marks), arrival) for fact, (marks, arrival) in self.facts.items()}
            self.placed = 0
            # Nothing that must be written: it is if the row is written for another reason.
            self.stored = pack(self)


def pack(row: Row) -> bytes:
    """What is to be kept of a row."""
    facts: list[bytes] = []
    numbers: dict[Marks, int] = {}
    visible = set(row.visible)
    for fact in sorted(row.facts, key=in_fixed_order):
        marks, arrival = row.facts[fact]
        facts += _fact(fact, fact in visible, numbers.setdefault(marks, len(numbers)), arrival)
    placed = row.placed if any(_placed(marks) for marks in numbers) else 0
    flags = (GONE if row.gone else 0) | (0 if row.due is None else HAS_DUE)
    counts = len(numbers), len(row.facts)
    head = HEAD.pack(flags, *counts, row.due or 0, row.seq, row.complete, placed, len(row.clustering))
    return b"".join([head, row.clustering, *map(_packed, numbers), *facts])


def unpack(key: bytes, value: bytes) -> Row:
    """The row that `pack` took. UndecodableError for other bytes."""
    try:
        return _row(key, value)
    except (StructError, IndexError, ValueError) as error:
        raise undecodable("a row of the state of images", str(error)) from error


def _row(key: bytes, value: bytes) -> Row:
    flags, sets, count, due, seq, complete, placed, size = HEAD.unpack_from(value)
    at = HEAD.size + size
    clustering = value[HEAD.size : at]
    marks: list[Marks] = []
    for _ in range(sets):
        found, at = _unpacked(value, at)
        marks.append(found)
    facts: Facts = {}
    visible: list[Fact] = []
    for _ in range(count):
        write_ts, arrival, kind, has, number, name, path, length = FACT.unpack_from(value, at)
        at += FACT.size
        expires_at = ttl = None
        if has & (HAS_TTL | HAS_EXPIRY):
            expires_at, ttl = TIMES.unpack_from(value, at)
            at += TIMES.size
        texts = value[at : at + name], value[at + name : at + name + path]
        at += name + path + length
        fact = Fact(
            _KIND[kind], texts[0].decode(), texts[1], value[at - length : at], write_ts,
            ttl if has & HAS_TTL else None, expires_at if has & HAS_EXPIRY else None,
        )  # fmt: skip
        facts[fact] = Copies(marks[number], arrival)
        if not has & OUTWEIGHED:
            visible.append(fact)
    if at != len(value):
        raise ValueError(f"{len(value)} bytes, of which {at} are described")
    known_due = due if flags & HAS_DUE else None
    gone = bool(flags & GONE)
    return Row(key, clustering, gone, complete, known_due, seq, placed, facts, visible, value, known_due)


def _fact(fact: Fact, visible: bool, marks: int, arrival: int) -> list[bytes]:
    kind, column, path, value, write_ts, ttl, expires_at = fact
    name = column.encode()
    flags = (0 if ttl is None else HAS_TTL) | (0 if expires_at is None else HAS_EXPIRY)
    times = TIMES.pack(expires_at or 0, ttl or 0) if flags else b""
    flags |= 0 if visible else OUTWEIGHED
    head = FACT.pack(write_ts, arrival, kind, flags, marks, len(name), len(path), len(value))
    return [head, times, name, path, value]


def _placed(marks: Marks) -> bool:
    return any(mark.place != LONG_AGO for mark in marks)


def _packed(marks: Marks) -> bytes:
    """The nodes by number, and segment and offset of each unless there is no place at all."""
    placed = _placed(marks)
    count = len(marks)
    places = [number for mark in marks for number in mark.place] if placed else []
    made = Struct(f"<{1 + count}H{len(places)}q")
    return made.pack(count if placed else count | NO_PLACES, *(mark.node for mark in marks), *places)


def _unpacked(value: bytes, at: int) -> tuple[Marks, int]:
    """The set of marks that stands there, and where it ends."""
    (count,) = _COUNT.unpack_from(value, at)
    placed = not count & NO_PLACES
    count &= ~NO_PLACES
    found = Struct(f"<{count}H{2 * count if placed else 0}q")
    numbers = found.unpack_from(value, at + _COUNT.size)
    end = at + _COUNT.size + found.size
    nodes, places = numbers[:count], numbers[count:]
    if not placed:
        return tuple(Mark(node, LONG_AGO) for node in nodes), end
    return tuple(map(Mark, nodes, zip(places[::2], places[1::2], strict=True))), end
