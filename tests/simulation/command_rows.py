"""A consumer of change rows by `cdc-tail follow` on standard output, of several nodes at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Final

from tests.simulation.consumers import IN_VAIN_MAX, Consumer, Expected, ViolationError
from tests.simulation.logged import row_of

_SAVES: Final = ("batch", "segment", "3 rows", "200 ms")
"""When a position is saved."""


class CommandRows(Consumer):
    """Rows come in the order of each node's log. What no position was saved behind comes again after a kill, never
    something from behind it."""

    def __init__(
        self,
        name: str,
        folder: Path,
        logs: Mapping[str, Path | str],
        expected: Mapping[str, Expected],
        random: Random,
        *words: str,
    ) -> None:
        """`logs`: folder or address of each node. `folder`: of the first one."""
        super().__init__(name, folder)
        self._expected = expected
        places = ",".join(f"{node}={place}" for node, place in logs.items())
        self._words = ["follow", places, "--consumer", name, "--output", "json", *words]
        self._words += ["--commit-every", random.choice(_SAVES)]
        self._had = dict.fromkeys(expected, 0)
        """So many rows of each node have come."""

    @property
    def taken(self) -> int:
        return sum(self._had.values())

    def run(self) -> int:
        """One run: until it is killed, or ends with an exit code."""
        at: dict[str, int] = {}
        return self._command(self._words, lambda line: self._take(line, at))

    def _take(self, line: bytes, at: dict[str, int]) -> None:
        row = row_of(line)
        node = row["node"]
        number, had = self._expected[node].number_of(row), self._had[node]
        if number > had or number != at.get(node, number):
            raise ViolationError(f"{self.name} got row {number} of {node} behind {had}, in place of {at.get(node)}")
        at[node] = number + 1
        self._in_vain = 0
        self._had[node] = max(had, number + 1)

    def _lacks(self) -> dict[str, int]:
        lacking = {node: expected.count() - self._had[node] for node, expected in self._expected.items()}
        return {node: count for node, count in lacking.items() if count}

    def goes_on(self) -> bool:
        """Whether it may still get what it lacks."""
        return self._in_vain < IN_VAIN_MAX and bool(self._lacks())

    def check_end(self) -> None:
        if lacking := self._lacks():
            last = self.errors[-1] if self.errors else "no error was reported"
            raise ViolationError(f"{self.name} lacks rows (of node: number): {lacking}; {last}")
