"""Histories of migrations on real nodes, by `make soak SOAK=migrations`: a short one, and ten long ones.

They are no part of `make test` yet: those of one node find no difference, long ones of three nodes are not proven.

CDC_TAIL_SOAK says how many steps a long history has. Results are in `build/migrations`, and one that is there is not
made again: remove the folder to run them all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT
from tests.server.migrations.__main__ import in_words
from tests.server.migrations.running import Plan, run

STEPS = int(os.environ.get("CDC_TAIL_SOAK", "0"))
RESULTS = ROOT / "build" / "migrations"
SHORT = Plan(seed=11, steps=24)
LONG = (
    Plan(seed=1, steps=STEPS),
    Plan(seed=2, steps=STEPS, version="4.1"),
    Plan(seed=3, steps=STEPS),
    Plan(seed=4, steps=STEPS, version="4.1"),
    Plan(seed=5, steps=STEPS, spark=True),
    Plan(seed=6, steps=STEPS, version="4.1", spark=True),
    Plan(seed=7, steps=STEPS),
    Plan(seed=8, steps=STEPS, nodes=3),
    Plan(seed=9, steps=STEPS, nodes=3, server=False),
    Plan(seed=10, steps=STEPS, nodes=3),
)

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.mark.skipif(not STEPS, reason="minutes: make soak SOAK=migrations")
def test_a_short_history(needs_server: Callable[[str], None], tmp_path: Path) -> None:
    needs_server(SHORT.version)
    result = run(SHORT, tmp_path, print)
    assert result["differences"] == [], in_words(result)
    # It compared something.
    assert result["checks"]["acknowledged writes"] > 100
    assert result["checks"]["kept: rows"] > 100
    assert result["checks"]["fold: rows"] > 50


@pytest.mark.skipif(not STEPS, reason="half an hour: make soak SOAK=migrations")
@pytest.mark.parametrize("plan", LONG, ids=lambda plan: plan.name)
def test_a_long_history(plan: Plan, needs_server: Callable[[str], None]) -> None:
    needs_server(plan.version)
    RESULTS.mkdir(parents=True, exist_ok=True)
    result = run(plan, RESULTS, print)
    assert result["differences"] == [], in_words(result)
