"""The plain and the compiled build side by side: whatever a test builds is built by both, and is the same."""

from __future__ import annotations

from tailer.rows.generic.build import Built
from tailer.rows.generic.build import build as plain_build
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.scan.index import Index
from tests.unit.scan.compiled.twins import WITHOUT_JIT

COMPILED = not WITHOUT_JIT


def build_both(index: Index, data: bytes, prepared: Prepared, place: Place) -> Built:
    """What both builds give, and that of the compiled one if there is one."""
    plain = plain_build(index, data, prepared, place)
    if not COMPILED:
        return plain
    from tailer.rows.generic.compiled.build import build

    made = build(index, data, prepared, place)
    assert made.faults == plain.faults
    assert len(made.batch) == len(plain.batch)
    assert made.batch.json_lines() == plain.batch.json_lines()
    assert made.batch.kinds() == plain.batch.kinds()
    arrow = made.batch.to_arrow()
    arrow.validate(full=True)
    assert arrow.equals(plain.batch.to_arrow())
    return made
