"""The plain and the compiled build side by side: whatever a test builds is built by both, and is the same."""

from __future__ import annotations

from tailer.change.build import Built
from tailer.change.build import build as plain_build
from tailer.change.compile import Compiled
from tailer.change.place import Place
from tailer.format.index import Index
from tests.unit.kernel.twins import WITHOUT_JIT

COMPILED = not WITHOUT_JIT


def build_both(index: Index, data: bytes, compiled: Compiled, place: Place) -> Built:
    """What both builds give, and that of the compiled one if there is one."""
    plain = plain_build(index, data, compiled, place)
    if not COMPILED:
        return plain
    from tailer.change.fast.build import build

    made = build(index, data, compiled, place)
    assert made.faults == plain.faults
    assert len(made.batch) == len(plain.batch)
    assert made.batch.json_lines() == plain.batch.json_lines()
    arrow = made.batch.to_arrow()
    arrow.validate(full=True)
    assert arrow.equals(plain.batch.to_arrow())
    return made
