"""How long is a row on its way into a Spark query's `foreachBatch`?

Counted is the time from the sidecar's write, just before `close` wakes the readers, to the moment when `foreachBatch`
has collected the row: for (a) `cdc_tail` in a session with Spark's defaults, (b) in one with our settings
(`tailer/spark/session.py`), (c) the same over a log of `writer_hooks`, from the return of its fsync, and (d)
`empty_source.py` with the same settings as (b), the floor: a source that waits in the same way and yields the same row
ready-made. Four sessions live side by side, each over a log of its own; rows
come one at a time, in short blocks that take turns, so that all meet the same machine while the others are idle. Quiet
minutes, longer than Spark keeps an idle Python worker, lie between: the batch behind one is counted with the others,
and told apart.

    python -m tests.benchmarks.spark_latency --keep        # about 14 minutes
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import tailer
from tests.benchmarks.empty_source import write_batch
from tests.benchmarks.measured import ROOT, environment, figure, percentiles
from tests.benchmarks.native_rows import GrowingNative
from tests.benchmarks.script import Begun, publish, script_parser
from tests.benchmarks.single_rows import GrowingSegment, Material, load_material

NAME = "spark_latency"
QUESTION = "How long from sidecar written to row in foreachBatch: Spark's defaults, our settings, an empty source?"
TARGETS = {"p50_to_floor": 1.25, "p99_to_floor": 2.0}
BLOCK_ROWS = 10
GAP_SECONDS = (0.05, 0.25)
PATIENCE_SECONDS = 240.0


class Case(NamedTuple):
    """A session and its source."""

    what: str
    settings: str
    empty: bool
    native: bool = False


CASES = {
    "defaults": Case("Spark's defaults", "defaults", empty=False),
    "settings": Case("our settings", "settings", empty=False),
    "native": Case("a log of writer_hooks, our settings", "settings", empty=False, native=True),
    "floor": Case("empty source, our settings", "settings", empty=True),
}


class Query:
    """A process with a session and a query; a thread notes what it says."""

    def __init__(self, command: Sequence[str], log: Any) -> None:
        self.told: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
            env=environment(),
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # A JVM may have something to say, too.
            if line.startswith(b"{"):
                self.told.append(json.loads(line))

    def take(self) -> dict[str, Any]:
        """The next thing that it says."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not self.told:
            if time.monotonic() > give_up or self._process.poll() is not None:
                raise RuntimeError(f"the query said nothing; exit code {self._process.poll()}")
            time.sleep(0.001)
        return self.told.pop(0)

    def end(self) -> dict[str, Any]:
        """End it; what it says of itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        last = self.take()
        while "phases" not in last:
            last = self.take()
        return last

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()
        self._process.stdout.close()


class Arm:
    """One case while it runs: its log and its query."""

    def __init__(self, growing: GrowingSegment | GrowingNative, query: Query) -> None:
        self.growing = growing
        self.query = query

    def row(self) -> float:
        """Write a row; the seconds until it came."""
        self.growing.write_row()
        promised = self.growing.publish()
        came = self.query.take()
        if came["rows"] != 1:
            raise RuntimeError(f"one row was written: {came}")
        return float(came["at"]) - promised


@contextmanager
def arms(material: Material, parent: Path) -> Iterator[dict[str, Arm]]:
    """All cases, started and warm."""
    with ExitStack() as stack:
        log = stack.enter_context((parent / "log").open("wb"))
        made: dict[str, Arm] = {}
        for name, case in CASES.items():
            home = parent / name
            growing = stack.enter_context(GrowingNative(home) if case.native else GrowingSegment(home, material))
            growing.write_row()
            growing.publish()
            form, options = "cdc_tail", {}
            if case.empty:
                form, options = "empty_live", _empty_options(growing)
            command = [sys.executable, "-m", "tests.benchmarks.spark_query", case.settings, form]
            query = Query([*command, str(growing.folder), json.dumps(options)], log)
            stack.callback(query.close)
            made[name] = Arm(growing, query)
            # One session after the other: their start is not what is measured.
            _await_start(made[name], case)
        yield made


def _empty_options(growing: GrowingSegment | GrowingNative) -> dict[str, str]:
    """The floor's row is the one that a reader of its log makes."""
    batch, sidecar = growing.folder.with_name("batch.arrow"), next(growing.folder.glob("*_cdc.idx"))
    (rows,) = tailer.open(growing.folder, state=growing.folder.with_name("state")).read("earliest", "latest")
    write_batch(rows, batch)
    return {"batch": str(batch), "sidecar": str(sidecar)}


def _await_start(arm: Arm, case: Case) -> None:
    if not case.empty:
        arm.query.take()
        return
    # It begins at the sidecar as it is then: rows are written until one comes.
    while not arm.query.told:
        arm.growing.write_row()
        arm.growing.publish()
        time.sleep(1)
    while arm.query.told:
        arm.query.told.clear()
        time.sleep(2)


def measure(
    made: Mapping[str, Arm], rows: int, quiets: int, quiet_seconds: float, chance: random.Random
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Delays of each case: of rows that follow each other, and of those behind a quiet time."""
    steady: dict[str, list[float]] = {name: [] for name in made}
    behind: dict[str, list[float]] = {name: [] for name in made}
    blocks = max(1, rows // BLOCK_ROWS)
    pauses = {(number + 1) * blocks // (quiets + 1) for number in range(quiets)} if quiets else set()
    for block in range(blocks):
        order = list(made)
        chance.shuffle(order)
        if block in pauses:
            time.sleep(quiet_seconds + chance.uniform(0, 8))
            for name in order:
                behind[name].append(made[name].row())
        for name in order:
            for _ in range(min(BLOCK_ROWS, rows)):
                time.sleep(chance.uniform(*GAP_SECONDS))
                steady[name].append(made[name].row())
    return steady, behind


def run(rows: int, warm_up: int, quiets: int, quiet_seconds: float) -> dict[str, Any]:
    begun, chance = Begun(NAME, QUESTION, TARGETS, rows, Path("the demo's recording")), random.Random(9)
    with tempfile.TemporaryDirectory() as parent, arms(load_material(), Path(parent)) as made:
        measure(made, warm_up, 0, 0, chance)
        steady, behind = measure(made, rows, quiets, quiet_seconds, chance)
        ends = {name: arm.query.end() for name, arm in made.items()}
    whole = {name: steady[name] + behind[name] for name in CASES}
    return begun.result(
        spark=ends["settings"]["spark"],
        quiet_seconds=quiet_seconds,
        figures=figures(whole, behind),
        phases_ms={name: end["phases"] for name, end in ends.items()},
        delays_ms={
            name: {
                "all": percentiles(whole[name]),
                "steady": percentiles(steady[name]),
                **({"behind_quiet": percentiles(behind[name])} if behind[name] else {}),
            }
            for name in CASES
        },
        runs={name: {"steady": _round(steady[name]), "behind_quiet": _round(behind[name])} for name in CASES},
    )


def figures(whole: Mapping[str, Sequence[float]], behind: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """The lines of the table; `best` is the same number: each percentile is one of all rows."""
    found = {name: percentiles(values) for name, values in whole.items()}
    made = []
    for name, case in CASES.items():
        made += [figure(f"{case.what}: {one}", "ms", {"median": found[name][one]}) for one in ("p50", "p90", "p99")]
        if behind[name]:
            quiet = percentiles(behind[name])
            made.append(figure(f"{case.what}: behind a quiet minute, p50", "ms", {"median": quiet["p50"]}))
    for one in ("p50", "p99"):
        for name in ("settings", "native", "defaults"):
            value = {"median": found[name][one] / found["floor"][one]}
            bound = TARGETS[f"{one}_to_floor"] if name in ("settings", "native") else None
            made.append(figure(f"{CASES[name].what}: {one}", "× empty source", value, at_most=bound))
    return made


def _round(seconds: Sequence[float]) -> list[float]:
    return [round(value * 1000, 2) for value in seconds]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION)
    parser.add_argument("--rows", type=int, default=300, help="rows of each case (default: %(default)s)")
    parser.add_argument("--warm-up", type=int, default=30, help="rows before those (default: %(default)s)")
    parser.add_argument("--quiets", type=int, default=4, help="quiet times (default: %(default)s)")
    parser.add_argument("--quiet-seconds", type=float, default=72.0, help="their length (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a handful of rows: whether it runs at all")
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        publish(run(2, 1, 1, 0.0), keep=False)
    else:
        publish(run(chosen.rows, chosen.warm_up, chosen.quiets, chosen.quiet_seconds), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
