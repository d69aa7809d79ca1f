"""Tests that are repeated: those that were ended by Spark's ten seconds for a Python worker to connect, and no others.

That wait is a constant in Spark (`PythonWorkerFactory`); on a machine that is busy otherwise a process may take longer
to start, whatever it imports. Every repetition is told at the end of the run.
"""

from __future__ import annotations

import re
from typing import Final

import pytest
from _pytest.runner import runtestprotocol

MESSAGE: Final = re.compile(r"(Python worker failed|Timed out while waiting for the Python worker) to connect back")
TIMES: Final = 2

told: Final[list[str]] = []
"""The names of tests that were repeated."""


def run(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Runs one test, again where it must be; True: it was run."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for _ in range(TIMES):
        if not any(report.failed and MESSAGE.search(report.longreprtext) for report in reports):
            break
        told.append(item.nodeid)
        # As at first: fixtures of the test itself are made anew.
        item._initrequest()  # type: ignore[attr-defined]
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
