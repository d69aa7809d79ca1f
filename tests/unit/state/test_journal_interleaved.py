"""Compactions beside two appenders and a reader: random orders of their calls, and processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import AnyRecord, MemoryRecord, SegmentEndRecord
from tailer.state.offset import NodeOffset
from tailer.state.remembered import registered
from tests.helpers.amount import examples
from tests.helpers.cli import ROOT

CALLS = st.tuples(st.sampled_from(("one", "two", "both", "read", "start", "compact")), st.integers(0, 3))


def end(segment: int, who: str) -> SegmentEndRecord:
    return SegmentEndRecord(segment=segment, published=0, end=1, finished="completed", consumer=who)


def from_segment(first: int) -> Callable[[Sequence[AnyRecord]], Sequence[AnyRecord]]:
    return lambda records: [r for r in records if not isinstance(r, SegmentEndRecord) or r.segment >= first]


@pytest.mark.slow
@pytest.mark.usefixtures("without_fsync")
@settings(max_examples=examples(6000), deadline=None)
@given(st.lists(CALLS, max_size=30))
def test_every_order_of_calls(tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, int]]) -> None:
    """Numbers of what was appended never change, what is to stay stays, and everybody sees the same in the end."""
    folder = tmp_path_factory.mktemp("state")
    one, two, compacting, reader = (
        FolderJournal(folder),
        FolderJournal(folder),
        FolderJournal(folder),
        FolderJournal(folder, writable=False),
    )
    told: dict[int, tuple[int, str]] = {}
    segment = floor = 0
    for call, amount in calls:
        for name, journal in (("one", one), ("two", two)):
            if call in (name, "both"):
                records = [end(segment + at, name) for at in range(amount + 1)]
                segment += amount
                for number, record in zip(journal.append(records), records, strict=True):
                    assert told.setdefault(number, (record.segment, name)) == (record.segment, name)
        if call == "start":
            one = FolderJournal(folder)
        elif call == "read":
            reader.refresh()
        elif call == "compact":
            floor = max(floor, segment - 2 * amount)
            compacting.compact(floor, from_segment(floor))
        for journal in (one, two, compacting, reader):
            for known in journal.read():
                assert isinstance(known, SegmentEndRecord)
                assert told[known.n] == (known.segment, known.consumer)
    for journal in (one, two, compacting, reader, FolderJournal(folder)):
        journal.refresh()
        assert {n for n, (at, _) in told.items() if at >= floor} <= {record.n for record in journal.read()}
        assert journal.count == one.count
        assert journal.id == one.id


LIFE = """
import os, random, sys
from pathlib import Path
import msgspec
from tailer.retention.forget_memory import put_together
from tailer.state.consumer import Consumer
from tailer.state.consumers import NodeState
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import SegmentEndRecord
from tailer.state.offset import Memory, NodeOffset
from tailer.state.remembered import registered

state, chance = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
consumer = Consumer(state, "c", 5.0)
held = consumer.node("local") or NodeState(NodeOffset(s=1), Memory(start=1))
while True:
    at = held.offset.s + chance.randrange(1, 4)
    memory = msgspec.structs.replace(held.memory, holes=held.memory.holes.with_ids(range(held.offset.s + 1, at)))
    ends = [SegmentEndRecord(segment=n, published=0, end=1, finished="completed") for n in (held.offset.s, at)]
    consumer.journal.append(ends)
    held = NodeState(consumer.journal.stamped(NodeOffset(s=at)), memory, (at, 0))
    consumer.save("local", held, moved=0.0, program="")
    os.write(1, f"{at}\\n".encode())
    if chance.random() < 0.3:
        other = FolderJournal(state)
        known = registered(state, other)
        (floor,) = [content.nodes["local"].offset.s for content in known]
        other.compact(floor, lambda records: put_together(
            [r for r in records if not isinstance(r, SegmentEndRecord) or r.segment >= floor], known, 0))
"""


@pytest.mark.slow
def test_killed_processes_leave_what_they_saved(tmp_path: Path) -> None:
    """Position and memory agree: the gaps are those between the segments that were ever stood in, as far as saved."""
    stood: list[int] = [1]
    for seed in range(examples(30)):
        command = [sys.executable, "-c", LIFE, str(tmp_path), str(seed)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as life:
            assert life.stdout is not None
            first = life.stdout.readline()
            time.sleep(0.01 * (seed % 7))
            os.kill(life.pid, signal.SIGKILL)
            lines = [first, *life.stdout.read().splitlines(keepends=True)]
        stood += [int(line) for line in lines if line.endswith(b"\n")]
        journal = FolderJournal(tmp_path, writable=False)
        (content,) = registered(tmp_path, journal)
        state = content.nodes["local"]
        journal.check(state.offset)
        # The last save may have come through without its line.
        assert state.offset.s >= stood[-1]
        gaps = {n for n in range(2, stood[-1]) if n not in stood}
        assert {n for n in state.memory.holes if n < stood[-1]} == gaps
        assert all(stood[-1] < n < state.offset.s for n in state.memory.holes if n not in gaps)
        if state.offset.s > stood[-1]:
            stood.append(state.offset.s)
        assert len([r for r in journal.read() if isinstance(r, MemoryRecord)]) < journal.count
        assert state.offset == NodeOffset(state.offset.j, state.offset.s, id=journal.id)
