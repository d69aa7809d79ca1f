"""Change rows for the sinks' tests, by name: everything not said is as in an ordinary insert."""

from __future__ import annotations

from typing import Any

from tailer.rows.batch import COLUMNS, ChangeBatch

ORDINARY: dict[str, Any] = {
    "node": "local",
    "keyspace": "shop",
    "table": "orders",
    "table_id": "5a1ff267ace03f128563cfae6103c65e",
    "op": "insert",
    "partition_key": '{"id":17}',
    "clustering": '{"at":"a"}',
    "is_static": False,
    "columns": '{"state":"new","total":12.50}',
    "range": None,
    "write_ts": 1_795_259_642_123_456,
    "ttl": None,
    "expires_at": None,
    "cells": None,
    "token": -42,
    "segment": 1795259642879,
    "offset": 28,
    "row": 0,
    "event_id": "local:1795259642879:28:0",
    "txn": None,
    "attrs": None,
}


def row(**changes: Any) -> tuple[Any, ...]:
    assert set(changes) <= set(COLUMNS)
    return tuple({**ORDINARY, **changes}[name] for name in COLUMNS)


def batch(*rows: tuple[Any, ...]) -> ChangeBatch:
    return ChangeBatch.of(rows)  # type: ignore[arg-type]
