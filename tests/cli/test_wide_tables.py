"""Tables of many columns: nothing is asked once for each column that goes through all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tailer.schema.model import Column as Known
from tailer.schema.model import TableDefinition
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    Column,
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    segment_of,
    simple_table,
)

SIMPLE = simple_table("ks", "wide")


def log(parent: Path, columns: int) -> Path:
    more = (Column(f"c{number:03}", "regular", "int") for number in range(columns))
    table = replace(SIMPLE, columns=(*SIMPLE.columns, *more))
    folder, writer = (
        LogFolder(parent / f"{columns}"),
        segment_of(
            1_700_000_000_001,
            [[create_payload(table)], [insert_payload(SIMPLE, number, "a", 1) for number in range(5)]],
        ),
    )
    folder.put(writer, completed(writer))
    return folder.path


@pytest.mark.parametrize("words", [[], ["--typed", "ks.wide"], ["--image", "after", "--consumer", "c"]])
def test_all_columns_are_asked_for_as_often_as_of_a_table_of_few(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [0]
    given = TableDefinition.data_columns.fget
    assert given is not None

    def counted(self: TableDefinition) -> tuple[Known, ...]:
        asked[0] += 1
        return given(self)  # type: ignore[no-any-return]

    monkeypatch.setattr(TableDefinition, "data_columns", property(counted))
    numbers = []
    for columns in (10, 400):
        asked[0] = 0
        ran = run_cli(["follow", log(tmp_path, columns), "--once", "--stopped", "--output", "json", *words])
        assert (ran.code, len(ran.lines)) == (0, 5), ran.err
        numbers.append(asked[0])
    few, many = numbers
    assert many <= few
