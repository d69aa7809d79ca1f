"""Rights of what the commands make: under no umask is a file of the state open to others than its owner and group."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.retention import clean as retention
from tailer.retention.needed import Ages
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    one_row_segment,
    segment_of,
    simple_table,
)

ONE = 1_700_000_000_001
TABLE = simple_table("ks", "t")


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    """Four segments with a row each; in the first also an entry that cannot be decoded."""
    made = LogFolder(tmp_path / "cdc_raw")
    row, bad = insert_payload(TABLE, 0, "a", 0), b"no mutation at all"
    first = segment_of(ONE, [[create_payload(TABLE)], [row], [bad]])
    made.put(first, completed(first))
    for number in (1, 2, 3):
        writer = one_row_segment(TABLE, ONE, number)
        made.put(writer, live(writer) if number == 3 else completed(writer))
    return made


@pytest.mark.usefixtures("no_umask")
def test_no_file_of_the_state_is_open_to_others(folder: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that writes it, one after the other; and each of its files is there at the end."""
    follow = ["follow", folder.path, "--once", "--output", "json", "--on-error", "quarantine"]
    commands = [
        [*follow, "--consumer", "billing"],
        [*follow, "--consumer", "other", "--until", f"{ONE}:60"],
        ["schema", "retract", "1", folder.path],
        ["consumers", folder.path, "seek", "billing", "latest"],
        ["clean", folder.path, "--max-bytes", "0k", "--force"],
        ["consumers", folder.path, "drop", "other"],
        ["clean", folder.path],
    ]
    # The minute that a server is given, gone by; and the journal is compacted whatever that saves.
    monkeypatch.setattr(retention, "FORGOTTEN_AT_LEAST", 1)
    monkeypatch.setattr(
        retention.clean,
        "__kwdefaults__",
        retention.clean.__kwdefaults__
        | {
            "ages": Ages(0, 0),
            "clock": lambda: 1e11,
        },
    )
    state = folder.path.with_name("cdc_raw.cdc_tail")
    for command in commands:
        found = run_cli(command)
        assert found.code == 0, (command, found.err)
        rights = {path: stat.S_IMODE(path.stat().st_mode) for path in (state, *state.rglob("*"))}
        assert {path: oct(mode) for path, mode in rights.items() if mode & 0o007} == {}, command
        assert set(rights.values()) <= {0o2770, 0o660}
    there = {str(path.relative_to(state)) for path in state.rglob("*") if path.is_file()}
    kept = {"journal", "journal.base", "lock", "cleaned.json", "consumers/billing.json", "consumers/billing.lock"}
    assert there >= {*kept, "quarantine/billing.jsonl"}
