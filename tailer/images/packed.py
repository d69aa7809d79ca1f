"""A row of the state, and a partition's header, as bytes: the same facts give the same bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from tailer.images.facts import Copies, Fact, Facts, in_fixed_order


@dataclass(slots=True, eq=False)
class Row:
    """A row of the state, or a partition's header (of key `OWN`), while it is worked on.

    `clustering`: the framed values as they were first spelled. `gone`: a deletion took it at some time, known or
    forgotten since. `complete`: the epoch of the table in which it was known whole, 0 for none. `due`: the second at
    which something in it expires. `seq`: of a header the last image's, 0 for none.

    `visible`: those of its facts that count. `stored`: its bytes in the store, None where it is not there, and with
    which `due`.
    """

    key: bytes
    clustering: bytes = b""
    gone: bool = False
    complete: int = 0
    due: int | None = None
    seq: int = 0
    facts: Facts = field(default_factory=dict)
    visible: list[Fact] = field(default_factory=list)
    stored: bytes | None = None
    was_due: int | None = None


class _Packed(msgspec.Struct, array_like=True):
    clustering: bytes
    gone: bool
    complete: int
    due: int | None
    seq: int
    facts: list[tuple[Fact, bytes, int]]
    outweighed: list[int]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Packed)


def pack(row: Row) -> bytes:
    """What is to be kept of a row."""
    facts = []
    for fact in sorted(row.facts, key=in_fixed_order):
        marks, arrival = row.facts[fact]
        facts.append((fact, marks_bytes(marks), arrival))
    outweighed: list[int] = []
    if len(row.visible) != len(facts):
        visible = set(row.visible)
        outweighed += [number for number, (fact, _, _) in enumerate(facts) if fact not in visible]
    return _ENCODER.encode(_Packed(row.clustering, row.gone, row.complete, row.due, row.seq, facts, outweighed))


def unpack(key: bytes, value: bytes) -> Row:
    """The row that `pack` took."""
    held = _DECODER.decode(value)
    facts = {fact: Copies(int.from_bytes(marks, "little"), arrival) for fact, marks, arrival in held.facts}
    visible = list(facts)
    for number in reversed(held.outweighed):
        del visible[number]
    return Row(key, held.clustering, held.gone, held.complete, held.due, held.seq, facts, visible, value, held.due)


def marks_bytes(marks: int) -> bytes:
    """A set of nodes in as few bytes as it takes: there may be more nodes than a number of msgpack has bits."""
    return marks.to_bytes((marks.bit_length() + 7) >> 3, "little")
