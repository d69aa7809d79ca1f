"""What the product keeps in variables of its modules: each simulated process has its own, and they end with it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import count
from typing import Any, Final
from weakref import WeakSet

from tests.simulation.world import running

VARIABLES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "tailer.api._NUMBERS": lambda _: count(1),
    "tailer.planning.open_segments._ALL": lambda _: WeakSet(),
    "tailer.remote.consumer._given_back": lambda _: {},
    "tailer.spark.executor._NOTICES": lambda real: type(real)(),
    "tailer.spark.executor._node": lambda real: lru_cache(64)(real.__wrapped__),
    "tailer.spark.executor._reader": lambda real: lru_cache(8)(real.__wrapped__),
    "writer_hooks.hold._OPEN": lambda _: set(),
}
"""How a process has each at its start, by what the module has."""


class OfProcess:
    """The variable of the simulated process that asks, else the module's own."""

    def __init__(self, real: Any, made: Callable[[Any], Any]) -> None:
        self._real, self._made = real, made

    def _mine(self) -> Any:
        thread = running()
        if thread is None:
            return self._real
        memory = thread.process.memory
        if self not in memory:
            memory[self] = self._made(self._real)
        return memory[self]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mine(), name)

    def __call__(self, *args: Any, **more: Any) -> Any:
        return self._mine()(*args, **more)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mine())

    def __next__(self) -> Any:
        return next(self._mine())

    def __len__(self) -> int:
        return len(self._mine())

    def __contains__(self, key: Any) -> bool:
        return key in self._mine()

    def __getitem__(self, key: Any) -> Any:
        return self._mine()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._mine()[key] = value


def install() -> None:
    """Once for a process, behind the import of the product."""
    for name, made in VARIABLES.items():
        module, _, variable = name.rpartition(".")
        there = importlib.import_module(module)
        setattr(there, variable, OfProcess(getattr(there, variable), made))
