"""Logs of few rows, followed into a database as a user does it."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.unit.sinks.database.targets import NODE, Target

ONE = 1_700_000_000_000
TABLE = simple_table("ks", "t")


def log(parent: Path, segments: int = 4, rows: int = 5) -> Path:
    """A folder whose rows have the values 1, 2, 3 and so on, so many in each segment."""
    folder, values = LogFolder(parent / "cdc_raw"), itertools.count(1)
    for number in range(segments):
        head = [[create_payload(TABLE)]] if number == 0 else []
        put = [insert_payload(TABLE, value, "a", value) for value in itertools.islice(values, rows)]
        made = segment_of(ONE + number, [*head, put])
        folder.put(made, completed(made))
    return folder.path


def words(folder: Path, target: Target, *more: str, into: str | None = None, consumer: str = "c") -> list[str]:
    """The words of a run that does not wait."""
    run = ["follow", str(folder), "--once", "--stopped", "--node", NODE, "--consumer", consumer]
    own = target.own if into is None else ("--into", into)
    return [*run, "--to", target.to, *own, "--retry-for", "10s", *more]


def follow(folder: Path, target: Target, *more: str, into: str | None = None, consumer: str = "c") -> Result:
    return run_cli(words(folder, target, *more, into=into, consumer=consumer))


def values(target: Target, table: str = "changes") -> list[int]:
    """What the rows of `log` hold, in the order of the log."""
    return [json.loads(columns)["v"] for (columns,) in target.rows(table, ["columns"])]


def agreed(target: Target, folder: Path, table: str = "changes") -> int:
    """How many rows there are; they are exactly those before the position that stands beside them, also while a run
    goes on: both are of one moment."""
    before: object = object()
    while (position := target.position()) != before:
        before = position
        rows = values(target, table) if target.there(table) else []
    if position is None:
        assert rows == []
        return 0
    place = json.loads(position)
    printed = [json.loads(line) for line in run_cli(["follow", str(folder), "--once", "--stopped"]).lines]
    # Behind the end of a segment its offset counts no more.
    offset = sys.maxsize if place.get("done") else place["o"]
    expected = [row["columns"]["v"] for row in printed if (row["segment"], row["offset"]) < (place["s"], offset)]
    assert rows == expected
    return len(rows)
