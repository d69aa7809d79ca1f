"""Truncations have no mutation of their own and are not in `expected/`: here the log's bytes are the witness.

The record is a cell of `system.local.truncated_at`: key = table id, value = i64 segment, i32 position,
i64 milliseconds.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli
from tests.helpers.compare import place_of, truncates
from tests.helpers.sets import CASES
from tests.oracle import expected, recording
from tests.oracle.segments import edges, segments

SYSTEM_LOCAL = bytes.fromhex("7ad54392bcdd35a684174e047860b377")
EPOCH = 1_442_880_000_000_000


class Truncation(NamedTuple):
    """Where its entry starts, when it was written (µs), and the position before which everything is void."""

    segment: int
    offset: int
    write_ts: int
    before: dict[str, int]


@pytest.mark.parametrize("name", CASES)
def test_one_truncation_as_the_bytes_have_it(name: str, sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder(name)
    table_id = _table_id(sets_root / name)
    (found,) = _truncations(folder, bytes.fromhex(table_id.replace("-", "")))
    result = run_cli(["follow", folder, "--once", "--output", "json"])
    (line,) = truncates(result.lines)
    row: dict[str, Any] = json.loads(line)
    told = {key: row[key] for key in ("keyspace", "table", "table_id", "op", "write_ts", "segment", "offset", "row")}
    assert told == {
        "keyspace": "cdc",
        "table": "truncated",
        "table_id": table_id,
        "op": "truncate",
        "write_ts": found.write_ts,
        "segment": found.segment,
        "offset": found.offset,
        "row": 0,
    }
    assert row["range"] == {"before": found.before}
    assert row["event_id"] == f"local:{found.segment}:{found.offset}:0"
    empty = ("partition_key", "clustering", "columns", "ttl", "expires_at", "cells", "txn", "attrs")
    assert [row[key] for key in empty] == [None] * len(empty)
    places = [place_of(line) for line in result.lines]
    assert places == sorted(places)


def test_it_voids_the_row_before_and_leaves_the_one_after(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    (line,) = truncates(run_cli(["follow", folder, "--once", "--output", "json"]).lines)
    before = json.loads(line)["range"]["before"]
    rows = [row.data for row in expected(sets_root / "50-cases", folder).rows if row.data["table"] == "truncated"]
    void = [(row["segment"], row["offset"]) < (before["segment"], before["offset"]) for row in rows]
    assert [row["partition_key"]["id"] for row in rows] == [1, 2]
    assert void == [True, False]


def _table_id(set_dir: Path) -> str:
    (found,) = [each.id for each in recording(set_dir).final.definitions.values() if each.table == "truncated"]
    return found


def _truncations(folder: Path, table_id: bytes) -> list[Truncation]:
    """Looks for path and value of the cell (each behind its one-byte length) in every entry of the logs."""
    found = []
    for segment in segments(folder):
        (log,) = folder.glob(f"CommitLog-*-{segment.id}.log")
        data = log.read_bytes()
        for start, mutation in _entries(data):
            at = mutation.find(b"\x10" + table_id + b"\x14")
            if at >= 0 and mutation[1:17] == SYSTEM_LOCAL:
                value = mutation[at + 18 : at + 38]
                before = {"segment": int.from_bytes(value[:8], "big"), "offset": int.from_bytes(value[8:12], "big")}
                found.append(Truncation(segment.id, start, _smallest_timestamp(mutation), before))
    return found


def _entries(data: bytes) -> list[tuple[int, bytes]]:
    """Start and mutation of every entry of a plain log."""
    made = []
    places = edges(data)
    for begin, end in itertools.pairwise(places):
        at = begin + 8
        while at < end:
            size = int.from_bytes(data[at : at + 4], "big")
            made.append((at, data[at + 8 : at + 8 + size]))
            at += size + 12
    return made


def _smallest_timestamp(mutation: bytes) -> int:
    """Of the first update: behind its id, key `local` and flags; the one cell of a truncation is as old."""
    at = 1 + 16 + 1 + mutation[17] + 1
    extra = 8 - (mutation[at] ^ 0xFF).bit_length()
    first = mutation[at] & (0xFF >> extra)
    return EPOCH + int.from_bytes(bytes([first]) + mutation[at + 1 : at + 1 + extra], "big")
