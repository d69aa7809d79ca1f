"""The journal compacted: numbers and gaps, what others see meanwhile, killed at any call, the floor, damage."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import msgspec
import pytest

from tailer.errors import RefusedError, UsageError
from tailer.position import Position
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal import Journal
from tailer.state.journal_base import FILE_NAME, Base
from tailer.state.journal_records import AnyRecord, OptionsRecord, RetractRecord, SchemaRecord, SegmentEndRecord
from tailer.state.offset import NodeOffset
from tests.retention.killed import Killed, killed_at
from tests.unit.schema.made import ID_A, SIMPLE, create

SCHEMA = SchemaRecord(at=(7, 100), source="log", deltas=tuple(create("t", ID_A, 10, SIMPLE)))  # type: ignore[arg-type]


def end(segment: int) -> SegmentEndRecord:
    return SegmentEndRecord(segment=segment, published=90, end=100, finished="completed")


def from_segment(first: int) -> Callable[[Sequence[AnyRecord]], Sequence[AnyRecord]]:
    return lambda records: [r for r in records if not isinstance(r, SegmentEndRecord) or r.segment >= first]


def numbers(journal: Journal) -> list[int]:
    return [record.n for record in journal.read()]


@pytest.fixture
def ten(tmp_path: Path) -> Journal:
    """Ends of segments 1 to 9 and a definition, number 5."""
    journal = FolderJournal(tmp_path)
    journal.append([*map(end, range(1, 5)), SCHEMA, *map(end, range(5, 10))])
    return journal


def test_what_is_left_keeps_its_numbers_and_the_journal_goes_on_behind_the_compaction_s_own(
    tmp_path: Path, ten: Journal
) -> None:
    base = ten.compact(8, from_segment(8))
    assert base is not None
    assert msgspec.structs.replace(base, id="") == Base(upto=11, segment=8, j=8, records=3)
    assert len(base.id) == 16
    for journal in (ten, FolderJournal(tmp_path), FolderJournal(tmp_path, writable=False)):
        assert (numbers(journal), journal.count) == ([5, 9, 10], 11)
    assert ten.append([end(10), end(9)]) == [12, 10], "what is known keeps its number"
    assert numbers(FolderJournal(tmp_path)) == [5, 9, 10, 12]
    assert [record.n for record in FolderJournal(tmp_path).read(upto=10, after=5)] == [9, 10]
    again = ten.compact(10, from_segment(10))
    assert again is not None
    assert msgspec.structs.replace(again, id=base.id) == Base(id=base.id, upto=13, segment=10, j=10, records=2)
    assert again.id == base.id


def test_nothing_is_written_where_too_little_goes(tmp_path: Path, ten: Journal) -> None:
    before = (tmp_path / "journal").read_bytes()
    assert ten.compact(4, from_segment(4), least=4) is None
    assert ten.compact(1, from_segment(1)) is None
    assert (tmp_path / "journal").read_bytes() == before
    assert not (tmp_path / FILE_NAME).exists()
    assert ten.compact(4, from_segment(4), least=3) is not None


def test_a_reader_that_is_behind_sees_what_is_left_and_what_came_since(tmp_path: Path, ten: Journal) -> None:
    behind, level = FolderJournal(tmp_path, writable=False), FolderJournal(tmp_path)
    ten.append([end(10)])
    level.refresh()
    ten.compact(9, from_segment(9))
    ten.append([end(11), end(12)])
    for reader in (behind, level):
        reader.refresh()
        assert (numbers(reader), reader.count) == ([5, 10, 11, 13, 14], 14)
    assert level.append([end(13)]) == [15]
    ten.refresh()
    assert ten.count == 15


def test_who_reads_while_the_file_is_emptied_and_grows_again_reads_anew(
    tmp_path: Path, ten: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst moment: between the look at the base and the read, by somebody who had read half of the old file."""
    reader = FolderJournal(tmp_path, writable=False)
    ten.append([end(10)])
    real = os.pread
    done: list[bool] = []

    def pread(descriptor: int, size: int, offset: int) -> bytes:
        if not done:
            done.append(True)
            ten.compact(9, from_segment(9))
            ten.append([end(number) for number in range(11, 40)])
        return real(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", pread)
    reader.refresh()
    assert done
    assert numbers(reader) == [5, 10, 11, *range(13, 42)]


@pytest.mark.parametrize("moment", range(6))
def test_killed_at_any_call_it_has_the_old_records_or_the_new_ones(tmp_path: Path, ten: Journal, moment: int) -> None:
    before = ten.read()
    with killed_at(moment) as happened:
        try:
            ten.compact(8, from_segment(8))
        except Killed:
            assert len(happened) == moment
    after = FolderJournal(tmp_path, writable=False)
    assert after.read() in (before, tuple(from_segment(8)(before))), happened
    fresh = FolderJournal(tmp_path)
    (number,) = fresh.append([end(10)])
    assert number in (11, 12)
    assert [*numbers(FolderJournal(tmp_path))] == [*(record.n for record in after.read()), number]
    fresh.compact(9, from_segment(9))
    assert numbers(FolderJournal(tmp_path)) == [5, 10, number]


@pytest.mark.parametrize("kept", [0, 40, None])
def test_the_power_may_go_when_the_file_is_emptied_and_written_again(tmp_path: Path, kept: int | None) -> None:
    """The write is on the disk, whole or the first bytes of it, and what it was shortened by is there again."""
    journal = FolderJournal(tmp_path)
    for segment in range(1, 11):
        journal.append([end(segment)])
    path = tmp_path / "journal"
    before = path.read_bytes()
    journal.compact(8, from_segment(8))
    written = path.read_bytes()[:kept]
    path.write_bytes(written + before[len(written) :])
    for journal in (FolderJournal(tmp_path, writable=False), FolderJournal(tmp_path)):
        assert (numbers(journal), journal.count) == ([8, 9, 10], 11)
    assert FolderJournal(tmp_path).append([end(11)]) == [12]
    assert numbers(FolderJournal(tmp_path)) == [8, 9, 10, 12]


def test_offsets_from_before_are_good_where_nothing_is_missing_and_refused_elsewhere(ten: Journal) -> None:
    early = NodeOffset(j=8, s=7, o=0, done=False)
    ten.check(early)
    ten.compact(8, from_segment(8))
    for good in (NodeOffset(8, 8, 0), NodeOffset(10, 9, 50), NodeOffset(11, 3, 0), NodeOffset(11, 0, 0)):
        ten.check(good)
    bad = (early, NodeOffset(7, 9, 0), NodeOffset(10, 0, 0), NodeOffset(10, 9, 0, True, ((7, 0),)))
    for offset in bad:
        with pytest.raises(RefusedError, match="older than what the journal still knows"):
            ten.check(offset)
    with pytest.raises(RefusedError, match="shorter than the position given"):
        ten.check(NodeOffset(12, 9, 0))


def test_a_record_that_is_gone_cannot_be_retracted(ten: Journal) -> None:
    ten.append([OptionsRecord(consumer="c", options={})])
    ten.compact(9, lambda records: [r for r in records if isinstance(r, OptionsRecord)])
    with pytest.raises(UsageError, match="record 5 cannot be retracted"):
        ten.append_retract(5)


def test_a_definition_of_the_log_whose_past_is_gone_cannot_be_retracted(ten: Journal) -> None:
    """What it took the place of may be forgotten, and definitions older than that would count again."""
    given = msgspec.structs.replace(SCHEMA, source="server h", at=Position(6, 0))
    ahead = msgspec.structs.replace(SCHEMA, at=Position(8, 100))
    assert ten.append([given, ahead]) == [11, 12]
    ten.compact(8, from_segment(8))
    with pytest.raises(UsageError, match="record 5 cannot be retracted: what held before it is forgotten"):
        ten.append_retract(5)
    assert [ten.append_retract(number) for number in (11, 12)] == [14, 15]


def test_retracted_numbers_come_back_from_the_base(tmp_path: Path, ten: Journal) -> None:
    ten.append_retract(5)
    ten.compact(9, from_segment(9))
    assert FolderJournal(tmp_path).retracted == {5}
    assert [record for record in FolderJournal(tmp_path).read() if isinstance(record, RetractRecord)]


@pytest.mark.parametrize(
    ("damage", "error", "told"),
    [
        (lambda data: data[:40] + b"X" + data[41:], RefusedError, "line 1"),
        (lambda data: data[:-5], RefusedError, "line 4"),
        (lambda data: b"\n".join(data.split(b"\n")[:-2]) + b"\n", RefusedError, "expected 3 records"),
        (lambda data: b"", RefusedError, "line 1"),
        (lambda data: line(b'{"v":2,"new":[]}'), RefusedError, "expected 1, found 2"),
        (lambda data: line(b'{"v":1,"upto":"x"}'), RefusedError, "line 1"),
    ],
    ids=["a byte", "cut", "a record", "empty", "newer", "shape"],
)
def test_a_damaged_base_is_an_error_and_a_newer_one_is_told_as_that(
    tmp_path: Path, ten: Journal, damage: Callable[[bytes], bytes], error: type[Exception], told: str
) -> None:
    ten.compact(8, from_segment(8))
    file = tmp_path / FILE_NAME
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(error, match=told):
        FolderJournal(tmp_path)


def test_a_base_that_is_missing_is_refused(tmp_path: Path, ten: Journal) -> None:
    ten.compact(8, from_segment(8))
    (tmp_path / FILE_NAME).unlink()
    for again in (ten.refresh, lambda: ten.append([end(10)]), lambda: FolderJournal(tmp_path)):
        with pytest.raises(RefusedError, match=r"expected record 1, found record 11 and no journal\.base"):
            again()


def line(body: bytes) -> bytes:
    return b"%08x %s\n" % (crc32(body), body)


def append_many(folder: Path, who: int, count: int) -> None:
    journal = FolderJournal(folder)
    for at in range(count):
        journal.append([SegmentEndRecord(segment=at, published=0, end=who, finished="completed", consumer=str(who))])


def compact_often(folder: Path, times: int) -> None:
    journal = FolderJournal(folder)
    for _ in range(times):
        journal.compact(0, lambda records: [r for r in records if r.n % 3])


def test_appenders_beside_compactions_lose_nothing_that_was_to_stay(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=append_many, args=(tmp_path, who, 60)) for who in range(2)]
    workers.append(context.Process(target=compact_often, args=(tmp_path, 30)))
    for worker in workers:
        worker.start()
    reader = FolderJournal(tmp_path, writable=False)
    seen: dict[int, AnyRecord] = {}
    while any(worker.is_alive() for worker in workers):
        reader.refresh()
        for record in reader.read():
            assert seen.setdefault(record.n, record) == record, "a number is of one record"
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    FolderJournal(tmp_path).compact(0, lambda records: [r for r in records if r.n % 3])
    last = FolderJournal(tmp_path)
    kept = {record.n for record in last.read()}
    seen.update((record.n, record) for record in last.read())
    assert all(n in kept for n in seen if n % 3)
    for who in range(2):
        mine = [r.segment for r in last.read() if isinstance(r, SegmentEndRecord) and r.end == who]
        assert mine == sorted(set(mine)), "in order, each once"


def test_who_read_before_a_compaction_that_was_killed_knows_its_number_when_asked_for_it(
    tmp_path: Path, ten: Journal
) -> None:
    other = FolderJournal(tmp_path)
    # Only a second look finds that there was nothing more, and remembers so.
    other.refresh()
    with killed_at(2), suppress(Killed):
        ten.compact(8, from_segment(8))
    fresh = FolderJournal(tmp_path)
    assert (fresh.count, other.count) == (11, 10), "the base is there, and nothing was written behind it"
    other.require(11)
    assert other.count == 11
    with pytest.raises(RefusedError, match="shorter"):
        other.require(12)
