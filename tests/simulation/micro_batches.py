"""A Spark query on the source, as Spark's engine runs it: offsets are logged before a batch, and its number behind it.

The planner is the product's, and what executors do is; the engine between them is this model. A batch that was not
finished is given once more, by the same offsets. It has the same rows then, for sinks know batches by their numbers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.simulation import commands
from tests.simulation.consumers import IN_VAIN_MAX, Consumer, Expected, ViolationError
from tests.simulation.world import World

_EMPTY_SECONDS: Final = 0.1
_TRIES: Final = 4
"""So often Spark runs a task."""


class MicroBatches(Consumer):
    """The query and its checkpoint, which outlives its processes; the sink has each batch once, by its number."""

    def __init__(
        self,
        name: str,
        world: World,
        folder: Path,
        logs: Mapping[str, Path | str],
        expected: Mapping[str, Expected],
        **options: str,
    ) -> None:
        """`logs`: folder or address of each node; of a log without one that of "". `expected`: the rows of each.
        `folder`: of the first one."""
        super().__init__(name, folder)
        self._world, self._expected = world, expected
        random = Random(f"{world.seed} batches")
        places = (f"{node}={place}" if node else str(place) for node, place in logs.items())
        self._options = {
            "path": ",".join(places), "consumer": name, "minPartitions": str(random.choice((1, 3))),
            "waitMillis": str(random.choice((0, 100, 1000))), "tickSeconds": str(random.choice((0, 1, 60))), **options,
        }  # fmt: skip
        self._budget = random.choice((None, 1, 200, 2000, 100_000))
        self._old_spark = random.random() < 0.3
        """Before 4.2 the engine says where it stands only once in a run."""
        self._offsets: list[Any] = []
        self._finished = 0
        """So many batches are."""
        self._given: dict[int, list[tuple[str, int]]] = {}
        """Of each batch, node and number of its rows."""
        self._taken: dict[str, int] = dict.fromkeys(expected, 0)

    @property
    def taken(self) -> int:
        return sum(self._taken.values())

    def run(self) -> int:
        """One run of the query: until it is killed, or fails."""
        from tailer.errors import CdcError
        from tailer.options.to_spark import parse_options
        from tailer.spark.planner import Planner

        told: list[str] = []
        self.told.append(told)
        commands.listen(lambda line: told.append(line.decode()))
        try:
            planner = Planner(parse_options(self._options))
            self._go_on(planner)
        except CdcError as error:
            return self._ended(f"exit {error.code}: {error.sentence()}", error.code)
        except OSError as error:
            return self._ended(str(error), 8)
        return 0

    def _go_on(self, planner: Any) -> None:
        if self._finished < len(self._offsets):
            self._run_batch(planner)
        told = False
        while True:
            start = self._offsets[-1] if self._offsets else planner.initial()
            end = planner.latest(None if self._old_spark and told else start, self._budget)
            told = True
            if end == start:
                time.sleep(_EMPTY_SECONDS)
                continue
            self._world.step("write")
            self._offsets.append(end)
            if len(self._offsets) > 1:
                planner.commit(self._offsets[-2])
            self._run_batch(planner)

    def _run_batch(self, planner: Any) -> None:
        """The batch that is logged last: its rows, then that it is finished."""
        number = len(self._offsets) - 1
        start = self._offsets[number - 1] if number else planner.initial()
        rows = [row for job in planner.partitions(start, self._offsets[number]) if job for row in self._task(job)]
        self._world.step("write")
        self._sink(number, rows)
        self._world.step("write")
        self._finished = number + 1

    def _task(self, job: bytes) -> list[dict[str, Any]]:
        from tailer.spark.executor import read_job

        for again in range(_TRIES):
            try:
                return [row for batch in read_job(job) for row in batch.to_pylist()]
            except OSError:
                if again == _TRIES - 1:
                    raise
        raise AssertionError("a task is tried once at least")

    def _sink(self, number: int, rows: list[dict[str, Any]]) -> None:
        numbers = [(row["node"], self._of(row).number_of(row)) for row in rows]
        if number in self._given:
            if sorted(numbers) != sorted(self._given[number]):
                raise ViolationError(f"{self.name}: batch {number} has {numbers}; it had {self._given[number]} before")
            return
        self._given[number] = numbers
        for node, expected in self._expected.items():
            mine = sorted(at for name, at in numbers if not node or name == node)
            had = self._taken[node]
            if mine != list(range(had, had + len(mine))) and not expected.back:
                raise ViolationError(
                    f"{self.name}: batch {number} has rows {mine} of {node or 'the log'}, behind {had}"
                )
            self._taken[node] = had + len(mine)
        if numbers:
            self._in_vain = 0

    def _of(self, row: dict[str, Any]) -> Expected:
        return self._expected.get(row["node"]) or self._expected[""]

    def has_all(self) -> bool:
        return all(expected.count() == self._taken[node] for node, expected in self._expected.items())

    def goes_on(self) -> bool:
        """Whether it may still get what it lacks."""
        return self._in_vain < IN_VAIN_MAX and not self.has_all()

    def check_end(self) -> None:
        if not self.has_all():
            last = self.errors[-1] if self.errors else "no error was reported"
            missing = {node: (self._taken[node], expected.count()) for node, expected in self._expected.items()}
            raise ViolationError(f"{self.name} has (of) rows: {missing}; {last}")
