"""Small transactions that are read together give the rows that they give one by one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tailer
from tailer.reading import records
from tests.helpers.cli import run_cli
from writer_hooks import SegmentLog, Table, Transaction, periodic


class Row(msgspec.Struct):
    key: int
    line: int
    text: str | None = None


ROWS = Table.of(Row, "shop.rows", key=["key"], clustering=["line"])
PAIRS = Table.of(Row, "shop.pairs", key=["key", "line"])
QUIET = Table.of(Row, "shop.quiet", key=["key"], clustering=["line"], cdc=False)


def write(folder: Path, seed: int) -> int:
    """A log of small transactions, some open at once, with changes between them; how many rows readers get of it."""
    chance = random.Random(seed)
    open_ones: list[tuple[Transaction, list[int]]] = []
    rows = 0

    def change(number: int) -> tuple[Any, int]:
        """A change, and how many rows of captured tables it has."""
        table = chance.choice((ROWS, ROWS, PAIRS, QUIET))
        value = Row(number % 7, number, chance.choice(("x" * chance.randint(0, 40), None)))
        attrs = {"n": number} if chance.random() < 0.3 else None
        made = table.insert(value, attrs=attrs)
        if chance.random() < 0.3:
            made = made & table.delete({"key": 1, "line": number})
        return made, len(made.rows) if table.cdc else 0

    with SegmentLog.open(folder, [ROWS, PAIRS, QUIET], sync=periodic(1), segment_bytes=60_000) as log:
        for number in range(600):
            made, count = change(number)
            turn = chance.random()
            if turn < 0.3:
                log.append(made)
                rows += count
            elif turn < 0.5 or not open_ones:
                open_ones.append((log.begin(), [0]))
            elif turn < 0.8:
                which, counted = chance.choice(open_ones)
                which.append(made)
                counted[0] += count
            else:
                which, counted = open_ones.pop(chance.randrange(len(open_ones)))
                if turn < 0.97:
                    which.commit()
                    rows += counted[0]
                else:
                    which.rollback()
    return rows


def everything(folder: Path) -> list[Any]:
    """The rows in each form: Arrow, typed, lines of JSON."""
    generic = [row for batch in tailer.open(folder).read() for row in batch.to_pylist()]
    typed = [row for batch in tailer.open(folder, table="shop.rows").read() for row in batch.to_pylist()]
    lines = run_cli(["follow", folder, "--once", "--output", "json"])
    assert lines.code == 0
    return [generic, typed, lines.lines]


@pytest.mark.parametrize("seed", range(3))
def test_together_as_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rows = write(tmp_path, seed)
    together = everything(tmp_path / "cdc_raw")
    monkeypatch.setattr(records, "ALONE_MAX", -1)
    assert together == everything(tmp_path / "cdc_raw")
    generic, _, lines = together
    assert len(generic) == len(lines) == rows
    assert len({row["event_id"] for row in generic}) == rows
    places = [(row["segment"], row["offset"], row["row"]) for row in generic]
    assert places == sorted(places)
    assert [json.loads(line)["txn"] for line in lines] == [row["txn"] for row in generic]


def test_they_are_read_together(tmp_path: Path) -> None:
    with SegmentLog.open(tmp_path, [ROWS]) as log:
        for number in range(50):
            with log.begin() as transaction:
                transaction.append(ROWS.insert(Row(number, 1)))
                transaction.append(ROWS.insert(Row(number, 2)))
            log.append(ROWS.insert(Row(number, 3)))
    batches = list(tailer.open(tmp_path / "cdc_raw").read())
    assert sum(batch.num_rows for batch in batches) == 150
    assert len(batches) <= 2
