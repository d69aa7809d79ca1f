"""DROP COLUMN of a table with many rows: transactions of a bounded size, and a kill between two of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tailer.images import Merger, merged_tables
from tests.helpers.image_runs import NOW, Runs, Taker
from tests.helpers.log_writer import (
    Cell,
    Column,
    Liveness,
    LogFolder,
    Row,
    Table,
    Update,
    create_payload,
    drop_column,
    encode_mutation,
    i32,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.outlets import Killed

TS = int(NOW * 1_000_000)
PLAIN = simple_table("ks", "t")
W = Column("w", "regular", "int")
WIDE = replace(PLAIN, columns=(*PLAIN.columns, W))
ROWS = 12
AT_ONCE = 6
"""Three rows with the headers of their partitions."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_tables, "CONFIRMED_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(Merger.confirm, "__defaults__", (AT_ONCE,))


def insert(pk: int, ts: int, table: Table, **values: int) -> bytes:
    cells = tuple((name, Cell(i32(value), ts)) for name, value in values.items())
    return encode_mutation((Update(table, i32(pk), (Row((b"a",), Liveness(ts), None, cells),)),))


def log_of(folder: Path) -> Path:
    """Rows stand before the ALTER, and behind it in the same segment; the first of them are rows of before."""
    entries = [create_payload(WIDE, TS)]
    entries += [insert(pk, TS + 1, WIDE, v=pk, w=1) for pk in range(ROWS)]
    entries += [encode_mutation(drop_column(WIDE, W, TS + 10))]
    entries += [insert(pk, TS + 20, PLAIN, v=100 + pk) for pk in (*range(0, ROWS, 2), ROWS)]
    log = LogFolder(folder)
    made = segment_of(1_700_000_000_000, [[entry] for entry in entries])
    log.put(made, live(made))
    return log.path


EXPECTED = {
    **{
        pk: [("insert", {"v": pk, "w": 1}), ("update", {"v": pk})] + [("update", {"v": 100 + pk})] * (pk % 2 == 0)
        for pk in range(ROWS)
    },
    ROWS: [("insert", {"v": 100 + ROWS})],
}


def runs_of(tmp_path: Path, **more: Any) -> Runs:
    return Runs({"n1": log_of(tmp_path / "n1" / "cdc_raw")}, tmp_path / "images", **more)


def check(runs: Runs) -> None:
    found = defaultdict(list)
    (begun,) = [image["seq"] for image in runs.taker.once if image["op"] == "schema"]
    for image in runs.taker.once:
        if image["op"] != "schema":
            values = {name: value for name, value in image["after"].items() if name not in ("pk", "ck")}
            found[image["partition_key"]["pk"]].append((image["op"], values))
            assert ("w" in values) == (image["seq"] < begun)
    assert found == EXPECTED


@dataclass
class Sizes(Taker):
    """Notes the ops of each batch."""

    sizes: list[list[str]] = field(default_factory=list)

    def give(self, batch: Any) -> bool:
        self.sizes.append([image.op for image in batch.images])
        return super().give(batch)


def test_rows_behind_the_alter_wait_for_those_before_it(tmp_path: Path) -> None:
    taker = Sizes()
    runs = runs_of(tmp_path, taker=taker)
    runs.run()
    check(runs)
    first, *more = taker.sizes
    assert first == ["insert"] * ROWS + ["schema"] + ["update"] * (AT_ONCE // 2)
    assert [len(each) for each in more] == [AT_ONCE // 2] * 3 + [ROWS // 2 + 1]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(10))
def test_a_kill_at_a_transaction(tmp_path: Path, number: int, when: str) -> None:
    left = [None]

    def fails(at: int, where: str) -> None:
        if left and (at, where) == (number, when):
            left.pop()
            raise Killed

    runs = runs_of(tmp_path, fails=fails)
    assert runs.until_done() == (number < runs.transactions[0])
    check(runs)
