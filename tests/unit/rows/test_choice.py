"""Which twin makes rows: the compiled one where there is enough to do, by the number of lines or by what is in them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tailer.rows import choice
from tailer.rows.choice import SMALL_BYTES, SMALL_LINES, build_rows
from tailer.scan.index import CELL, ROW, UPDATE, VALUE, Index, Status, Stopped


def index_of(lines: int, *values: int) -> Index:
    """So many rows, and cells with values of these lengths."""
    cells = np.zeros(len(values), CELL)
    cells["value_len"] = values
    empty = np.zeros(0, UPDATE), np.zeros(lines, ROW), np.zeros(0, VALUE), cells
    return Index(*empty, Stopped(Status.OK, 1), {})


@pytest.mark.parametrize(
    ("index", "enough"),
    [
        (index_of(SMALL_LINES - 1, 10), False),
        (index_of(SMALL_LINES, 10), True),
        (index_of(1, SMALL_BYTES - 1), False),
        (index_of(1, SMALL_BYTES), True),
        (index_of(2, SMALL_BYTES // 2, -1, SMALL_BYTES // 2 + 1), True),
        (index_of(1), False),
    ],
)
def test_few_lines_are_worth_it_if_they_are_large(index: Index, enough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def twin_now(name: str, enough: bool = True) -> Any:
        asked.append(enough)
        return SimpleNamespace(build=lambda *_: ("rows", []))

    monkeypatch.setattr(choice, "twin_now", twin_now)
    nothing: Any = None
    assert build_rows(index, b"", nothing, nothing, None).batch == "rows"
    assert asked == [enough]
