"""An outlet whose target is a list in memory, and every way in which such a target can go wrong."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tailer.errors import RefusedError, SinkError
from tailer.sinks.outlet import Bounds, OutletContext, OutletKey, Place, TargetAwayError
from tailer.tail.kept import KeptPosition


class Killed(Exception):
    """The process ended here."""


def kill_before_state(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The process ends before a node's state is written, for the time of that number."""
    write, calls = KeptPosition._write, itertools.count()

    def dying(self: KeptPosition, state: Any) -> None:
        if next(calls) == number:
            raise Killed
        write(self, state)

    monkeypatch.setattr(KeptPosition, "_write", dying)


@dataclass
class Target:
    """What is durable: rows with the place behind them. `fails`: asked before and after each commit, by its number."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    places: dict[OutletKey, Place] = field(default_factory=dict)
    commits: list[int] = field(default_factory=list)
    opened: int = 0
    fails: Callable[[int, str], None] = lambda number, when: None
    refuses: Callable[[dict[str, Any]], bool] = lambda row: False

    @property
    def values(self) -> list[int]:
        return [row["columns"]["v"] for row in self.rows]


class MemoryOutlet:
    """Of one node."""

    name = "the list in memory"

    def __init__(self, target: Target, context: OutletContext, bounds: Bounds, keeps_place: bool = True) -> None:
        self.bounds = bounds
        self.keeps_place = keeps_place
        self._target = target
        self._context = context
        self._held: list[dict[str, Any]] = []

    def open(self) -> Place | None:
        self._target.opened += 1
        self._target.fails(self._target.opened, "open")
        return self._target.places.get(self._context.key) if self.keeps_place else None

    def write(self, batch: Any) -> int:
        for number, line in enumerate(batch.json_lines().splitlines()):
            row = json.loads(line)
            if self._target.refuses(row):
                self._context.refused(batch, number, SinkError("the target refuses a row"))
            else:
                self._held.append(row)
        return 100 * len(self._held)

    def commit(self, before: Place | None, behind: Place) -> None:
        target, number = self._target, len(self._target.commits)
        target.fails(number, "before")
        if self.keeps_place and target.places.get(self._context.key) != before:
            raise RefusedError("somebody else wrote")
        target.rows += self._held
        target.places[self._context.key] = behind
        target.commits.append(len(self._held))
        target.fails(number, "after")
        self.settled()

    def settled(self) -> None:
        self._held = []

    def close(self) -> None:
        self.settled()


def away() -> TargetAwayError:
    return TargetAwayError("the list is away")
