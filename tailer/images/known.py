"""What the state knows of one row, for people."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tailer.images.packed import Row
from tailer.images.partition import Partition
from tailer.rebuild.facts import Kind, Place


class KnownFact(msgspec.Struct, frozen=True):
    """A fact of the state: `kind` in small letters, `path` and `value` as bytes, times as of the change row.

    `nodes`: whose logs had it; `places`: for each of them the segment and offset at which it had it last, (0, 0) where
    that is not kept any more. `arrival`: the second it was first merged. `counts`: nothing outweighs it. `of_row`:
    false for what the partition as a whole has, deletions of several rows or of all.
    """

    kind: str
    column: str
    path: bytes
    value: bytes
    write_ts: int
    ttl: int | None
    expires_at: int | None
    nodes: tuple[str, ...]
    arrival: int
    counts: bool
    of_row: bool
    places: tuple[Place, ...] = ()


class Known(msgspec.Struct, frozen=True):
    """`shown`: the row as JSON, None where it is not there, or nothing is known of it. `told`: whether it is known if
    it is there. `complete`: whether it is known whole."""

    lives: bool
    told: bool
    complete: bool
    shown: str | None
    seq: int | None
    facts: tuple[KnownFact, ...]


def known_of(part: Partition, row: Row, nodes: Sequence[str]) -> Known:
    """What is known of a row, or (given the header) of the static row."""
    view = part.view(row)
    facts = _facts(part, row, nodes, of_row=True)
    if row is not part.header:
        facts += [
            fact
            for fact in _facts(part, part.header, nodes, of_row=False)
            if fact.kind == "partition_gone" or (fact.kind == "range_gone" and fact.path <= row.key < fact.value)
        ]
    return Known(view.lives, part.tells(row), view.complete, view.text, part.header.seq or None, tuple(facts))


def _facts(part: Partition, row: Row, nodes: Sequence[str], *, of_row: bool) -> list[KnownFact]:
    visible = set(row.visible)
    return [
        KnownFact(
            Kind(fact.kind).name.lower(),
            *fact[1:],
            tuple(nodes[mark.node] for mark in copies.marks),
            copies.arrival,
            fact in visible,
            of_row,
            tuple(mark.place for mark in copies.marks),
        )
        for fact, copies in row.facts.items()
    ]
