"""A small log of two tables, a consumer that reads all of it, and a `clean` that takes what it has read."""

from __future__ import annotations

import time
from pathlib import Path

from tailer.options.tail import TailOptions
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages
from tailer.tail.follow import steps
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.logs.model import Table
from tests.helpers.tails import open_tail

ONE = 1_700_000_000_000
FIRST = simple_table("shop", "orders", 1)
SECOND = simple_table("shop", "items", 2)


def row(table: Table, number: int) -> bytes:
    return insert_payload(table, number, "a", number)


def log(path: Path) -> LogFolder:
    """The first table is made in segment 0, the second in segment 2; all of 0 to 4 have a row of each that is there."""
    folder = LogFolder(path / "cdc_raw")
    for number in range(5):
        entries = [create_payload(FIRST)] if number == 0 else []
        entries += [create_payload(SECOND)] if number == 2 else []
        entries += [row(FIRST, number)] + ([row(SECOND, number)] if number >= 2 else [])
        made = segment_of(ONE + number, [entries])
        folder.put(made, completed(made))
    return folder


def follow(folder: Path) -> None:
    """A consumer reads all there is; what it met is in the journal."""
    with open_tail(folder, TailOptions(consumer="c", settle_seconds=0.0)) as tail:
        for step in steps(tail, once=True, say=lambda line: None):
            tail.advance(step)
            tail.save()


def cleaned(folder: Path) -> None:
    options = CleanOptions(stopped=True)
    made = clean(folder, options, ages=Ages(0.0, 0.0), clock=lambda: time.time() + 10_000)
    assert [held.segment - ONE for held in made.logs] == [0, 1, 2, 3]
