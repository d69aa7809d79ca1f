"""python -m tests.simulation --seed N [--histories M] [--operations K]: histories from seeds, each checked."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

if os.environ.get("PYTHONHASHSEED") != "0" and __name__ == "__main__":
    # The order of sets is part of a history.
    words = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
    os.execve(sys.executable, words, {**os.environ, "PYTHONHASHSEED": "0"})

# Where there is the compiled form, it is given everything.
os.environ["CDC_TAIL_JIT"] = "1"

from tests.simulation import compiled, coverage, interposed, memory

OF_SPARK = ("tailer.spark.planner", "tailer.spark.executor")
"""What of the Spark source knows no pyspark."""


def main() -> int:
    given = _arguments().parse_args()
    if given.coverage:
        # Branches of compiled code are not seen.
        given.form = "plain"
        coverage.begin()
    interposed.install()
    if given.fault is not None:
        _inject(given.fault)
    _import_all()
    memory.install()
    if given.form != "plain":
        compiled.load()
    failed = _histories(given)
    if given.coverage:
        print(coverage.report())
    sys.stdout.flush()
    # No handler of the product's modules is to run: they would ask a system that is not there any more.
    os._exit(1 if failed else 0)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--histories", type=int, default=1)
    parser.add_argument("--operations", type=int, default=300)
    parser.add_argument("--source", choices=("node", "service"), default="node", help="who writes the log")
    parser.add_argument("--only", help="the numbers of the operations that are left, with commas between them")
    parser.add_argument("--words", action="store_true", help="print the operations")
    parser.add_argument("--shorten", action="store_true", help="leave out of one that fails what it does not need")
    parser.add_argument("--first", action="store_true", help="end at the first history that fails")
    parser.add_argument("--calls", action="store_true", help="print a digest of all calls that reached the system")
    parser.add_argument("--coverage", action="store_true", help="print which share of the branches was taken")
    parser.add_argument(
        "--form", choices=("plain", "compiled", "both"), default="both", help="which form of the decoder runs"
    )
    parser.add_argument("--order", type=int, default=0, help="another one chooses other interleavings")
    parser.add_argument("--back", action="store_true", help="the clock of the first node may go back")
    parser.add_argument("--lying-disk", action="store_true", help="fsync does nothing: this must be found")
    parser.add_argument("--fault", help="put a fault into the product: a name of injected.py, or a number to draw one")
    parser.add_argument("--cpu", type=float, default=float("inf"), help="begin no history after so many seconds of CPU")
    return parser


def _histories(given: Any) -> int:
    """How many failed."""
    from tests.simulation.runs import played, shortened

    failed, steps, count, done, began = 0, 0, 0, Counter[str](), time.process_time()
    for plan in _plans(given):
        if time.process_time() - began > given.cpu:
            break
        count += 1
        if given.words:
            print(*plan.operations, sep="\n")
        outcome = played(plan)
        steps, done = steps + outcome.steps, done + outcome.done
        if outcome.error is not None:
            failed += 1
            print(f"seed {plan.seed}: {outcome.error}")
            if given.shorten:
                plan = shortened(plan)
                print(*plan.operations, sep="\n")
            print(f"again: {plan.command()}")
        if outcome.digest is not None:
            print(f"seed {plan.seed} calls: {outcome.digest}")
        print(f"seed {plan.seed}: {outcome.summary}", flush=True)
        if failed and given.first:
            break
    seconds = time.process_time() - began
    print(", ".join(f"{number} {what}" for what, number in done.most_common()))
    print(f"{count} histories, {failed} failed, {seconds:.0f} s of CPU, {steps / seconds:.0f} steps a second")
    return failed


def _plans(given: Any) -> Iterator[Any]:
    from tests.simulation.runs import Plan

    only = None if given.only is None else tuple(map(int, given.only.split(",")))
    for number in range(given.histories):
        yield Plan(
            given.seed + number, given.operations, given.source, only, given.lying_disk, given.calls,
            given.fault is not None, given.back, given.form, given.order,
        )  # fmt: skip


def _inject(name: str) -> None:
    from tests.simulation import faults, injected

    fault = faults.drawn(int(name)) if name.isdigit() else injected.named(name)
    print(f"fault: {fault.name}")
    faults.inject(fault)


def _import_all() -> None:
    """What the product imports late: no import is to reach a simulated disk."""
    import tailer

    for each in pkgutil.walk_packages(tailer.__path__, "tailer."):
        if each.name in OF_SPARK or (
            ".spark" not in each.name and ".jit" not in each.name and "compiled" not in each.name
        ):
            importlib.import_module(each.name)


if __name__ == "__main__":
    sys.exit(main())
