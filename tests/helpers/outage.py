"""A target that is away for a while, as a follower and a shipper meet it: what they say meanwhile, and that they go on.

A minute where `make soak` runs it (CDC_TAIL_TESTS=all, CDC_TAIL_SOAK), else some seconds.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.helpers.amount import ALL
from tests.helpers.cli import run_cli
from tests.helpers.long_run import LongRun
from tests.helpers.steady_log import Steady

LONG = ALL or "CDC_TAIL_SOAK" in os.environ
AWAY_SECONDS = 60.0 if LONG else 3.0
AWAY = "cdc_tail_target_away_seconds"
DELIVERED = "cdc_tail_delivered_rows_total"


def outage(
    take: Callable[[], None], give_back: Callable[[], None], seen: Callable[[], bool], run: LongRun, log: Steady | None
) -> None:
    """The target is taken away, is `seen` to be for `AWAY_SECONDS`, and is given back. Rows of the `log` come all the
    while."""
    began, rows = time.monotonic(), 0 if log is None else log.rows
    take()
    run.await_that(seen)
    while time.monotonic() < began + AWAY_SECONDS:
        assert seen(), run.said()
        time.sleep(0.2)
    assert log is None or log.rows - rows > AWAY_SECONDS, "more than one a second"
    give_back()
    run.await_that(lambda: not seen())


def follower_says_it(run: LongRun, folder: Path) -> bool:
    """Metrics, `/readyz` and `status` tell of a target that is away, or none of them does."""
    ready, seconds = run.page("readyz"), run.metric(AWAY)
    if not seconds or "the target is away: " not in ready:
        return False
    (told,) = json.loads(run_cli(["status", folder, "--output", "json"]).out)["consumers"]
    assert told["running"]
    if told["away"] is None:
        # The metric is a moment ahead, at either end.
        return False
    assert told["away"]["error"]
    assert abs(time.time() - told["away"]["since"] - seconds) < 5
    assert "nothing is lost" in run.said()
    return True


def shipper_says_it(folder: Path) -> bool:
    """`ship --list` tells of a target that is away."""
    return "its target away for" in run_cli(["ship", folder, "--list"]).out
