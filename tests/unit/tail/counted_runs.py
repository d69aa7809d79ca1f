"""How often sections are read from their files, for tests of what must not be read twice."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import pytest

from tailer.segments import runs
from tailer.segments.run import Run

Place: TypeAlias = tuple[int, int]
"""A section: its segment, and where it starts."""


def count_runs(monkeypatch: pytest.MonkeyPatch) -> Counter[Place]:
    """From now on: how often each section was read as one of a run."""
    counted: Counter[Place] = Counter()
    read = runs._read

    def counting(file: Any, *place: Any) -> Run | None:
        run = read(file, *place)
        counted.update((file.segment, start) for start in ([] if run is None else run.sections.tolist()))
        return run

    monkeypatch.setattr(runs, "_read", counting)
    return counted
