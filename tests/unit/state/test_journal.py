"""The journal file: numbers, durability, torn and damaged lines, several processes at once."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import CdcError, DefinitionError, RefusedError, SystemFailedError, UsageError
from tailer.position import Position
from tailer.state import folder_journal as journal_module
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import (
    AnyRecord,
    LossRecord,
    OptionsRecord,
    RetractRecord,
    SchemaRecord,
    SegmentEndRecord,
    SkipRecord,
    checks,
    decode,
    encode,
)
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset
from tests.unit.schema.made import ID_A, SIMPLE, create

SCHEMA = SchemaRecord(at=Position(7, 100), source="log", deltas=tuple(create("t", ID_A, 10, SIMPLE)))
END = SegmentEndRecord(segment=7, published=90, end=100, finished="completed")
RECORDS: list[AnyRecord] = [
    SCHEMA,
    END,
    RetractRecord(of=1),
    SkipRecord(consumer="c", at=Position(7, 12), reason="no definition", lost=30),
    LossRecord(consumer="c", start=Position(7, 12), end=Position(9, 0)),
    OptionsRecord(consumer="c", options={"tables": ["ks.*"], "decimals": "string"}),
]


def numbered(records: list[AnyRecord], start: int = 1) -> tuple[AnyRecord, ...]:
    return tuple(msgspec.structs.replace(record, n=start + at) for at, record in enumerate(records))


def test_every_kind_comes_back_from_the_file(tmp_path: Path) -> None:
    assert FolderJournal(tmp_path / "state").append(RECORDS) == [1, 2, 3, 4, 5, 6]
    journal = FolderJournal(tmp_path / "state")
    assert journal.read() == numbered(RECORDS)
    assert journal.retracted == {1}
    assert journal.read(upto=2) == numbered(RECORDS[:2])
    assert journal.segment_ends("anyone") == [numbered(RECORDS)[1]]


def test_a_line_is_a_checksum_and_compact_json_with_the_number_first(tmp_path: Path) -> None:
    FolderJournal(tmp_path).append([END, LossRecord(consumer="c", start=Position(7, 12), end=Position(9, 0))])
    lines = (tmp_path / "journal").read_bytes().splitlines()
    assert re.fullmatch(rb'{"n":0,"kind":"state","begin":1,"id":"[0-9a-f]{16}"}', lines[0][9:])
    body = b'{"n":1,"kind":"segment_end","begin":1,"segment":7,"published":90,"end":100,"finished":"completed"}'
    assert lines[1] == b"%08x " % crc32(body) + body
    assert lines[2][9:] == b'{"n":2,"kind":"loss","begin":1,"consumer":"c","from":[7,12],"to":[9,0]}'
    FolderJournal(tmp_path).append([RetractRecord(of=1)])
    assert (tmp_path / "journal").read_bytes().splitlines()[3][9:] == b'{"n":3,"kind":"retract","of":1}'


def test_an_equal_record_keeps_its_number_even_if_it_was_retracted(tmp_path: Path) -> None:
    journal = FolderJournal(tmp_path)
    again = SchemaRecord(at=SCHEMA.at, source="file again.cql", deltas=SCHEMA.deltas)
    elsewhere = SchemaRecord(at=Position(7, 101), source="log", deltas=SCHEMA.deltas)
    assert journal.append([SCHEMA]) == [1]
    journal.append([RetractRecord(of=1)])
    assert journal.append([again]) == [1]
    assert journal.append([elsewhere]) == [3]
    options = OptionsRecord(consumer="c", options={})
    assert journal.append([options, options, END, END]) == [4, 5, 6, 6]


def test_decisions_of_a_run_without_consumer_are_not_journalled(tmp_path: Path) -> None:
    journal = FolderJournal(tmp_path)
    journal.append_loss(None, Position(1, 0), Position(2, 0))
    journal.append_skip(None, Position(1, 0), DefinitionError("no definition"))
    assert journal.count == 0
    journal.append_skip("c", Position(1, 0), DefinitionError("no definition", found="a table id"), lost=9)
    assert journal.read()[0] == SkipRecord(
        n=1, consumer="c", at=Position(1, 0), reason="no definition: found a table id.", lost=9
    )


def test_an_end_that_rests_on_an_option_holds_for_its_consumer_alone(tmp_path: Path) -> None:
    journal = FolderJournal(tmp_path)
    own = SegmentEndRecord(segment=8, published=10, end=50, finished="stopped", consumer="c")
    journal.append([END, own])
    assert [record.segment for record in journal.segment_ends("c")] == [7, 8]
    assert [record.segment for record in journal.segment_ends("other")] == [7]


def test_a_reader_sees_what_another_process_appended_after_a_refresh(tmp_path: Path) -> None:
    reader, writer = FolderJournal(tmp_path), FolderJournal(tmp_path)
    writer.append([END])
    assert reader.count == 0
    assert reader.read(upto=1) == numbered([END])
    writer.append([SCHEMA])
    reader.refresh()
    assert reader.count == 2
    assert reader.append([RetractRecord(of=2)]) == [3]


def test_a_refresh_opens_nothing_until_somebody_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = FolderJournal(tmp_path), FolderJournal(tmp_path)
    writer.append([END])
    for _ in range(2):
        reader.refresh()
    opened: list[Path] = []
    genuine = journal_module.open_to_read
    monkeypatch.setattr(journal_module, "open_to_read", lambda path: opened.append(path) or genuine(path))
    reader.refresh()
    assert opened == []
    writer.append([SCHEMA])
    reader.refresh()
    assert (opened, reader.count) == ([tmp_path / "journal"], 2)
    writer.compact(1, lambda records: [record for record in records if record.n == 2])
    reader.refresh()
    assert (reader.base, [record.n for record in reader.read()]) == (writer.base, [2])


def test_more_records_than_there_are_is_refused(tmp_path: Path) -> None:
    FolderJournal(tmp_path).append([END])
    with pytest.raises(RefusedError, match="expected 2 records, found 1"):
        FolderJournal(tmp_path).read(upto=2)
    (tmp_path / "journal").unlink()
    with pytest.raises(RefusedError, match="expected 1 records, found 0"):
        FolderJournal(tmp_path).read(upto=1)


def test_a_journal_deleted_and_made_again_is_read_anew(tmp_path: Path) -> None:
    journal = FolderJournal(tmp_path)
    journal.append(RECORDS)
    (tmp_path / "journal").unlink()
    journal.refresh()
    assert journal.count == 0
    assert journal.append([END]) == [1]
    FolderJournal(tmp_path).append([SCHEMA])
    journal.refresh()
    assert journal.count == 2


def test_read_only_makes_nothing_and_keeps_its_own_records_in_memory(tmp_path: Path) -> None:
    journal = FolderJournal(tmp_path / "absent", writable=False)
    assert journal.append([END, SCHEMA, END]) == [1, 2, 1]
    assert journal.count == 2
    assert not (tmp_path / "absent").exists()
    FolderJournal(tmp_path / "there").append([END])
    over = FolderJournal(tmp_path / "there", writable=False)
    before = (tmp_path / "there" / "journal").read_bytes()
    assert over.append([END, SCHEMA]) == [1, 2]
    over.refresh()
    assert over.read() == numbered([END, SCHEMA])
    assert (tmp_path / "there" / "journal").read_bytes() == before


@pytest.mark.parametrize(
    "tear",
    [
        lambda data: data[:-1],
        lambda data: data[:-40],
        lambda data: data + b"0123",
        lambda data: data + b"\0" * 300,
        lambda data: data[:-30] + b"\0" * 29 + b"\n",
    ],
    ids=["newline", "half a line", "a few bytes", "zeros", "a hole"],
)
def test_a_torn_last_line_is_left_out_and_cut_by_the_next_writer(
    tmp_path: Path, tear: Callable[[bytes], bytes]
) -> None:
    FolderJournal(tmp_path).append([SCHEMA, END])
    file = tmp_path / "journal"
    whole = file.read_bytes()
    file.write_bytes(tear(whole))
    torn = file.read_bytes()
    kept = 2 if torn.startswith(whole) else 1
    assert FolderJournal(tmp_path, writable=False).count == kept
    assert file.read_bytes() == torn, "a reader changes nothing"
    last = RetractRecord(of=1)
    assert FolderJournal(tmp_path).append([last]) == [kept + 1]
    both: list[AnyRecord] = [SCHEMA, END]
    assert FolderJournal(tmp_path).read() == numbered([*both[:kept], last])


@pytest.mark.parametrize("lost", [(1,), (0,), (0, 2), (1, 2), (0, 1, 2, 3)])
def test_an_append_that_was_torn_in_any_of_its_lines_never_was(tmp_path: Path, lost: tuple[int, ...]) -> None:
    """A disk writes the blocks of one append in any order."""
    FolderJournal(tmp_path).append([SCHEMA])
    file = tmp_path / "journal"
    before = file.read_bytes()
    more: list[AnyRecord] = [SegmentEndRecord(segment=at, published=0, end=1, finished="completed") for at in range(4)]
    FolderJournal(tmp_path).append(more)
    lines = file.read_bytes()[len(before) :].splitlines(keepends=True)
    torn = [b"\0" * (len(line) - 1) + b"\n" if at in lost else line for at, line in enumerate(lines)]
    file.write_bytes(before + b"".join(torn))
    whole = min(lost)
    assert FolderJournal(tmp_path, writable=False).read() == numbered([SCHEMA, *more[:whole]])
    assert FolderJournal(tmp_path).append([END]) == [2 + whole]
    assert FolderJournal(tmp_path).read() == numbered([SCHEMA, *more[:whole], END])


def test_what_another_append_stands_behind_is_not_torn(tmp_path: Path) -> None:
    more: list[AnyRecord] = [SegmentEndRecord(segment=at, published=0, end=1, finished="completed") for at in range(4)]
    FolderJournal(tmp_path).append(more[:2])
    FolderJournal(tmp_path).append(more[2:])
    file = tmp_path / "journal"
    lines = file.read_bytes().splitlines(keepends=True)
    for at in range(3):
        damaged = [b"x" + line[1:] if number == at else line for number, line in enumerate(lines)]
        file.write_bytes(b"".join(damaged))
        with pytest.raises(RefusedError, match="the journal is damaged"):
            FolderJournal(tmp_path)


class TestId:
    def test_the_first_writer_gives_it_and_it_stays(self, tmp_path: Path) -> None:
        reader = FolderJournal(tmp_path, writable=False)
        reader.identify()
        assert reader.id == ""
        assert not (tmp_path / "journal").exists(), "a reader makes none"
        first = FolderJournal(tmp_path)
        first.identify()
        assert re.fullmatch("[0-9a-f]{16}", first.id)
        assert (first.count, first.read()) == (0, ()), "it has no number"
        other = FolderJournal(tmp_path)
        other.identify()
        other.append([END])
        reader.refresh()
        assert {first.id, other.id, reader.id, FolderJournal(tmp_path).id} == {first.id}
        assert (tmp_path / "journal").read_bytes().count(b'"state"') == 1

    def test_a_state_of_an_earlier_version_gets_one_with_the_next_append(self, tmp_path: Path) -> None:
        (tmp_path / "journal").write_bytes(b"".join(map(encode, numbered([SCHEMA, END]))))
        assert FolderJournal(tmp_path).id == ""
        FolderJournal(tmp_path, writable=False).check(NodeOffset(2, 7, 0))
        assert FolderJournal(tmp_path).append([RetractRecord(of=1)]) == [3]
        assert FolderJournal(tmp_path).id
        assert FolderJournal(tmp_path).count == 3

    def test_an_offset_of_another_state_is_refused_and_one_without_is_taken(self, tmp_path: Path) -> None:
        mine, other = FolderJournal(tmp_path / "mine"), FolderJournal(tmp_path / "other")
        for journal in (mine, other):
            journal.append([END])
        offset = mine.stamped(NodeOffset(0, 7, 100, False))
        assert offset == NodeOffset(1, 7, 100, False, (), mine.id)
        mine.check(offset)
        mine.check(NodeOffset(1, 7, 100, False))
        with pytest.raises(RefusedError, match="of another state folder") as caught:
            other.check(offset)
        assert (caught.value.expected, caught.value.found) == (f"one of state {other.id}", f"one of state {mine.id}")

    def test_a_compaction_keeps_it_and_a_journal_made_anew_has_another(self, tmp_path: Path) -> None:
        journal = FolderJournal(tmp_path)
        journal.append([END])
        before = journal.id
        journal.compact(9, lambda records: [])
        assert journal.id == FolderJournal(tmp_path).id == before
        journal.append([SCHEMA])
        assert FolderJournal(tmp_path).id == before
        for file in tmp_path.iterdir():
            file.unlink()
        FolderJournal(tmp_path).append([END])
        journal.refresh()
        assert journal.id not in ("", before)


def test_a_damaged_line_in_the_middle_is_corruption(tmp_path: Path) -> None:
    FolderJournal(tmp_path).append([SCHEMA, END, END])
    FolderJournal(tmp_path).append([RetractRecord(of=1)])
    file = tmp_path / "journal"
    data = bytearray(file.read_bytes())
    data[20] ^= 1
    file.write_bytes(data)
    with pytest.raises(RefusedError, match=r"the journal is damaged \(.*journal, record 1\)"):
        FolderJournal(tmp_path)


def test_a_missing_line_is_corruption(tmp_path: Path) -> None:
    FolderJournal(tmp_path).append([SCHEMA, END, RetractRecord(of=1)])
    file = tmp_path / "journal"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1] + lines[3])
    with pytest.raises(RefusedError, match="expected record 2, found record 3"):
        FolderJournal(tmp_path)


def test_a_kind_from_a_newer_version_is_told_as_that(tmp_path: Path) -> None:
    body = b'{"n":1,"kind":"novelty"}'
    (tmp_path / "journal").write_bytes(b"%08x %s\n" % (crc32(body), body))
    with pytest.raises(RefusedError, match=r"does not know.*novelty.*newer version"):
        FolderJournal(tmp_path)


@given(st.binary(max_size=60), st.integers(0, 400), st.booleans())
def test_any_bytes_give_records_or_a_documented_error(made: bytes, at: int, insert: bool) -> None:
    data = b"".join(encode(record) for record in numbered([END, RetractRecord(of=1), END]))
    data = data[:at] + made + data[at if insert else at + len(made) :]
    for line in data.split(b"\n"):
        if checks(line):
            try:
                decode(line, "journal")
            except CdcError as error:
                assert isinstance(error, RefusedError)  # noqa: PT017


def append_many(folder: Path, who: int, count: int) -> None:
    journal = FolderJournal(folder)
    for at in range(count):
        whose = f"process {who}"
        journal.append([SegmentEndRecord(segment=at, published=0, end=who, finished="completed", consumer=whose)])


def test_processes_appending_at_once_share_one_numbering(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=append_many, args=(tmp_path, who, 25)) for who in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    records = FolderJournal(tmp_path).read()
    assert [record.n for record in records] == list(range(1, 101))
    ends = [record for record in records if isinstance(record, SegmentEndRecord)]
    for who in range(4):
        assert [end.segment for end in ends if end.end == who] == list(range(25))


@pytest.mark.parametrize("broken", ["write", "fsync"])
def test_a_disk_that_refuses_journals_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    journal = FolderJournal(tmp_path)
    journal.append([SCHEMA])
    before = (tmp_path / "journal").read_bytes()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, broken, refuse)
        with pytest.raises(SystemFailedError, match="No space left"):
            journal.append([END])
    assert (tmp_path / "journal").read_bytes() == before
    assert journal.append([END]) == [2]
    assert FolderJournal(tmp_path).read() == numbered([SCHEMA, END])


def test_a_write_is_synced_before_it_counts_and_so_is_the_folder_of_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def note(descriptor: int) -> None:
        synced.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    journal = FolderJournal(tmp_path / "state")
    journal.append([END])
    assert synced == ["folder", "folder", "file"]
    synced.clear()
    journal.append([SCHEMA])
    assert synced == ["file"]
    FolderJournal(tmp_path / "state")
    assert synced == ["file", "file"], "what somebody else wrote may not be durable yet"


@pytest.mark.parametrize(("number", "why"), [(errno.EACCES, "no permission for user"), (errno.EROFS, "Read-only")])
def test_a_state_folder_that_cannot_be_made_names_it_and_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(UsageError, match=f"{why}.*{re.escape(str(tmp_path))}/state.*--state DIR"):
        FolderJournal(tmp_path / "state").append([END])


def test_the_state_folder_is_a_function_of_the_real_log_folder(tmp_path: Path) -> None:
    (tmp_path / "data" / "cdc_raw").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "data" / "cdc_raw")
    assert state_folder(tmp_path / "link") == tmp_path.resolve() / "data" / "cdc_raw.cdc_tail"
    assert state_folder(tmp_path / "link", Path("/elsewhere")) == Path("/elsewhere")


def test_one_thread_reads_while_another_appends(tmp_path: Path) -> None:
    journal, stop = FolderJournal(tmp_path), threading.Event()
    failed: list[CdcError] = []

    def read() -> None:
        while not stop.is_set():
            try:
                journal.catch_up()
            except CdcError as error:
                failed.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for number in range(300):
            record = LossRecord(consumer="c", start=Position(7, number), end=Position(9, 0))
            assert journal.append([record]) == [number + 1]
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        for reader in readers:
            reader.join()
    assert failed == []
    assert FolderJournal(tmp_path).count == journal.count == 300
