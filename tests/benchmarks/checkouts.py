"""Is this checkout slower than that one?

Runs one benchmark in two checkouts in turn (before, after, after, before, …), each with its own environment, so that
both meet the same machine, and divides what was measured: for every number in the benchmark's `runs`, the median of all
turns behind by that of all before, and smallest by smallest. 1.03 is three per cent slower.

    python -m tests.benchmarks.checkouts BEFORE AFTER decode --turns 4 -- PERF_ARCHIVE --repeat 5

Both checkouts are asked the same; a case that only one of them has is left out, and said.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.script import Begun, publish

NAME = "checkouts"
QUESTION = "Is this checkout slower than that one?"
TARGETS = {"after_to_before": 1.03}

Numbers = dict[str, list[float]]


class Checkout(NamedTuple):
    """A checkout, its interpreter, and what was measured in it so far, by the case's name."""

    path: Path
    python: Path
    found: Numbers


def numbers(runs: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """Every number of a benchmark's `runs` with its place; lists are rounds of the same case."""
    if isinstance(runs, Mapping):
        for name, value in runs.items():
            yield from numbers(value, (*at, name))
    elif isinstance(runs, Sequence) and not isinstance(runs, str):
        for value in runs:
            yield from numbers(value, at)
    elif isinstance(runs, int | float) and not isinstance(runs, bool):
        yield " / ".join(at), float(runs)


def measure(checkout: Checkout, benchmark: str, words: Sequence[str]) -> None:
    """One turn: adds what the benchmark found to what the checkout has."""
    done = subprocess.run(
        [str(checkout.python), "-m", f"tests.benchmarks.{benchmark}", *words],
        cwd=checkout.path,
        stdout=subprocess.PIPE,
        check=True,
    )
    for name, value in numbers(json.loads(done.stdout)["runs"]):
        checkout.found.setdefault(name, []).append(value)


def compared(before: Numbers, after: Numbers) -> dict[str, dict[str, float]]:
    """Of each case that both have: medians, and after by before of the medians and of the smallest."""
    return {
        name: {
            "before": round(statistics.median(before[name]), 6),
            "after": round(statistics.median(after[name]), 6),
            "median": round(statistics.median(after[name]) / statistics.median(before[name]), 3),
            "best": round(min(after[name]) / min(before[name]), 3),
        }
        for name in before
        if name in after and min(before[name]) > 0
    }


def run(pair: Sequence[Checkout], benchmark: str, turns: int, words: Sequence[str]) -> dict[str, Any]:
    """`pair`: before and after."""
    begun = Begun(NAME, QUESTION, TARGETS, turns, pair[-1].path)
    for turn in range(turns):
        for checkout in pair if turn % 2 == 0 else reversed(pair):
            measure(checkout, benchmark, words)
    cases = compared(pair[0].found, pair[1].found)
    ratios = [case["median"] for case in cases.values()]
    return begun.result(
        benchmark=benchmark,
        all={"median": statistics.median(ratios), "largest": max(ratios)},
        cases=cases,
        only_in_one=sorted(pair[0].found.keys() ^ pair[1].found.keys()),
        runs={name: checkout.found for name, checkout in zip(("before", "after"), pair, strict=True)},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.benchmarks.{NAME}",
        description=QUESTION,
        epilog="Behind -- stands what the benchmark is asked.",
    )
    parser.add_argument("before", type=Path, help="a checkout with its .venv")
    parser.add_argument("after", type=Path, help="another one")
    parser.add_argument("benchmark", help="a module of tests/benchmarks whose result has runs: decode, shapes, latency")
    parser.add_argument("--turns", type=int, default=4, help="runs of each checkout (default: %(default)s)")
    parser.add_argument("--python", type=Path, default=Path(".venv/bin/python"), help="in each (default: %(default)s)")
    given = list(sys.argv[1:] if arguments is None else arguments)
    words = given.index("--") if "--" in given else len(given)
    chosen = parser.parse_args(given[:words])
    pair = [Checkout(path.resolve(), path.resolve() / chosen.python, {}) for path in (chosen.before, chosen.after)]
    publish(run(pair, chosen.benchmark, chosen.turns, given[words + 1 :]), keep=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
