"""`truncate` rows, from the cells of `system.local.truncated_at`."""

from __future__ import annotations

import json
import struct

from tailer.rows.prepared import SYSTEM_LOCAL
from tailer.schema.model import Column, TableDefinition
from tests.unit.rows.tables import EXAMPLE, OFFSET, SEGMENT, built, prepared
from tests.unit.scan.mutations import TABLE, T, cell, counted, mutation, update, vint

LOCAL = TableDefinition(
    SYSTEM_LOCAL,
    "system",
    "local",
    (
        Column("key", "partition_key", "text", 0),
        Column("truncated_at", "regular", "map<uuid, blob>"),
        Column("cluster_name", "regular", "text"),
    ),
)
STRANGER = bytes(range(16))


def record(table: bytes, segment: int, offset: int, after: int = 7) -> bytes:
    return cell(0x00, vint(after), counted(table), counted(struct.pack(">qiq", segment, offset, 1700000000000)))


def local(*cells: bytes) -> bytes:
    row = b"\x20" + vint(len(cells)) + b"".join(cells)
    return mutation(update(row, columns=["truncated_at"], table=bytes.fromhex(SYSTEM_LOCAL), key=b"local"))


def test_a_truncation_of_a_delivered_table() -> None:
    made = built(local(record(TABLE, 9, 1234)), tables=prepared(EXAMPLE, LOCAL, wanted=[EXAMPLE.id]))
    (line,) = made.batch.json_lines().decode().splitlines()
    assert json.loads(line) == {
        "node": "local", "keyspace": "ks", "table": "t", "table_id": "11111111-2222-11ee-8888-0123456789ab",
        "op": "truncate", "partition_key": None, "clustering": None, "is_static": False, "columns": None,
        "range": {"before": {"segment": 9, "offset": 1234}}, "write_ts": T + 7, "ttl": None, "expires_at": None,
        "cells": None, "token": None, "segment": SEGMENT, "offset": OFFSET, "row": 0,
        "event_id": f"local:{SEGMENT}:{OFFSET}:0", "txn": None, "attrs": None,
    }  # fmt: skip


def test_every_live_record_takes_a_number_and_only_delivered_tables_give_rows() -> None:
    gone = cell(0x05, vint(0), vint(0), counted(TABLE))
    payload = local(record(STRANGER, 1, 2), gone, record(TABLE, 3, 4))
    made = built(payload, tables=prepared(EXAMPLE, LOCAL, wanted=[EXAMPLE.id]))
    assert (made.batch.column("row"), made.batch.column("op")) == ([1], ["truncate"])


def test_the_row_of_system_local_itself_is_numbered_behind_them() -> None:
    payload = local(record(STRANGER, 1, 2), record(TABLE, 3, 4))
    made = built(payload, tables=prepared(EXAMPLE, LOCAL))
    assert made.batch.column("row") == [1, 2]
    assert made.batch.column("op") == ["truncate", "update"]
    assert made.batch.column("table") == ["t", "local"]
    alone = built(payload, tables=prepared(EXAMPLE, LOCAL, wanted=[LOCAL.id]))
    assert (alone.batch.column("row"), alone.batch.column("op")) == ([2], ["update"])


def test_a_record_of_another_length_fails_its_entry() -> None:
    bad = cell(0x00, vint(0), counted(TABLE), counted(bytes(19)))
    made = built(local(bad), tables=prepared(EXAMPLE, LOCAL, wanted=[EXAMPLE.id]))
    assert len(made.batch) == 0
    assert len(made.faults) == 1
