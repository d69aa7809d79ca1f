"""Which branches of the product histories take, by the package `coverage`."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from tests.simulation.faults import PACKAGES, ROOT

_measured: list[Any] = []

_DATA: Final = ROOT / "build" / "simulation.coverage"
"""What earlier runs have measured, of which a run is one more; remove it to begin anew."""


def begin() -> None:
    """Before the product is imported."""
    import coverage

    _DATA.parent.mkdir(exist_ok=True)
    made = coverage.Coverage(
        data_file=str(_DATA), branch=True, concurrency="greenlet", source=[f"tailer.{name}" for name in PACKAGES],
        omit=["*/compiled/*"], config_file=False,
    )  # fmt: skip
    if _DATA.exists():
        made.load()
    made.start()
    _measured.append(made)
    assert sys.gettrace() is not None or os.environ.get("COVERAGE_CORE") == "sysmon"


def report() -> str:
    """By package: how many of its lines and branches were taken."""
    (made,) = _measured
    made.stop()
    made.save()
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in made.get_data().measured_files():
        name = Path(file).relative_to(ROOT / "tailer").parts[0]
        numbers = made._analyze(file).numbers
        for which in (name, "all"):
            counts[which][0] += numbers.n_executed + numbers.n_executed_branches
            counts[which][1] += numbers.n_statements + numbers.n_branches
    shares = {name: 100 * taken / there for name, (taken, there) in counts.items() if there}
    return "\n".join(f"{name:12} {share:5.1f} %" for name, share in sorted(shares.items(), key=lambda each: each[1]))
