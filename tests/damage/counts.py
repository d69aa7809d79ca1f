"""How many damaged readings a run made, and how they ended: said at the end of the test run."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple


class Ending(NamedTuple):
    """`all`: every row that could be asked for; `less`: fewer rows without an error; else the exit code."""

    test: str
    form: str
    how: str


COUNTS: Counter[Ending] = Counter()


def note(test: str, form: str, how: str) -> None:
    COUNTS[Ending(test, form, how)] += 1


def table() -> list[str]:
    """One line per test and codec."""
    lines = []
    for test, form in sorted({(ending.test, ending.form) for ending in COUNTS}):
        found = {ending.how: count for ending, count in COUNTS.items() if (ending.test, ending.form) == (test, form)}
        told = ", ".join(f"{how}: {found[how]}" for how in sorted(found))
        lines.append(f"{test:<28} {form:<8} {sum(found.values()):>6}   {told}")
    if lines:
        lines.append(f"{'all':<37} {sum(COUNTS.values()):>6}")
    return lines
