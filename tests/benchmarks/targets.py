"""All goals with their figures: what is kept in `results/`, what is missing there, and the tables of the page.

    python -m tests.benchmarks.targets            # the table; below it what was not measured and what is missed
    python -m tests.benchmarks.targets --fill     # and put it, and how cost grows, into docs/performance.md

`scripts/performance_plot.py` draws the same results. Ends with 1 where a goal is missed and no cause is stated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.goals import GOALS, Goal, Result
from tests.benchmarks.table import PAGE, filled, kept, number, when

GROWTH = "growth"
CASES = ("past segments", "definition changes", "gaps", "present segments", "tables")
"""What there is more of: first what is past, then what is still there."""
COLUMNS = {
    "start_ms": "start, ms",
    "row_ms": "a row, ms",
    "look_ms": "a look, ms",
    "idle_percent": "waiting, % of a core",
    "start_mib": "memory, MiB",
    "state_bytes": "state, KB",
}


class Found(NamedTuple):
    """A goal and its figure, or why there is none."""

    goal: Goal
    figure: float | None
    absent: str = ""

    @property
    def met(self) -> bool | None:
        if self.figure is None:
            return None
        least, most = self.goal.at_least, self.goal.at_most
        return (least is None or self.figure >= least) and (most is None or self.figure <= most)


def find(results: Mapping[str, Result], goals: Sequence[Goal] = GOALS) -> list[Found]:
    """Each goal with what the kept results say of it."""
    return [_found(goal, results) for goal in goals]


def _found(goal: Goal, results: Mapping[str, Result]) -> Found:
    if goal.result not in results:
        return Found(goal, None, f"there is no results/{goal.result}.json")
    try:
        return Found(goal, goal.take(results[goal.result]))
    except LookupError as missing:
        return Found(goal, None, f"results/{goal.result}.json is of an earlier form: {missing}")


def table(found: Sequence[Found]) -> str:
    """The goals as markdown, by subject."""
    lines = ["| | figure | goal | |", "|---|---|---|---|"]
    for subject, goals in groupby(found, lambda each: each.goal.subject):
        lines.append(f"| **{subject}** | | | |")
        lines += map(_row, goals)
    return "\n".join(lines) + "\n"


def _row(each: Found) -> str:
    goal = each.goal
    sign, bound = ("≥", goal.at_least) if goal.at_least is not None else ("≤", goal.at_most)
    assert bound is not None
    figure = "not measured" if each.figure is None else number(each.figure)
    why = f": {goal.cause}" if goal.cause else ""
    told = {None: "", True: "met", False: f"**missed**{why}"}[each.met]
    return f"| {goal.what}, {goal.unit} | {figure} | {sign} {number(bound)} | {told} |"


def growth(result: Result) -> str:
    """What ten times as much of something costs a follower."""
    runs = result["runs"]
    lines = [f"| | {' | '.join(COLUMNS.values())} |", "|---|" + "---|" * len(COLUMNS)]
    for case in CASES:
        for size, cost in zip(runs[case]["sizes"], (runs[case]["few"], runs[case]["many"]), strict=True):
            values = [cost[key] / 1000 if key == "state_bytes" else cost[key] for key in COLUMNS]
            lines.append(f"| {size:,} {case} | {' | '.join(map(number, values))} |")
    missed = [line for line in result["figures"] if not line["met"]]
    told = "; ".join(_missed(line) for line in missed)
    text = f"{when(result)}\n\n" + "\n".join(lines) + "\n"
    return text + (f"\nMissed, with little and with much of it: {told}.\n" if missed else "")


def _missed(line: Mapping[str, Any]) -> str:
    case, _, what = line["what"].partition(": ")
    return f"{COLUMNS[what]}, {case}: {number(line['few'])} and {number(line['many'])}"


def losses(result: Result) -> str:
    """What each reader lost of each kind of change."""
    found = result["losses"]
    readers = {"follow": "`cdc-tail`", "debezium": "Debezium"}
    lines = [f"| lost of {found['written']} | {' | '.join(f'{name} | rows behind' for name in readers.values())} |"]
    lines.append("|---|" + "---|---|" * len(readers))
    for kind in found["kinds"]["follow"]["lost"]:
        lost = [found["kinds"][name]["lost"][kind] for name in readers]
        counts = [str(each[what]) for each in lost for what in ("changes", "behind")]
        lines.append(f"| {kind} | {' | '.join(counts)} |")
    alike = {name: found["kinds"][reader]["alike"] for reader, name in readers.items()}
    told = [
        f"{name} shows no difference between {' and between '.join(pairs)}." for name, pairs in alike.items() if pairs
    ]
    return f"{when(result)}\n\n" + "\n".join(lines) + "\n" + "".join(f"\n{line}\n" for line in told)


def page(text: str, results: Mapping[str, Result]) -> str:
    """The page with the tables that the results give; one whose result is not there stays as it was."""
    text = filled(text, "targets", table(find(results)))
    for mark, name, made in ((GROWTH, GROWTH, growth), ("losses", "peers", losses)):
        if name in results:
            text = filled(text, mark, made(results[name]))
    return text


def missing(found: Sequence[Found]) -> Iterator[str]:
    """What was not measured, and how to measure it, a line for each result."""
    for absent, goals in groupby((each for each in found if each.figure is None), lambda each: each.absent):
        named = list(goals)
        module = named[0].goal.result
        yield f"{len(named)} not measured: {absent}; `python -m tests.benchmarks.{module} ... --keep` makes it"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.targets", description="All goals, with figures.")
    parser.add_argument("--fill", action="store_true", help="put the tables into docs/performance.md too")
    parser.add_argument("--page", type=Path, default=PAGE, help="another page than that")
    chosen = parser.parse_args(arguments)
    results: dict[str, Any] = kept()
    found = find(results)
    unexplained = [each for each in found if each.met is False and not each.goal.cause]
    sys.stdout.write(table(found))
    for line in missing(found):
        sys.stdout.write(f"{line}\n")
    for each in unexplained:
        sys.stdout.write(f"missed, and goals.py states no cause: {each.goal.what} ({each.goal.result})\n")
    if chosen.fill:
        chosen.page.write_text(page(chosen.page.read_text(), results))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
