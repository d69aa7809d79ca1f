"""Years of gaps in the ids, and of cleaned ids: a start, a row and a new gap look at the newest of them alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

import tailer
from tailer.options.tail import TailOptions
from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import NodeState
from tailer.state.ids import BLOCK_RANGES, Ids
from tailer.state.log_folder import state_folder
from tailer.state.modes import make_folder
from tailer.state.offset import Memory, NodeOffset
from tailer.state.ranges import Ranges
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.tails import open_tail

NEXT = 1_700_000_000_000
TABLE = simple_table("ks", "t")


def row(number: int) -> bytes:
    return insert_payload(TABLE, number, "a", number)


def stand(folder: Path, gaps: int) -> None:
    """A consumer behind so many gaps of two ids, each behind a segment that was read and cleaned."""
    state = state_folder(folder)
    make_folder(state)
    first = NEXT - 3 * gaps
    write_cleaned(state, CleanedFile(segments=Ids.of(range(first, NEXT, 6)), bare=Ids.of(range(first + 3, NEXT, 6))))
    holes = Ids((segment + 1, segment + 2) for segment in range(first, NEXT, 3))
    with closing(Consumer(state, "c")) as consumer:
        offset = consumer.journal.stamped(NodeOffset(0, NEXT, 0, False))
        consumer.save("local", NodeState(offset, Memory(first, holes=holes), (NEXT, 0)), moved=1.0, program="")


def values(folder: Path) -> list[int]:
    batches = tailer.open(folder, tables=["ks.t"], consumer="c").follow(once=True)
    return [json.loads(text)["v"] for batch in batches for text in batch.column("columns").to_pylist()]


def test_those_that_are_past_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    taken_apart = Ranges.from_deltas

    def counted(deltas: Sequence[int]) -> Ranges:
        looked.append(len(deltas) // 2)
        return taken_apart(deltas)

    monkeypatch.setattr(Ranges, "from_deltas", counted)
    counts = []
    for gaps in (2000, 20_000):
        log = LogFolder(tmp_path / str(gaps) / "cdc_raw")
        stand(log.path, gaps)
        for segment, entries in ((NEXT, [create_payload(TABLE), row(1)]), (NEXT + 3, [row(2)])):
            log.put(segment_of(segment, [entries]), completed(segment_of(segment, [entries])))
        looked.clear()
        assert values(log.path) == [1, 2]
        log.put(segment_of(NEXT + 6, [[row(3)]]), completed(segment_of(NEXT + 6, [[row(3)]])))
        assert values(log.path) == [3]
        counts.append(sum(looked))
        # All is there all the same: what turns up in the first gap is late, and what was cleaned is not.
        first = NEXT - 3 * gaps
        for segment in (first, first + 1):
            log.put(segment_of(segment, [[row(0)]]), completed(segment_of(segment, [[row(0)]])))
        with open_tail(log.path, TailOptions(consumer="c")) as tail:
            tail.advance(tail.step())
            assert [task.span.segment for task in tail.step().tasks] == [first + 1]
    assert counts[0] <= 2 * 4 * BLOCK_RANGES, "one block of each, at each start"
    assert counts[1] <= counts[0] + BLOCK_RANGES
