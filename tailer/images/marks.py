"""Who vouches for a fact: a mark of each node that logged it, with the newest place at which it did.

A TRUNCATE takes a node's marks before a place, those behind it stand: it takes its place first and is logged later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from tailer.rebuild.facts import Place

LONG_AGO: Final[Place] = (0, 0)
"""In place of a place that lies before any that a TRUNCATE may still take."""

_NEVER: Final[Place] = (-1, -1)


class Mark(NamedTuple):
    """`node`: its number in the state."""

    node: int
    place: Place


Marks = tuple[Mark, ...]
"""By node, one of each at most."""


def marked(marks: Marks, mark: Mark) -> Marks:
    """With one more."""
    for at, known in enumerate(marks):
        if known.node == mark.node:
            return marks if known.place >= mark.place else (*marks[:at], mark, *marks[at + 1 :])
        if known.node > mark.node:
            return (*marks[:at], mark, *marks[at:])
    return (*marks, mark)


def vouches(marks: Marks, mark: Mark) -> bool:
    """Whether one more would change nothing."""
    return any(known.node == mark.node and known.place >= mark.place for known in marks)


def united(several: Iterable[Marks]) -> Marks:
    """All of them together."""
    return tuple(Mark(node, place) for node, place in sorted(_newest(several).items()))


def beyond(marks: Marks, others: Iterable[Marks]) -> Marks:
    """Those that a TRUNCATE can leave that takes the node's marks of all the others."""
    newest = _newest(others)
    return tuple(mark for mark in marks if newest.get(mark.node, _NEVER) < mark.place)


def truncated(marks: Marks, node: int, before: Place) -> Marks:
    """Those that are left when a node has truncated what lies before a place."""
    return tuple(mark for mark in marks if mark.node != node or mark.place >= before)


def long_ago(marks: Marks) -> Marks:
    """Without their places."""
    return tuple(Mark(mark.node, LONG_AGO) for mark in marks)


def _newest(several: Iterable[Marks]) -> dict[int, Place]:
    newest: dict[int, Place] = {}
    for marks in several:
        for node, place in marks:
            if newest.get(node, _NEVER) < place:
                newest[node] = place
    return newest
