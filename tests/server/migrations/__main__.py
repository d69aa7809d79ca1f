"""Runs histories of migrations by their seeds: `python -m tests.server.migrations 7 --steps 100 --version 5.0`.

`--words` prints a history instead. Results are kept as JSON in `--work`; a history whose result is there is not run
again.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.server.library import available
from tests.server.migrations.checks import Difference
from tests.server.migrations.history import history
from tests.server.migrations.running import NETWORK, Plan, run


def main() -> int:
    # Ends what it started, however it is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = _arguments().parse_args()
    if given.words:
        for seed in given.seeds:
            for step in history(seed, given.steps, given.version, given.nodes, given.without):
                print(step.in_words())
        return 0
    if (reason := available(given.version)) is not None:
        print(f"no Cassandra server: {reason}", file=sys.stderr)
        return 2
    given.work.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for seed in given.seeds:
        plan = Plan(
            seed, given.steps, given.version, given.nodes, not given.no_server, given.spark, given.without,
            given.network,
        )  # fmt: skip
        result = run(plan, given.work, _say)
        print(in_words(result), flush=True)
        wrong += bool(result["differences"])
    return 1 if wrong else 0


def in_words(result: dict[str, Any]) -> str:
    """Every difference of a result, and the command that runs the history again."""
    found = [Difference(**each).in_words() for each in result["differences"]]
    counts = ", ".join(f"{word}: {number}" for word, number in result["checks"].items())
    incomplete = sum(result["incomplete"].values())
    return "\n".join(
        [
            *found,
            f"{result['name']}: {len(found)} differences in {result['seconds']} s; {result['accepted']} statements, "
            f"{len(result['refused'])} refused, {len(result['failed'])} unanswered; {counts}; "
            f"rows marked as not known whole: {incomplete}",
            f"  again: {result['replay']}",
        ]
    )


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.server.migrations", description=__doc__)
    parser.add_argument("seeds", nargs="+", type=int, metavar="SEED")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--version", default="5.0")
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=1)
    parser.add_argument("--no-server", action="store_true", help="consumers read the logs alone")
    parser.add_argument("--spark", action="store_true", help="Delta tables and the current state by Spark, too")
    parser.add_argument("--without", type=_numbers, default=(), metavar="N,N", help="leave these steps out")
    parser.add_argument("--words", action="store_true", help="print the history, and run nothing")
    parser.add_argument("--network", default=NETWORK, help="the first three bytes of the nodes' addresses")
    parser.add_argument("--work", type=Path, default=Path("build/migrations"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
