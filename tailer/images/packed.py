"""A row of the state, and a partition's header, as bytes: the same facts give the same bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from tailer.images.facts import Copies, Fact, Facts, in_fixed_order
from tailer.images.marks import LONG_AGO, Mark, Marks, long_ago

PLACES_SECONDS: Final = 86_400
"""Marks that are older keep no place: a TRUNCATE is logged seconds behind the place that it takes, not a day."""


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

    def age(self, at: int) -> None:
        """Leave places out that are so old at second `at` that no TRUNCATE will lie before them."""
        if self.placed and self.placed + PLACES_SECONDS < at:
            self.facts = {fact: Copies(long_ago(marks), arrival) for fact, (marks, arrival) in self.facts.items()}
            self.placed = 0
            # Nothing that must be written: it is if the row is written for another reason.
            self.stored = pack(self)


class _Packed(msgspec.Struct, array_like=True):
    clustering: bytes
    gone: bool
    complete: int
    due: int | None
    seq: int
    placed: int
    marks: list[tuple[bytes, list[int]]]
    facts: list[tuple[Fact, int, int]]
    outweighed: list[int]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Packed)


def pack(row: Row) -> bytes:
    """What is to be kept of a row."""
    facts = []
    numbers: dict[Marks, int] = {}
    for fact in sorted(row.facts, key=in_fixed_order):
        marks, arrival = row.facts[fact]
        facts.append((fact, numbers.setdefault(marks, len(numbers)), arrival))
    packed = [_packed(marks) for marks in numbers]
    placed = row.placed if any(places for _, places in packed) else 0
    outweighed: list[int] = []
    if len(row.visible) != len(facts):
        visible = set(row.visible)
        outweighed += [number for number, (fact, _, _) in enumerate(facts) if fact not in visible]
    return _ENCODER.encode(
        _Packed(row.clustering, row.gone, row.complete, row.due, row.seq, placed, packed, facts, outweighed)
    )


def unpack(key: bytes, value: bytes) -> Row:
    """The row that `pack` took."""
    held = _DECODER.decode(value)
    marks = [_unpacked(nodes, places) for nodes, places in held.marks]
    facts = {fact: Copies(marks[number], arrival) for fact, number, arrival in held.facts}
    visible = list(facts)
    for number in reversed(held.outweighed):
        del visible[number]
    return Row(
        key, held.clustering, held.gone, held.complete, held.due, held.seq, held.placed, facts, visible, value, held.due
    )


def _packed(marks: Marks) -> tuple[bytes, list[int]]:
    """The nodes as bits, and segment and offset of each unless there is no place at all."""
    bits = sum(1 << mark.node for mark in marks)
    placed = any(mark.place != LONG_AGO for mark in marks)
    places = [number for mark in marks for number in mark.place] if placed else []
    return bits.to_bytes((bits.bit_length() + 7) >> 3, "little"), places


def _unpacked(nodes: bytes, places: list[int]) -> Marks:
    bits = int.from_bytes(nodes, "little")
    numbers = [number for number in range(bits.bit_length()) if bits >> number & 1]
    if not places:
        return tuple(Mark(number, LONG_AGO) for number in numbers)
    return tuple(map(Mark, numbers, zip(places[::2], places[1::2], strict=True)))
