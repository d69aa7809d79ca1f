"""Ends of segments by the journal: the newest counts, through compactions, and of the state that is there now."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tailer.serve.known_ends import KnownEnds
from tailer.serve.node_journal import NodeJournal
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import AnyRecord, SegmentEndRecord, StartRecord

SEGMENTS = range(1, 8)


def end(segment: int, at: int, consumer: str | None = None) -> SegmentEndRecord:
    return SegmentEndRecord(segment=segment, published=at, end=at, finished="done", consumer=consumer)


def found(known: KnownEnds) -> dict[int, int]:
    return {segment: record.end for segment, record in known.newest(SEGMENTS).items()}


def scanned(state: Path) -> dict[int, int]:
    """The same from the whole journal."""
    records = FolderJournal(state, writable=False).read()
    return {each.segment: each.end for each in records if isinstance(each, SegmentEndRecord) and each.consumer is None}


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_the_whole_journal_says(seed: int, tmp_path: Path) -> None:
    chance, state = random.Random(seed), tmp_path / "state"
    state.mkdir()
    known, writer = KnownEnds(NodeJournal(state)), FolderJournal(state)
    for number in range(60):
        segment = chance.choice(SEGMENTS)
        record: AnyRecord = end(segment, number, chance.choice([None, None, "c"]))
        writer.append([record] if chance.random() < 0.9 else [StartRecord(consumer="c", segment=number)])
        if chance.random() < 0.5:
            assert found(known) == scanned(state)
    assert found(known) == scanned(state)
    assert known.newest([99]) == {}


def test_a_state_that_was_replaced_has_its_own(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    known = KnownEnds(NodeJournal(state))
    FolderJournal(state).append([end(1, 10), end(2, 20), end(3, 30)])
    assert found(known) == {1: 10, 2: 20, 3: 30}
    for file in state.iterdir():
        file.unlink() if file.is_file() else shutil.rmtree(file)
    FolderJournal(state).append([end(2, 21)])
    assert found(known) == {2: 21}


def test_what_a_compaction_forgot_is_known_no_more(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    known, writer = KnownEnds(NodeJournal(state)), FolderJournal(state)
    writer.append([end(segment, 10 * segment) for segment in (1, 2, 3, 4)])
    assert found(known) == {1: 10, 2: 20, 3: 30, 4: 40}
    writer.compact(
        3, lambda records: [each for each in records if isinstance(each, SegmentEndRecord) and each.segment > 2]
    )
    writer.append([end(4, 41)])
    assert found(known) == scanned(state) == {3: 30, 4: 41}
