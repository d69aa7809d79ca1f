"""Many segments that never got a sidecar and that nobody closes, as in a folder that was copied: what is behind them is
read, and they are where nobody writes any more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailer
from tailer.planning.plan import SEGMENTS_MAX
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table

ONE = 1_700_000_000_000
LATE = 2 * SEGMENTS_MAX + 4
TABLE = simple_table("ks", "t", cdc=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One row in each segment, of a table that does not capture."""
    made = LogFolder(tmp_path / "cdc_raw")
    for number in range(LATE + 3):
        first = [create_payload(TABLE)] if number == 0 else []
        writer = segment_of(ONE + number, [[*first, insert_payload(TABLE, number, "a", number)]])
        made.put(writer, None if 0 < number <= LATE else completed(writer))
    return made.path


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("consumer", [None, "c"])
def test_what_may_be_read_is(folder: Path, consumer: str | None, stopped: bool) -> None:
    log = tailer.open(folder, tables=["ks.t"], consumer=consumer, stopped=stopped)
    batches = log.read() if consumer is None else log.follow(once=True)
    found = [json.loads(text)["v"] for batch in batches for text in batch.column("columns").to_pylist()]
    assert found == (list(range(LATE + 3)) if stopped else [0, LATE + 1, LATE + 2])
