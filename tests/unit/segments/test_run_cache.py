"""What a reader keeps of the segments that it checked, in all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tailer.segments import run_cache
from tailer.segments.run_cache import RunCache

FILE = (1, 1)


def run(size: int) -> Any:
    return cast("Any", SimpleNamespace(data=bytes(size)))


def test_all_segments_together_have_the_room_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_cache, "_KEPT_BYTES", 100)
    cache = RunCache()
    parts = [cache.of(segment, FILE) for segment in range(20)]
    for part in parts:
        part.keep(0, run(40))
    assert [number for number, part in enumerate(parts) if part.get(0) is not None] == [18, 19]
    parts[3].keep(7, run(101))
    assert parts[3].get(7) is None, "more than there is room for"
    assert parts[19].get(0) is not None


def test_what_is_cleared_is_that_segments_alone() -> None:
    cache = RunCache()
    one, other = cache.of(1, FILE), cache.of(2, FILE)
    one.keep(0, run(1))
    one.keep(5, run(1))
    other.keep(0, run(1))
    one.clear()
    assert (one.get(0), one.get(5)) == (None, None)
    assert other.get(0) is not None
