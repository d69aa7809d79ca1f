"""Pieces of a spool into an outlet: each once, whatever was killed between spool and target."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CdcError, LossError, RefusedError, SinkError
from tailer.rows.batch import ChangeBatch
from tailer.sinks.base import Rows
from tailer.sinks.outlet import Bounds, OutletContext, Place
from tailer.snapshot.spool import Spool, piece_rows
from tailer.tail.patience import Patience
from tailer.tail.snapshot.pieces import DeliveredPieces
from tests.unit.snapshot.test_spool import TABLE, row


@dataclass
class Target:
    """What an outlet's commits leave behind, by key."""

    rows: list[str] = field(default_factory=list)
    place: Place | None = None
    keeps: bool = True
    bounds: Bounds = field(default_factory=Bounds)
    key: Any = None

    def outlet(self, context: OutletContext) -> Any:
        self.key = context.key
        return _Outlet(self)


class _Outlet:
    def __init__(self, target: Target) -> None:
        self.name, self.keeps_place, self.bounds = "the target", target.keeps, target.bounds
        self._target = target
        self._held: list[str] = []

    def open(self) -> Place | None:
        return self._target.place

    def write(self, batch: Rows) -> int:
        assert isinstance(batch, ChangeBatch)
        if any(id.endswith(":13") for id in batch.column("event_id")):
            raise SinkError("a row that it does not take")
        self._held += batch.column("event_id")
        return len(self._held)

    def commit(self, before: Place | None, behind: Place) -> None:
        assert before == self._target.place
        self._target.rows += self._held
        self._target.place = behind
        self._held = []

    def settled(self) -> None: ...

    def close(self) -> None: ...


def spool_of(folder: Path, *pieces: list[int]) -> Spool:
    spool = Spool(folder)
    spool.begin("")
    for numbers in pieces:
        # The last row of a piece tells its range.
        spool.add([*map(row, numbers), row(99)], TABLE)
    return spool


def delivery(target: Target) -> DeliveredPieces:
    said: list[str] = []
    return DeliveredPieces(target.outlet, "c", Patience(0, said.append), said.append)


def opened(target: Target, spool: Spool) -> DeliveredPieces:
    tail: Any = type("", (), {"definition": None, "state_id": "log"})
    made = delivery(target)
    made.open(tail, spool)
    return made


def give(made: DeliveredPieces, spool: Spool, number: int) -> None:
    made.give(number, piece_rows(spool.path(number), ranges=False))


def ids(*numbers: int) -> list[str]:
    return [f"snapshot:abc:0:{number}" for number in numbers]


def test_rows_are_there_with_the_number_of_their_piece(tmp_path: Path) -> None:
    target, spool = Target(), spool_of(tmp_path, [1, 2], [3])
    made = opened(target, spool)
    assert target.key == ("log", "snapshot", "c")
    give(made, spool, 1)
    assert made.given == 0
    made.rest()
    assert (made.given, target.rows) == (1, ids(1, 2))
    # Killed before the spool let the piece go.
    again = opened(target, spool)
    assert again.given == 1
    give(again, spool, 2)
    again.finish()
    assert (again.given, target.rows) == (2, ids(1, 2, 3))


def test_a_piece_without_rows_is_kept_too(tmp_path: Path) -> None:
    target, spool = Target(), spool_of(tmp_path, [])
    made = opened(target, spool)
    give(made, spool, 1)
    made.rest()
    assert (made.given, opened(target, spool).given) == (1, 1)


def test_of_a_piece_that_failed_nothing_is_committed(tmp_path: Path) -> None:
    target, spool = Target(), spool_of(tmp_path, [1], [2, 13])
    made = opened(target, spool)
    give(made, spool, 1)
    with pytest.raises(SinkError):
        give(made, spool, 2)
    made.finish()
    assert (target.rows, target.place) == ([], None)


@pytest.mark.parametrize(
    ("stands", "error", "told"),
    [(0, LossError, "is behind"), (5, RefusedError, "is ahead"), (None, LossError, "is behind")],
)
def test_a_target_that_is_another_one_is_refused(
    tmp_path: Path, stands: int | None, error: type[CdcError], told: str
) -> None:
    spool = spool_of(tmp_path, [1], [2])
    spool.taken(1)
    place = None if stands is None else Place(f'{{"snapshot":"{spool.known.id}","pieces":{stands}}}')
    with pytest.raises(error, match=told):
        opened(Target(place=place), spool)
    with pytest.raises(CdcError, match="none of a snapshot"):
        opened(Target(place=Place('{"images":3}')), spool)


def test_what_keeps_no_place_goes_by_the_spool(tmp_path: Path) -> None:
    target, spool = Target(keeps=False), spool_of(tmp_path, [1], [2])
    spool.taken(1)
    assert opened(target, spool).given == 1


def test_one_that_has_another_snapshot_begins_with_this_one(tmp_path: Path) -> None:
    target, first = Target(), spool_of(tmp_path / "first", [1])
    give(made := opened(target, first), first, 1)
    made.finish()
    second = spool_of(tmp_path / "second", [2])
    give(made := opened(target, second), second, 1)
    made.finish()
    assert target.rows == ids(1, 2)
