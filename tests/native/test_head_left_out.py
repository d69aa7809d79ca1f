"""A sidecar's `min`: nothing before it is read but what definitions need, and no row changes for it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.errors import CdcError, DefinitionError
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import BatchTasks
from tailer.position import Position
from tailer.reading.reader import Reader
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import SourceSegments
from tailer.segments.source import FolderSource
from tailer.state.folder_journal import FolderJournal
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset
from tests.helpers.cli import run_cli
from tests.helpers.logs.codecs import FORMATS, PLAIN, Format
from tests.helpers.logs.native import NativeWriter, commit, rollback_to, savepoint
from tests.helpers.tails import open_tail
from tests.native.logs import NAME, NOTES, ORDERS, as_rows, folder_of, put, rows_of, short

WIDE = random.Random(1).randbytes(75_000).hex()
SECTIONS = 10
SEGMENT = 7
BEHIND = [(100, "captured"), (102, "of a transaction")]


class Read:
    """What was read of segments, by the place in the file."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, int]] = []

    @property
    def bytes(self) -> int:
        return sum(length for _, length in self.parts)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    told = Read()
    plain = SegmentFile.read

    def counting(self: SegmentFile, at: int, length: int) -> bytes:
        data = plain(self, at, length)
        told.parts.append((at, len(data)))
        return data

    monkeypatch.setattr(SegmentFile, "read", counting)
    return told


def written(form: Format = PLAIN, *, behind: bool = True, unknown: bool = False) -> NativeWriter:
    """A head of 1.5 MB of a table that does not capture, then rows of one that does.

    `behind`: rows of the first stand among those too, also in a transaction.
    """
    made = NativeWriter(SEGMENT, form=form)
    notes = [] if unknown else [NOTES.definition]
    made.section([*notes, put(0, "first", table=NOTES)])
    for number in range(SECTIONS):
        made.section([put(number, WIDE, table=NOTES)])
    made.first = made.frame.end
    made.section([ORDERS.definition, put(100, "captured")])
    also = [put(101, "not captured", table=NOTES)] if behind else []
    first = (SEGMENT, made.frame.end + (0 if not also else len(also[0]) + 12) + 8)
    voided = [savepoint(1, "s"), put(103, "void", txn=1)] if behind else []
    place = made.section([*also, put(102, "of a transaction", txn=1), *voided], restart=first)
    ends = [commit(1, (SEGMENT, place.entries[len(also)].start), 1)]
    if behind:
        ends.insert(0, rollback_to(1, (SEGMENT, place.entries[2].start)))
    made.section(ends)
    return made


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [each[1:3] for each in short(rows)]


@pytest.mark.parametrize("form", ["plain", "lz4"])
def test_nothing_of_the_head_is_read_where_no_row_needs_it(tmp_path: Path, form: str, read: Read) -> None:
    made = written(FORMATS[form], behind=False)
    folder = folder_of(tmp_path, made)
    assert told(rows_of(folder)) == BEHIND
    begins = made.first if form == "plain" else made.frame.sections[-3].at
    assert begins is not None
    # The header, and of compressed sections what a marker says.
    assert all(at == 0 or at >= begins or length <= 4096 for at, length in read.parts)


def test_the_head_is_read_up_to_the_definition_that_a_row_needs(tmp_path: Path, read: Read) -> None:
    folder = folder_of(tmp_path, written())
    assert told(rows_of(folder)) == BEHIND
    assert 0 < read.bytes < 600_000


def test_it_is_the_same_with_a_consumer_that_begins_again_at_each_section(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, written())
    found: list[dict[str, Any]] = []
    while True:
        with open_tail(folder, TailOptions(consumer="c")) as tail:
            step = tail.step(1)
            for task in step.tasks:
                found += as_rows(batch.to_arrow() for batch in tail.read(task))
            tail.advance(step)
            tail.save()
        if not step.moved:
            break
    assert told(found) == BEHIND
    assert short(found)[1][5] == f"{NAME}-1"


def test_who_wants_the_head_searches_it_though_another_left_it_out(tmp_path: Path, read: Read) -> None:
    """And who leaves it out searches nothing again, whoever was first."""
    folder = folder_of(tmp_path, written())

    def taken(consumer: str, **options: Any) -> list[tuple[Any, ...]]:
        log = tailer.open(folder, consumer=consumer, **options)
        return told(as_rows(log.follow(once=True)))

    assert taken("captured") == BEHIND
    assert [key for key, _ in taken("named", tables=["shop.notes"])] == [0, *range(SECTIONS), 101]
    for consumer, options in (("captured", {}), ("named", {"tables": ["shop.notes"]})):
        read.parts.clear()
        assert taken(consumer, **options) == []
        # Headers alone.
        assert read.bytes < 5_000


def test_a_key_that_is_known_is_not_looked_for(tmp_path: Path, read: Read) -> None:
    folder = folder_of(tmp_path, written())
    assert told(as_rows(tailer.open(folder).follow(once=True))) == BEHIND
    read.parts.clear()
    assert told(rows_of(folder)) == BEHIND
    assert 0 < read.bytes < 100_000


def test_tables_that_are_named_have_their_rows_of_the_head(tmp_path: Path) -> None:
    found = told(rows_of(folder_of(tmp_path, written()), tables=["shop.notes"]))
    assert [key for key, _ in found] == [0, *range(SECTIONS), 101]
    globbed = told(rows_of(folder_of(tmp_path / "globbed", written()), tables=["shop.*"]))
    assert globbed == BEHIND


def test_a_batch_between_two_offsets_is_read_again_without_the_head(tmp_path: Path, read: Read) -> None:
    folder = folder_of(tmp_path, written())
    with open_tail(folder, TailOptions(consumer="c")) as tail:
        before = tail.offset
        after = tail.step().offset
    read.parts.clear()
    file = SegmentFile(next(folder.glob("*.log")), SEGMENT)
    batches = BatchTasks("local", FolderJournal(state_folder(folder), writable=False), "c", lambda segment: file)
    tasks = [task for task, _ in batches.tasks(before, after)]

    def refuse(at: Position, error: CdcError, data: bytes) -> None:
        raise error

    segments = SourceSegments(FolderSource(folder))
    rows = [batch.to_arrow() for task in tasks for batch in Reader().read(task, file, refuse, segments)]
    assert told(as_rows(rows)) == BEHIND
    assert 0 < read.bytes < 100_000
    # Without the sidecar nothing says what may be left out: more is read, and the rows are the same.
    next(folder.glob("*.idx")).unlink()
    (whole, _), *_ = batches.tasks(before, after)
    assert whole.span.start < (written().first or 0)
    assert told(as_rows(batch.to_arrow() for batch in Reader().read(whole, file, refuse, segments))) == BEHIND


def test_a_min_at_which_no_section_begins_leaves_nothing_out(tmp_path: Path) -> None:
    made = written()
    assert made.first is not None
    made.first += 3
    assert told(rows_of(folder_of(tmp_path, made))) == BEHIND


def test_a_key_that_nothing_defines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as refused:
        rows_of(folder_of(tmp_path, written(unknown=True)))
    assert refused.value.at is not None
    assert refused.value.at.offset >= (written(unknown=True).first or 0)


def test_damage_in_the_head_hides_no_captured_row(tmp_path: Path) -> None:
    made = written(behind=False)
    made.frame.data[300_000] ^= 1
    folder = folder_of(tmp_path, made)
    assert told(rows_of(folder)) == BEHIND
    assert run_cli(["verify", folder]).code != 0


def test_a_growing_segment_is_followed_from_its_min(tmp_path: Path, read: Read) -> None:
    made = written()
    folder = folder_of(tmp_path, made, live=True)
    with open_tail(folder, TailOptions()) as tail:
        step = tail.step()
        assert step.offset == NodeOffset(step.offset.j, SEGMENT, made.frame.end, False, (), step.offset.id)
        assert told(as_rows(batch.to_arrow() for task in step.tasks for batch in tail.read(task))) == BEHIND
    assert 0 < read.bytes < 600_000
