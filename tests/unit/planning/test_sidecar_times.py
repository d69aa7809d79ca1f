"""A start by time: from the section that was durable then, by what the state keeps of sidecars, else by the files."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.errors import UsageError
from tailer.options.tail import TailOptions
from tailer.options.to_spark import parse_options
from tailer.retention.forget import Floor, wanted
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import TimesRecord
from tailer.state.log_folder import state_folder
from tailer.tail.tail import Tail
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.tails import tail_parts

ONE = 1_700_000_000_000
BEGUN = 1_790_000_000.0
EVERY = 20.0
SECTIONS = 6
TABLE = simple_table("ks", "t")


def at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


class Server:
    """Writes a section each twenty seconds, and a new segment now and then; `now` is its clock."""

    def __init__(self, folder: Path) -> None:
        self.log = LogFolder(folder)
        self.now = BEGUN
        self._key = 0

    def section(self, writer: SegmentWriter, *first: bytes, sidecar: Any = live) -> None:
        writer.section([*first, insert_payload(TABLE, self._key, "a", 10)])
        self._key += 1
        self.put(writer, sidecar)

    def put(self, writer: SegmentWriter, sidecar: Any) -> None:
        log = self.log.put(writer, sidecar(writer))
        for file in (log, self.log.path / writer.sidecar_name):
            os.utime(file, (self.now, self.now))


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path / "cdc_raw")


def followed(server: Server, consumer: str | None = "c", *, before_end: int = 0) -> Path:
    """A log of two segments that was followed while it was written: keys 0 to 5, then 6 to 11, one a section."""
    folder = server.log.path
    parts = tail_parts(folder, TailOptions(consumer=consumer), wall=lambda: server.now)
    with Tail(parts) as tail:

        def look() -> None:
            while (step := tail.step()).brings:
                tail.advance(step)
                tail.save()

        for number in range(2):
            writer = segment_of(ONE + number, [[create_payload(TABLE)]])
            for _ in range(SECTIONS):
                server.section(writer)
                look()
                server.now += EVERY
            server.put(writer, completed if number == 0 else live)
            look()
        # It went on a while: what is still open is on record too.
        server.now += 1000
        look()
    return folder


def keys(folder: Path, start: str) -> tuple[list[int], list[str]]:
    with tailer.open(folder) as log:
        found = [row for batch in log.read(start=start) for row in batch.to_pylist()]
        return [int(row["partition_key"].partition(":")[2].strip("}")) for row in found], log.notices


@pytest.mark.parametrize("key", range(2 * SECTIONS))
def test_the_first_section_that_was_durable_then(server: Server, key: int) -> None:
    folder = followed(server)
    # Files that were copied say nothing of it any more.
    for file in folder.iterdir():
        os.utime(file, (server.now, server.now))
    written = BEGUN + key * EVERY
    found, notices = keys(folder, at(written))
    assert found == list(range(key, 2 * SECTIONS))
    assert any("by the times kept of sidecars" in notice for notice in notices)
    found, _ = keys(folder, at(written - EVERY / 2))
    assert found == list(range(key, 2 * SECTIONS))


def test_without_what_was_kept_the_files_tell(server: Server) -> None:
    folder = followed(server)
    for file in state_folder(folder).iterdir():
        if file.is_file():
            file.unlink()
    found, notices = keys(folder, at(BEGUN + 3 * EVERY))
    assert found == list(range(2 * SECTIONS))
    assert any("by the times of its files" in notice for notice in notices)


def test_it_is_few_records_however_long_a_segment_is_open(server: Server) -> None:
    folder = server.log.path
    writer = segment_of(ONE, [[create_payload(TABLE)]])
    with Tail(tail_parts(folder_with(server, writer), TailOptions(consumer="c"), wall=lambda: server.now)) as tail:
        for _ in range(400):
            server.section(writer)
            step = tail.step()
            tail.advance(step)
            server.now += 60.0
    records = [r for r in FolderJournal(state_folder(folder)).read() if isinstance(r, TimesRecord)]
    assert 3 <= len(records) <= 12
    assert all(len(record.times.marks) <= 32 for record in records)
    # A compaction leaves the last, which has all of them.
    assert [r.n for r in wanted(records, Floor(ONE, 10_000))] == [records[-1].n]
    assert wanted(records, Floor(ONE + 1, 10_000)) == []


def folder_with(server: Server, writer: SegmentWriter) -> Path:
    server.section(writer)
    return server.log.path


def test_a_log_that_is_read_at_once_leaves_no_record(server: Server) -> None:
    writer = segment_of(ONE, [[create_payload(TABLE)]])
    server.section(writer, sidecar=completed)
    assert run_cli(["follow", server.log.path, "--once", "--consumer", "c"]).code == 0
    assert not any(isinstance(r, TimesRecord) for r in FolderJournal(state_folder(server.log.path)).read())


def test_a_time_to_come_and_one_without_its_zone_are_refused(server: Server) -> None:
    folder = followed(server)
    for text, message in (
        ("2099-01-01T00:00:00Z", "still to come"),
        ("2026-11-20T10:00:00", "without its zone"),
        ("2026-11-20 10:00", "without its zone"),
    ):
        with pytest.raises(UsageError, match=message):
            keys(folder, text)
        result = run_cli(["follow", folder, "--once", "--from", text])
        assert (result.code, message in result.err) == (2, True)
    with pytest.raises(UsageError, match=r"without its zone: expected 2026-11-20T10:00:00Z for UTC"):
        parse_options({"path": "/x", "startingOffsets": "2026-11-20T10:00:00"})


def test_a_consumer_is_moved_to_a_time(server: Server) -> None:
    folder = followed(server)
    moved = run_cli(["consumers", folder, "seek", "c", at(BEGUN + 4 * EVERY)])
    assert moved.code == 0, moved.err
    lines = run_cli(["follow", folder, "--once", "--stopped", "--output", "json", "--consumer", "c"]).lines
    assert len(lines) == 2 * SECTIONS - 4
