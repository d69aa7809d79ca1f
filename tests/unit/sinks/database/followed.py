"""Logs of few rows, followed into a database as a user does it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

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


def words(folder: Path, target: Target, *more: str, into: str = "changes", consumer: str = "c") -> list[str]:
    """The words of a run that does not wait."""
    run = ["follow", str(folder), "--once", "--stopped", "--node", NODE, "--consumer", consumer]
    return [*run, "--to", target.to, "--into", into, "--retry-for", "3s", *more]


def follow(folder: Path, target: Target, *more: str, into: str = "changes", consumer: str = "c") -> Result:
    return run_cli(words(folder, target, *more, into=into, consumer=consumer))


def values(target: Target, table: str = "changes") -> list[int]:
    """What the rows of `log` hold, in the order of the log."""
    return [json.loads(columns)["v"] for (columns,) in target.rows(table, ["columns"])]


def agreed(target: Target, folder: Path, table: str = "changes") -> int:
    """How many rows there are; they are exactly those before the position that stands beside them."""
    position = target.position()
    rows = values(target, table) if target.there(table) else []
    if position is None:
        assert rows == []
        return 0
    place: dict[str, Any] = json.loads(position)
    printed = [json.loads(line) for line in run_cli(["follow", str(folder), "--once", "--stopped"]).lines]
    before = [row for row in printed if (row["segment"], row["offset"]) < (place["s"], place["o"])]
    wanted = printed if place.get("done") and place["s"] == printed[-1]["segment"] else before
    if not place.get("done"):
        wanted = before
    elif wanted is before:
        wanted = [row for row in printed if row["segment"] <= place["s"]]
    assert rows == [row["columns"]["v"] for row in wanted]
    return len(rows)
