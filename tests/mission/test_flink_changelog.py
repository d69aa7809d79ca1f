"""Flink's changelog: what is needed to read the log is written again after the log was truncated."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tailer.position import Position
from tests.mission.shop import NOTES, ORDERS, Order, idx_files, numbers, opened, rows
from writer_hooks import SegmentLog, Table


class Wider(msgspec.Struct):
    number: int
    article: str = ""
    pieces: int | None = None


def roll(log: SegmentLog, number: int) -> int:
    """Append until a new segment begins; which one. The rows' numbers go on from `number`."""
    begun = log.stats().segment
    while log.stats().segment == begun:
        log.append(ORDERS.insert(Order(number, "t" * 3000))).wait()
        number += 1
    return log.stats().segment


def test_definitions_are_written_again_after_a_truncation(tmp_path: Path) -> None:
    """In each segment, before the first row that needs them, in the log itself: who reads the rest alone has them."""
    with opened(tmp_path, threads=False) as log:
        newest = roll(log, 1)
        log.discard_before(Position(newest, 0))
        log.append(NOTES.insert(Order(7, "a note")))
        log.append(ORDERS.insert(Order(8, "behind")))
        log.sync()
    # Only what is behind the truncation is left for readers too, and nobody has a state.
    for segment in idx_files(tmp_path):
        if segment < newest:
            for file in (tmp_path / "cdc_raw").glob(f"CommitLog-*-{segment}*"):
                file.unlink()
    found = rows(tmp_path / "cdc_raw", "--table", "shop.orders", "--table", "shop.notes")
    assert {row["segment"] for row in found} == {newest}
    assert numbers(found)[-2:] == [7, 8]
    assert [row["columns"]["article"] for row in found][-2:] == ["a note", "behind"]


def test_a_definition_that_has_changed_comes_before_the_first_row_that_needs_it(tmp_path: Path) -> None:
    wider = Table.of(Wider, "shop.orders", key=["number"])
    with opened(tmp_path, threads=False) as log:
        log.append(ORDERS.insert(Order(1)))
        log.append(wider.insert(Wider(2, "ink", 5)))
    found = rows(tmp_path / "cdc_raw", "--schema-changes")
    assert [(row["op"], row["columns"].get("pieces")) for row in found if row["op"] == "insert"] == [
        ("insert", None),
        ("insert", 5),
    ]
    kinds = [row["op"] for row in found]
    assert kinds.index("schema") == 0
    assert kinds == ["schema", "insert", "schema", "insert"]
