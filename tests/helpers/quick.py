"""`make quick`: all tests but those that took long here the last time, so that it stays a matter of a minute.

What each took is kept in pytest's cache. What is new, or failed the last time, is run; `make test` runs everything.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

LONG_SECONDS: Final = 0.15
_KEPT: Final = "cdc-tail/seconds"


class Quick:
    """A plugin of one run."""

    def __init__(self, cache: pytest.Cache) -> None:
        self._cache = cache
        self._seconds: dict[str, float] = cache.get(_KEPT, {})
        self._now: Counter[str] = Counter()
        self._failed: set[str] = set()

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        long = {item.nodeid for item in items if self._seconds.get(item.nodeid, 0.0) > LONG_SECONDS}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in long])
        items[:] = [item for item in items if item.nodeid not in long]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._now[report.nodeid] += report.duration
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        took = {name: round(seconds, 3) for name, seconds in self._now.items() if name not in self._failed}
        self._cache.set(_KEPT, {**self._seconds, **took})
