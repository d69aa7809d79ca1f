"""The ledger, and what is asked of rows by it, without a server: what is missing or differs is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.cluster.check import Copies, Found
from tests.server.cluster.ledger import Entry, Ledger, Write
from tests.server.cluster.workload import Changes

BOUNDS = {"start": {"ck": 4}, "end": {"ck": 7}, "start_inclusive": True, "end_inclusive": False}
WRITES = {
    "INSERT INTO three.events (pk, ck, n, body) VALUES (1, 2, 3, 'x') USING TIMESTAMP 11": Write(
        "three.events", "insert", {"pk": 1}, 11, {"ck": 2}, {"n": 3, "body": "x"}
    ),
    "UPDATE two.profiles USING TIMESTAMP 12 SET n = 5, b = null WHERE pk = 1": Write(
        "two.profiles", "update", {"pk": 1}, 12, None, {"n": 5, "b": None}
    ),
    "DELETE FROM three.events USING TIMESTAMP 13 WHERE pk = 1 AND ck = 2": Write(
        "three.events", "delete_row", {"pk": 1}, 13, {"ck": 2}
    ),
    "DELETE FROM three.events USING TIMESTAMP 14 WHERE pk = 1 AND ck >= 4 AND ck < 7": Write(
        "three.events", "delete_range", {"pk": 1}, 14, range=BOUNDS
    ),
    "DELETE FROM two.events USING TIMESTAMP 15 WHERE pk = 1": Write("two.events", "delete_partition", {"pk": 1}, 15),
}


def entry(write: Write, acknowledged: float | None = 2.0) -> Entry:
    return Entry(write, 1, "ONE", 1.0, acknowledged, None if acknowledged else "WriteTimeout: …")


def row(write: Write, node: str, **other: Any) -> str:
    """As a reader of that node would give it."""
    keyspace, _, table = write.table.partition(".")
    given = {
        "node": node, "keyspace": keyspace, "table": table, "op": write.op, "partition_key": write.key,
        "clustering": write.clustering, "columns": write.columns, "range": write.range, "write_ts": write.timestamp,
    }  # fmt: skip
    return json.dumps({**given, **other})


def copies(rows: list[str], *writes: Write) -> Copies:
    found = Found()
    found.add(rows)
    return found.copies(map(entry, writes))


@pytest.mark.parametrize("cql", WRITES)
def test_a_write_as_a_statement(cql: str) -> None:
    assert WRITES[cql].cql() == cql


@pytest.mark.parametrize("write", WRITES.values())
def test_a_write_is_found_on_every_node_that_has_it(write: Write) -> None:
    rows = [row(write, "n1"), row(write, "n3"), row(write, "n3")]
    found = copies(rows, *WRITES.values())
    assert found.missing == [entry(other) for other in WRITES.values() if other is not write]
    assert found.spread() == {0: len(WRITES) - 1, 3: 1}
    assert sum(found.nodes_of("three").values()) == 3
    assert sum(found.nodes_of("two").values()) == 2
    assert found.nodes_of(write.table.partition(".")[0])[2] == 1


@pytest.mark.parametrize(
    "other",
    [
        {"write_ts": 10},
        {"op": "update"},
        {"keyspace": "two"},
        {"partition_key": {"pk": 2}},
        {"clustering": {"ck": 3}},
        {"columns": {"n": 3, "body": "y"}},
        {"columns": {"n": 3}},
        {"columns": None},
    ],
)
def test_what_differs_in_anything_is_not_the_write(other: dict[str, Any]) -> None:
    write = next(iter(WRITES.values()))
    assert copies([row(write, "n1", **other)], write).missing == [entry(write)]


def test_a_range_of_other_bounds_is_not_the_write() -> None:
    write = next(write for write in WRITES.values() if write.range)
    assert copies([row(write, "n1", range={**BOUNDS, "end_inclusive": True})], write).missing == [entry(write)]


def test_a_row_that_repair_made_may_hold_more() -> None:
    write = next(iter(WRITES.values()))
    merged = {**(write.columns or {}), "later": 1}
    assert copies([row(write, "n1", columns=merged)], write).missing == []


def test_the_ledger_gives_back_what_was_noted_and_goes_on(tmp_path: Path) -> None:
    told = [entry(write) for write in WRITES.values()]
    for part in (told[:2], [*told[2:], entry(told[0].write, acknowledged=None)]):
        ledger = Ledger(tmp_path / "ledger.jsonl")
        ledger.note(part)
        ledger.close()
    assert ledger.entries() == [*told, entry(told[0].write, acknowledged=None)]
    assert ledger.acknowledged() == told


def test_no_two_writes_have_one_timestamp() -> None:
    changes = Changes(seed=1)
    stamps = [write.timestamp for _ in range(500) for write in (*changes.single(), *changes.batch())]
    assert len(set(stamps)) == len(stamps)


def test_no_batch_writes_one_row_twice() -> None:
    """What a server logs of such a batch is the later write alone: the other one could not be found."""
    changes = Changes(seed=1)
    for _ in range(5000):
        rows = [(write.table, write.row().items()) for write in changes.batch()]
        assert len({(table, tuple(row)) for table, row in rows}) == 3
