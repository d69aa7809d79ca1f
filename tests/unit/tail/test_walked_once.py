"""A log is read and checked once: what a start walks for definitions is not walked again for its rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.segments import ahead, runs
from tests.helpers.log_writer import (
    FORMATS,
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.unit.tail.counted_runs import Place, count_runs

FIRST = 1_700_000_000_001
SEGMENTS = 3
SECTIONS = 7


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Counter[Place]:
    """How often each section was read from its file, by segment and start. A run has a few sections."""
    monkeypatch.setattr(runs, "RUN_BYTES", 200)
    return count_runs(monkeypatch)


def folder_of(path: Path, form: str) -> Path:
    """The table in the first section, two rows of it in each."""
    made = LogFolder(path / "cdc_raw")
    table = simple_table("shop", "orders")
    for number in range(SEGMENTS):
        payloads = [
            [insert_payload(table, 100 * number + 10 * section + row, "c", row) for row in range(2)]
            for section in range(SECTIONS)
        ]
        if number == 0:
            payloads[0].insert(0, create_payload(table, 10))
        writer = segment_of(FIRST + number, payloads, form=FORMATS[form])
        made.put(writer, completed(writer))
    return made.path


def rows(folder: Path, **options: Any) -> int:
    return sum(batch.num_rows for batch in tailer.open(folder, **options).read())


@pytest.mark.parametrize("form", ["plain", "lz4"])
@pytest.mark.parametrize("options", [{"table": "shop.orders"}, {"tables": ["shop.orders"]}], ids=["typed", "named"])
def test_a_start_that_must_know_the_definitions_checks_each_section_once(
    form: str, options: dict[str, Any], tmp_path: Path, checked: Counter[Place]
) -> None:
    assert rows(folder_of(tmp_path, form), **options) == SEGMENTS * SECTIONS * 2
    assert len(checked) == SEGMENTS * SECTIONS
    assert set(checked.values()) == {1}


def test_what_there_is_no_room_for_is_read_again_with_the_same_rows(
    tmp_path: Path, checked: Counter[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "AHEAD_BYTES", 3000)
    assert rows(folder_of(tmp_path, "plain"), table="shop.orders") == SEGMENTS * SECTIONS * 2
    assert set(checked.values()) == {1, 2}
