"""Looks at both sides until what differs has settled: what is only on its way is no difference.

A partition that differs is looked at again, some time later. What differs in the same way in two looks, with the same
values on both sides, is a difference; what differs in another way is looked at once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Final, Protocol

import msgspec

from tailer.comparing.alike import Alike
from tailer.comparing.known import known_partition, known_partitions
from tailer.comparing.partition import Difference, KnownPartition, ServedPartition, differences, unknown_rows
from tailer.comparing.served import Piece
from tailer.images.store import Store
from tailer.images.tables import KnownTable

LOOKS: Final = 6
"""A partition that differs in another way each time is undecided after so many."""

PARTITIONS_MAX: Final = 10_000
"""Where more differ, no second look is needed to know it."""


Differing = dict[bytes, set[Difference]]
"""By partition what differs in it."""


class Asked(Protocol):
    """The server's side: `tailer.comparing.served.ServedTable`."""

    def pieces(self, low: int, high: int) -> Iterator[Piece]: ...
    def partition(self, name: bytes) -> ServedPartition | None: ...


class Result(msgspec.Struct):
    """`rows`, `partitions`: of the server's, that were looked at. `unknown`: rows of which images can say nothing.
    `undecided`: partitions that changed between all looks. `stopped`: too many differed, and the rest was not read."""

    rows: int = 0
    partitions: int = 0
    unknown: int = 0
    undecided: int = 0
    stopped: bool = False
    found: list[Difference] = []


Reading = Callable[[], AbstractContextManager[Store]]
"""Opens the state as it is at that moment."""


class Looks:
    """Of one table. `clock`: what second it is. `wait`: returns when the next look is due."""

    def __init__(
        self, reading: Reading, table: KnownTable, asked: Asked, clock: Callable[[], int], wait: Callable[[], None]
    ) -> None:
        self.alike = Alike(table.plan)
        self._reading = reading
        self._table = table
        self._asked = asked
        self._clock = clock
        self._wait = wait

    def all(self, ranges: Iterable[tuple[int, int]]) -> Result:
        """Compare these ranges of tokens."""
        result = Result()
        differing: Differing = {}
        for low, high in ranges:
            for piece in self._asked.pieces(low, high):
                self._first(piece, result, differing)
                if len(differing) > PARTITIONS_MAX:
                    result.stopped = True
                    result.found = _sorted(differing)
                    return result
        self._settle(differing, result)
        return result

    def _first(self, piece: Piece, result: Result, differing: Differing) -> None:
        with self._reading() as store:
            at = self._clock()
            known = {each.name: each for each in known_partitions(store, self._table, piece.low, piece.high, at)}
        served = {each.name: each for each in piece.partitions}
        for name in {**served, **known}:
            ours, theirs = known.get(name), served.get(name)
            if found := self._differences(name, ours, theirs):
                differing[name] = found
            result.unknown += unknown_rows(ours, theirs, whole=self._table.facts.whole)
        result.partitions += len(served)
        result.rows += sum(len(each.rows) for each in piece.partitions)

    def _settle(self, differing: Differing, result: Result) -> None:
        told: Differing = {}
        for _ in range(LOOKS - 1):
            if not differing:
                break
            self._wait()
            again = {name: self._again(name) for name in sorted(differing)}
            for name, found in again.items():
                told.setdefault(name, set()).update(found & differing[name])
            differing = {name: found for name, found in again.items() if found - told[name]}
        result.found = _sorted(told)
        result.undecided = sum(not told[name] for name in differing)

    def _again(self, name: bytes) -> set[Difference]:
        served = self._asked.partition(name)
        with self._reading() as store:
            known: KnownPartition = known_partition(store, self._table, name, self._clock())
        return self._differences(name, known, served)

    def _differences(
        self, name: bytes, known: KnownPartition | None, served: ServedPartition | None
    ) -> set[Difference]:
        found = differences(name, known, served, whole=self._table.facts.whole)
        return {each for each in found if not self.alike(each)}


def _sorted(differing: Differing) -> list[Difference]:
    return [
        each
        for name in sorted(differing)
        for each in sorted(differing[name], key=lambda found: (found.row or b"", found.kind, found.column))
    ]
