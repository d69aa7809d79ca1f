"""Rows of a table while it did not capture: they may lie in segments without an idx file, whatever it does by now."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tailer.definitions.learning import Definitions
from tailer.position import Position
from tailer.schema.selection import Selection
from tailer.state.folder_journal import FolderJournal
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    captured_payload,
    completed,
    create_payload,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.unit.schema.made import ID_A, SIMPLE, create, heading

FIRST = 1_700_000_000_001
OTHER = simple_table("ks", "other", 2)
TABLE = simple_table("ks", "t", 1, cdc=False)


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """The table is created and has a row in a segment without an idx file before it captures."""
    folder = LogFolder(tmp_path / "cdc_raw")
    begin = segment_of(FIRST, [[create_payload(OTHER), create_payload(TABLE)], [insert_payload(OTHER, 1, "a", 1)]])
    quiet = segment_of(FIRST + 1, [[insert_payload(TABLE, 1, "a", 1, TS + 1)]])
    begins = captured_payload(TABLE, cdc=True, ts=TS + 2)
    later = replace(TABLE, cdc=True)
    end = segment_of(FIRST + 2, [[begins], [insert_payload(later, 2, "a", 2, TS + 3)]])
    for writer in (begin, end):
        folder.put(writer, completed(writer))
    folder.put(quiet)
    # The server has closed all segments but the newest, which alone has a second name.
    newest = segment_of(FIRST + 3, [[insert_payload(OTHER, 2, "a", 2, TS + 4)]])
    folder.put(newest)
    folder.hold(newest)
    return folder


def keys(log: LogFolder, consumer: str, *more: str) -> list[int]:
    words = ["follow", log.path, "--once", "--output", "json", "--consumer", consumer, "--table", "ks.t", *more]
    result = run_cli([*words])
    assert result.code == 0, result.err
    return sorted(json.loads(line)["partition_key"]["pk"] for line in result.lines)


def test_a_table_that_captures_by_now_gives_its_earlier_rows(log: LogFolder) -> None:
    """Another consumer has read the ALTER already: what is given must not depend on that."""
    assert run_cli(["follow", log.path, "--once", "--consumer", "other", "--output", "json"]).code == 0
    assert keys(log, "c") == [1, 2]


def test_a_table_whose_create_is_met_with_its_rows_gives_them(log: LogFolder) -> None:
    assert keys(log, "c", "--table-may-come") == [1, 2]


def test_a_table_that_captures_since_an_earlier_position_needs_no_other_segments(tmp_path: Path) -> None:
    """They are read whole, and may be nearly all of the log."""
    (tmp_path / "cdc_raw.cdc_tail").mkdir()
    known = Definitions(FolderJournal(tmp_path / "cdc_raw.cdc_tail"), Selection(("ks.t",)), tolerant=False)
    known.history.add(Position(1, 100), create("t", ID_A, 10, SIMPLE, cdc=False))
    known.history.add(Position(3, 100), [heading("t", ID_A, 20, cdc=True)])
    assert [known.wide(Position(segment, 0)) for segment in (1, 2, 3, 4)] == [True, True, True, False]
