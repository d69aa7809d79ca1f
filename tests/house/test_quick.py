"""`make quick` leaves out what took long the last time, and nothing that is new or failed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.helpers.quick import LONG_SECONDS, Quick


class Kept(dict[str, Any]):
    """pytest's cache."""

    def set(self, name: str, value: Any) -> None:
        self[name] = value


def left(kept: Kept, *names: str) -> list[str]:
    """The tests of these that the next run has."""
    items: Any = [SimpleNamespace(nodeid=name) for name in names]
    config: Any = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    plugin(kept).pytest_collection_modifyitems(config, items)
    return [item.nodeid for item in items]


def plugin(kept: Any) -> Quick:
    return Quick(kept)


def ran(kept: Kept, **seconds: float) -> None:
    """A run in which tests took so long; `failed`: one that did."""
    quick = plugin(kept)
    for name, took in seconds.items():
        for duration in (took / 2, took / 2):
            report: Any = SimpleNamespace(nodeid=name, duration=duration, failed=name == "failed")
            quick.pytest_runtest_logreport(report)
    quick.pytest_sessionfinish()


def test_what_took_long_is_left_out_and_comes_back_when_it_is_quicker() -> None:
    kept = Kept()
    assert left(kept, "long", "short") == ["long", "short"]
    ran(kept, long=LONG_SECONDS * 1.5, short=LONG_SECONDS / 2)
    assert left(kept, "long", "short", "new") == ["short", "new"]
    ran(kept, short=LONG_SECONDS * 2)
    assert left(kept, "long", "short") == []
    ran(kept, long=LONG_SECONDS / 2)
    assert left(kept, "long", "short") == ["long"]


def test_what_failed_is_run_again_however_long_it_took() -> None:
    kept = Kept()
    ran(kept, failed=LONG_SECONDS * 10)
    assert left(kept, "failed") == ["failed"]
