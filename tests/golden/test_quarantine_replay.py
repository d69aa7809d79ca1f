"""The quarantine comes back: a replay gives the rows of a run that had the definitions from the start, no others."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from tailer.options.tail import TailOptions
from tailer.sinks.arrow import ArrowSink
from tailer.state.folder_journal import FolderJournal
from tailer.tail.quarantine_replay import replay as run_replay
from tailer.tail.quarantined import KnownNow
from tests.conftest import FreshFolder
from tests.golden.test_definitions import follow, with_schema_file, without_the_creates
from tests.helpers.cli import Result, run_cli
from tests.helpers.compare import place_of, same_rows, without_truncates
from tests.oracle import Row, expected
from tests.oracle.segments import segments

SETS = ("50-cases", "50-cases-v8", "40-cases", "50-aes")
ASIDE = ("--consumer", "billing", "--on-error", "quarantine")
MARK = ',"late":true}'


def replay(folder: Path, *more: str) -> Result:
    words = ["quarantine", folder, "replay", "--consumer", "billing", "--output", "json"]
    return run_cli([*words, *more])


def listed(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in run_cli(["quarantine", folder, "list", "--output", "json"]).lines]


def without_mark(lines: list[str]) -> list[str]:
    assert [line for line in lines if not line.endswith(MARK)] == []
    return [line.removesuffix(MARK) + "}" for line in lines]


def places(rows: list[Row]) -> set[tuple[int, int]]:
    return {(row.data["segment"], row.data["offset"]) for row in rows}


@pytest.mark.parametrize("name", SETS)
def test_definitions_that_are_given_later_give_the_rows_of_a_run_that_had_them(
    name: str, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder, set_dir = without_the_creates(fresh_folder(name)), sets_root / name
    want = expected(set_dir, folder, base=True, quarantine=True)
    first = follow(folder, set_dir, *ASIDE)
    assert first.code == 0, first.err
    late = replay(folder, *with_schema_file(set_dir))
    assert late.code == 0, late.err
    rows = without_mark(late.lines)
    assert len(rows) > len(want.rows) / 2
    same_rows(want.rows, sorted([*without_truncates(first.lines), *rows], key=place_of))
    # What the file does not name stays, with its reason.
    stays = [(each["segment"], each["offset"]) for each in listed(folder) if not each["replayed"]]
    assert stays == [entry[:2] for entry in want.undefined]
    for segment, offset in stays:
        assert f"the entry at {segment}:{offset} (local) stays in quarantine: no definition for table" in late.err
    assert f"{len(stays)} stay" in late.err


@pytest.mark.parametrize("name", ["40-cases"])
def test_each_entry_comes_once(name: str, sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, set_dir = without_the_creates(fresh_folder(name)), sets_root / name
    follow(folder, set_dir, *ASIDE)
    assert replay(folder, *with_schema_file(set_dir)).lines
    again = replay(folder, *with_schema_file(set_dir))
    assert (again.code, again.lines) == (0, [])
    assert "0 entries were replayed" in again.err
    # Nor do they come from the log: they were left out for good.
    assert without_truncates(follow(folder, set_dir, *ASIDE, *with_schema_file(set_dir)).lines) == []


@pytest.mark.parametrize("name", SETS)
def test_what_the_journal_knows_by_now_serves(
    name: str, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    """The log's own CREATE statements turn up: each entry is read by what held where it stands."""
    folder, set_dir = fresh_folder(name), sets_root / name
    whole = expected(set_dir, folder)
    shutil.copytree(folder, tmp_path / "whole")
    first = segments(folder)[0].id
    part = without_the_creates(folder)
    unknown = expected(set_dir, part, base=True, quarantine=True).undefined
    follow(part, set_dir, *ASIDE, *with_schema_file(set_dir))
    for file in (tmp_path / "whole").glob(f"CommitLog-*-{first}*"):
        shutil.copy2(file, part)
    assert follow(part, set_dir, "--consumer", "other").code == 0
    late = replay(part)
    assert late.code == 0, late.err
    entries = {entry[:2] for entry in unknown}
    same_rows(
        [row for row in whole.rows if (row.data["segment"], row.data["offset"]) in entries], without_mark(late.lines)
    )
    assert [each for each in listed(part) if not each["replayed"]] == []
    assert places([row for row in whole.rows if row.data["table"] == "dropped"]) & entries


def test_arrow_has_the_column_too(sets_root: Path, fresh_folder: FreshFolder) -> None:
    name = "40-cases"
    folder, set_dir = without_the_creates(fresh_folder(name)), sets_root / name
    follow(folder, set_dir, *ASIDE)
    state = folder.with_name(f"{folder.name}.cdc_tail")
    options = TailOptions(schema_file=set_dir / "schema.cql")
    out = io.BytesIO()
    sink = ArrowSink(out, late=True)
    done = run_replay(state, "billing", KnownNow(FolderJournal(state, writable=False), options), sink)
    sink.close()
    table = pa.ipc.open_stream(out.getvalue()).read_all()
    assert table.schema.names[-1] == "late"
    assert table.column("late").to_pylist() == [True] * done.rows
    here = expected(set_dir, folder, base=True, quarantine=True)
    assert set(table.column("event_id").to_pylist()) < {row.data["event_id"] for row in here.rows}
