"""Logs whose rows the tests know: `v` counts them, in the order of the log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.helpers.cli import Result, run_cli
from tests.helpers.kafka_broker import Broker
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.helpers.logs.model import Table

FIRST = 1_700_000_000_001
IN_SECTION = 5


def table(name: str, number: int = 1) -> Table:
    """Each test writes to topics of its own: its table is named as they are."""
    return simple_table("ks", name, number)


def log_of(folder: Path, of: Table, rows: int, segments: int = 1, *, first: int = 0, keys: int = 7) -> Path:
    """A log folder with finished segments: `rows` inserts in each, of `keys` partition keys in turn."""
    made = LogFolder(folder)
    for number in range(segments):
        begin = first + number * rows
        inserts = [insert_payload(of, v % keys, f"c{v}", v) for v in range(begin, begin + rows)]
        sections = [inserts[at : at + IN_SECTION] for at in range(0, rows, IN_SECTION)]
        writer = segment_of(FIRST + first + number, [[create_payload(of)], *sections])
        made.put(writer, completed(writer))
    return folder


def words(broker: Broker, folder: Path, *more: str, node: str = "n1") -> list[str | Path]:
    """A run that ends at the log's end. Positions stand in a topic of the test's own, called as the folder's folder."""
    return [
        "follow", folder, "--once", "--node", node, "--consumer", "c", "--to", "kafka", "--brokers", broker.bootstrap,
        "--positions-topic", positions(folder), *more,
    ]  # fmt: skip


def positions(folder: Path) -> str:
    return f"positions-{folder.parent.name}"


def follow(broker: Broker, folder: Path, *more: str, env: Mapping[str, str] | None = None) -> Result:
    """In this process. Topics are made."""
    return run_cli(words(broker, folder, "--create-topics", *more), env)
