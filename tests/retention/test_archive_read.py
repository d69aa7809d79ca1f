"""Readers go on from an archive as if nothing had been cleaned: no row twice, none missing; what is lost is told."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tailer
from tailer.archive.manifest import MANIFEST, the_identity
from tailer.archive.segments import ArchivedSegments
from tailer.errors import UsageError
from tailer.options.tail import TailOptions
from tailer.planning import open_segments
from tailer.retention import clean as cleaning
from tailer.rows.choice import AnyBatch
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import SchemaRecord
from tailer.tail.follow import follow
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import Column, alter_payload, completed, insert_payload, segment_of
from tests.helpers.tails import open_tail
from tests.retention.archived import FIRST, TABLE, ArchivedLog, values


@pytest.fixture
def log(tmp_path: Path) -> ArchivedLog:
    """Segments 0 to 2 are in the archive alone, 3 and 4 in the folder."""
    made = ArchivedLog(tmp_path)
    made.put(0, 1, 2)
    assert made.clean_away() == [0, 1, 2]
    made.put(3, 4)
    return made


@pytest.fixture
def whole(log: ArchivedLog, tmp_path: Path) -> list[str]:
    """The lines of the same log where nothing was ever cleaned."""
    made = ArchivedLog(tmp_path / "whole")
    made.put(0, 1, 2, 3, 4)
    return made.follow(archive=False).lines


def test_rows_positions_and_ids_are_as_if_nothing_was_cleaned(log: ArchivedLog, whole: list[str]) -> None:
    assert values(log.follow(archive=False)) == [3, 4]
    result = log.follow()
    assert (result.code, result.lines) == (0, whole), result.err
    assert "may be missing" not in result.err


def test_every_reader_takes_it(log: ArchivedLog) -> None:
    def of(batches: Any) -> list[int]:
        return [json.loads(row)["v"] for batch in batches for row in batch.column("columns").to_pylist()]

    with tailer.open(log.folder, archive=log.where) as reader:
        assert of(reader.read()) == [0, 1, 2, 3, 4]
        assert of(reader.follow(once=True)) == [0, 1, 2, 3, 4]
        assert of(reader.read(f"{FIRST + 2}:0")) == [2, 3, 4]
        assert of(reader.read("latest")) == []
    with tailer.open(log.folder, archive=log.where, table="ks.t") as typed:
        assert [v for batch in typed.read() for v in batch.column("v").to_pylist()] == [0, 1, 2, 3, 4]
    with tailer.open(log.folder, archive=log.where, state=log.folder.parent / "private", consumer="p") as private:
        assert of(private.follow(once=True)) == [0, 1, 2, 3, 4]

    class Consumer:
        rows: list[int] = []  # noqa: RUF012

        def start(self, state: Any) -> None: ...

        def on_definitions(self, changes: Any) -> None: ...

        def on_changes(self, batch: Any) -> bool:
            self.rows += of([batch])
            return True

        def stop(self) -> None: ...

    tailer.run(log.folder, Consumer(), once=True, archive=log.where)
    assert Consumer.rows == [0, 1, 2, 3, 4]


def test_few_bytes_are_here_at_once_and_none_stay(
    log: ArchivedLog, whole: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(open_segments, "FETCHED_BYTES_MAX", 1)
    fetched: list[int] = []
    held: list[int] = []
    descriptor = ArchivedSegments.descriptor

    def counted(archive: ArchivedSegments, segment: int) -> int:
        held.append(sum(_is_open(each) for each in fetched))
        fetched.append(descriptor(archive, segment))
        return fetched[-1]

    monkeypatch.setattr(ArchivedSegments, "descriptor", counted)
    assert log.follow().lines == whole
    assert len(fetched) >= 3
    assert max(held) == 0, "one at a time"
    assert list((tmp_path / "temporary").iterdir()) == []


def _is_open(descriptor: int) -> bool:
    try:
        return os.fstat(descriptor).st_nlink == 0
    except OSError:
        return False


class _Killed(Exception):
    pass


class _Sink:
    """Takes rows until it is killed before a batch."""

    def __init__(self, batches: int) -> None:
        self.lines: list[str] = []
        self._left = batches

    def write(self, batch: AnyBatch) -> None:
        if self._left == 0:
            raise _Killed
        self._left -= 1
        self.lines += batch.json_lines().decode().splitlines()


def _run(log: ArchivedLog, sink: _Sink) -> None:
    options = TailOptions(consumer="c", archive=log.where, settle_seconds=0.0)
    with open_tail(log.folder, options) as tail:
        follow(tail, sink, once=True, say=lambda line: None)  # type: ignore[arg-type]


def test_killed_anywhere_and_started_again_each_row_comes_once(
    log: ArchivedLog, whole: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailer.tail.tail.STEP_BYTES", 1)
    state = log.folder.with_name("cdc_raw.cdc_tail")
    shutil.copytree(state, log.folder.parent / "before")
    for batches in range(6):
        first, rest = _Sink(batches), _Sink(-1)
        if batches < 5:
            with pytest.raises(_Killed):
                _run(log, first)
        else:
            _run(log, first)
        _run(log, rest)
        assert [*first.lines, *rest.lines] == whole
        shutil.rmtree(state)
        shutil.copytree(log.folder.parent / "before", state)


def test_it_is_archived_and_cleaned_under_a_run(tmp_path: Path) -> None:
    """Nobody holds it back: the run keeps no position."""
    log = ArchivedLog(tmp_path)
    log.put(0)
    assert log.clean_away() == [0]
    log.put(1, 2, 3)
    options = TailOptions(archive=log.where, settle_seconds=0.0)
    found = []
    with open_tail(log.folder, options) as tail:
        for _ in range(5):
            step = tail.step(1)
            assert step.error is None
            found += [line for task in step.tasks for batch in tail.read(task) for line in [batch.json_lines()]]
            tail.advance(step)
            if len(found) == 2:
                assert log.clean_away() == [1, 2, 3]
    assert [json.loads(line)["columns"]["v"] for line in found] == [0, 1, 2, 3]


def test_a_consumer_behind_what_was_taken_by_force_loses_nothing(tmp_path: Path) -> None:
    log = ArchivedLog(tmp_path)
    log.put(0)
    assert values(log.follow("--consumer", "c", archive=False)) == [0]
    log.put(1, 2)
    assert log.clean_away(force=True) == [0, 1, 2]
    log.put(3)
    assert log.follow("--consumer", "c", archive=False).code == 5
    result = log.follow("--consumer", "c")
    assert (result.code, values(result)) == (0, [1, 2, 3]), result.err
    assert values(log.follow("--consumer", "c", archive=False)) == []


def gap(tmp_path: Path) -> ArchivedLog:
    """Segment 2 was cleaned and never archived."""
    log = ArchivedLog(tmp_path)
    log.put(0, 1)
    log.clean_away()
    log.put(2)
    assert log.clean_away(archived=False) == [2]
    log.put(3)
    log.clean_away()
    log.put(4)
    return log


def test_what_was_cleaned_without_the_archive_is_a_loss(tmp_path: Path) -> None:
    log = gap(tmp_path)
    result = log.follow()
    assert (result.code, values(result)) == (5, [0, 1])
    assert f"{FIRST + 2}:0" in result.err
    assert "never archived" in result.err


def test_an_accepted_gap_is_told_once(tmp_path: Path) -> None:
    log = gap(tmp_path)
    first = log.follow("--consumer", "c", "--accept-loss")
    assert (first.code, values(first)) == (0, [0, 1, 3, 4]), first.err
    assert first.err.count("Changes are lost") == 1
    again = log.follow("--consumer", "c")
    assert (again.code, again.lines, "lost" in again.err) == (0, [], False)
    assert values(log.follow(f"--from={FIRST + 3}:0")) == [3, 4]


@pytest.mark.parametrize("what", ["cut", "other", "gone", "sidecar", "manifest"])
def test_what_is_damaged_is_a_loss_and_told_with_its_file(log: ArchivedLog, what: str) -> None:
    pattern = {"sidecar": "*.idx", "manifest": MANIFEST}.get(what, "*.log")
    path = log.archived_file(1, pattern)
    data = path.read_bytes()
    if what == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-9] if what != "other" else bytes([data[0] ^ 1]) + data[1:])
    result = log.follow()
    assert (result.code, values(result)) == (5, [0])
    assert f"{FIRST + 1}:0" in result.err
    assert "damaged" in result.err
    assert path.name in result.err
    accepted = log.follow("--accept-loss")
    assert (accepted.code, values(accepted)) == (0, [0, 2, 3, 4]), accepted.err
    assert accepted.err.count("Changes are lost") == 1
    path.write_bytes(data)
    assert values(log.follow()) == [0, 1, 2, 3, 4]


def test_a_manifest_of_a_later_version_is_refused(log: ArchivedLog) -> None:
    path = log.archived_file(1, MANIFEST)
    path.write_bytes(path.read_bytes().replace(b'"v": 1', b'"v": 2'))
    assert log.follow().code == 6


def test_a_start_at_a_time_reaches_into_it(tmp_path: Path) -> None:
    log = ArchivedLog(tmp_path)
    log.put(*range(6))
    for number in range(6):
        for file in log.folder.glob(f"*{FIRST + number}*"):
            os.utime(file, (1e9 + number * 3600, 1e9 + number * 3600))
    run_cli(["follow", log.folder, "--once", "--consumer", "c", "--until", f"{FIRST + 4}:0", "--output", "json"])
    assert cleaning.clean(
        log.folder, cleaning.CleanOptions(archive=log.store), ages=cleaning.Ages(0.0, 0.0), clock=lambda: 4e9
    ).logs

    def since(hours: float, *, archive: bool = True) -> list[int]:
        text = datetime.fromtimestamp(1e9 + hours * 3600, UTC).isoformat()
        return values(log.follow("--from", text, archive=archive))

    assert since(-5) == [0, 1, 2, 3, 4, 5]
    assert since(1.5) == [2, 3, 4, 5]
    assert since(2) == [2, 3, 4, 5], "what was written at the time itself is given"
    assert since(2.01) == [2, 3, 4, 5], "a mapped file's time lags behind"
    assert since(4.5) == [5]
    assert since(9) == []
    assert since(1.5, archive=False)[-1] == 5
    assert "may be missing" in log.follow("--from", "2001-01-01T00:00Z", archive=False).err
    assert log.follow("--from", "2001-01-01T00:00").code == 2, "whose clock?"
    sought = run_cli(["consumers", log.folder, "seek", "c", "2001-09-09T06:46:40Z"])
    assert f"{FIRST + 5}:0" in sought.out + sought.err
    with pytest.raises(UsageError, match="position"):
        list(tailer.open(log.folder).read(end="2001-09-09T06:46:40Z"))


def test_definitions_that_the_journal_forgot_come_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "FORGOTTEN_AT_LEAST", 1)
    log = ArchivedLog(tmp_path)
    log.put(0, 1)
    ts = 1_800_000_000_000_000
    altered = [alter_payload(TABLE, Column(f"w{n}", "regular", "int"), ts + n) for n in range(3)]
    writer = segment_of(FIRST + 2, [[*altered, insert_payload(TABLE, 2, "a", 2)]])
    log.log.put(writer, completed(writer))
    want = log.follow(archive=False).lines
    assert log.clean_away() == [0, 1, 2]
    log.put(3)
    assert log.clean_away() == [3]
    assert log.follow().lines[:3] == want
    assert log.follow("--consumer", "c").lines[:3] == want


def test_the_archive_alone_gives_all_of_it(log: ArchivedLog, whole: list[str]) -> None:
    assert log.clean_away() == [3, 4]
    assert log.follow().lines == whole, "with everything cleaned"
    shutil.rmtree(log.folder)
    shutil.rmtree(log.folder.with_name("cdc_raw.cdc_tail"))
    log.folder.mkdir()
    unknown = log.follow()
    assert (unknown.code, unknown.lines) == (0, []), "it may be another node's"
    assert "whose state is new" in unknown.err
    one = f"{log.where}/{the_identity(log.store)}"
    for more in ([], ["--consumer", "c"]):
        alone = run_cli(["follow", log.folder, "--once", "--output", "json", "--archive", one, *more])
        assert (alone.code, alone.lines) == (0, whole), alone.err
    state = log.folder.with_name("cdc_raw.cdc_tail") / "consumers" / "c.json"
    place = msgspec.json.decode(state.read_bytes())["nodes"]["local"]["offset"]
    assert place["id"] == the_identity(log.store), "positions of the log count here too"


def test_another_log_is_refused(log: ArchivedLog, tmp_path: Path) -> None:
    other = ArchivedLog(tmp_path / "other")
    other.put(0)
    other.clean_away()
    result = log.follow("--archive", f"{other.where}/{the_identity(other.store)}", archive=False)
    assert result.code == 6
    assert "another log" in result.err
    beside = log.follow("--archive", other.where, archive=False)
    assert (beside.code, values(beside)) == (0, [3, 4])
    assert "nothing of this log" in beside.err
    assert log.follow("--archive", f"{other.where}/{'0' * 16}", archive=False).code in (2, 6)


def test_a_consumer_that_stands_in_the_archive_is_one_like_others(log: ArchivedLog) -> None:
    """`clean` keeps the folder for it, and the commands that tell of it do."""
    stopped = log.follow("--consumer", "c", "--until", f"{FIRST + 1}:0")
    assert values(stopped) == [0]
    assert (
        cleaning.clean(
            log.folder, cleaning.CleanOptions(stopped=True), ages=cleaning.Ages(0.0, 0.0), clock=lambda: 4e9
        ).logs
        == []
    )
    told = run_cli(["status", log.folder, "--output", "json", "--stopped"])
    assert told.code == 0, told.err
    (consumer,) = json.loads(told.out)["consumers"]
    assert consumer["delivered"] == f"{FIRST + 1}:0"
    without = log.follow("--consumer", "c", archive=False)
    assert (without.code, values(without)) == (5, []), "told, not passed over"
    assert values(log.follow("--consumer", "c")) == [1, 2, 3, 4]


def test_without_what_the_journal_knew_nothing_is_guessed(log: ArchivedLog) -> None:
    (path,) = Path(log.where).rglob("journal-*.jsonl")
    path.write_bytes(path.read_bytes()[:-9])
    result = log.follow()
    assert (result.code, result.lines) == (4, [])
    assert path.name in result.err


def test_an_archive_that_is_not_there_yet_is_none(tmp_path: Path) -> None:
    log = ArchivedLog(tmp_path)
    log.put(0, 1)
    first = log.follow("--consumer", "c")
    assert (first.code, values(first)) == (0, [0, 1])
    assert "state is new" in first.err
    log.put(2)
    again = log.follow("--consumer", "c")
    assert (again.code, values(again)) == (0, [2])
    assert "has nothing of this log" in again.err


def test_a_definition_that_was_taken_back_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was given, archived, taken back, and the journal has forgotten it: nobody may find it again by reading."""
    monkeypatch.setattr(cleaning, "FORGOTTEN_AT_LEAST", 1)
    cql = tmp_path / "schema.cql"
    cql.write_text(
        f"CREATE TABLE ks.t (pk int, ck text, v int, PRIMARY KEY (pk, ck)) WITH ID = {TABLE.id} AND cdc = true;"
    )
    log = ArchivedLog(tmp_path)
    log.put(1, 2)
    assert values(log.follow("--schema", cql, "--consumer", "reads-all", archive=False)) == [1, 2]
    assert log.clean_away() == [1, 2]
    log.put(3)
    state = log.folder.with_name("cdc_raw.cdc_tail")
    (given,) = [r for r in FolderJournal(state).read() if isinstance(r, SchemaRecord)]
    FolderJournal(state).append_retract(given.n)
    assert run_cli(["follow", log.folder, "--once", "--consumer", "c", "--from", "latest"]).code == 0
    cleaning.clean(log.folder, cleaning.CleanOptions(), ages=cleaning.Ages(0.0, 0.0), clock=lambda: 4e9)
    assert not [r for r in FolderJournal(state, writable=False).read() if isinstance(r, SchemaRecord)]
    assert log.follow().code == 3
    assert values(log.follow("--schema", cql)) == [1, 2, 3]
