"""A table, values and rows for tests of native logs, and what a reader gives of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import tailer
from tests.helpers.logs.folder import LogFolder
from tests.helpers.logs.native import CLUSTERING, INSERT, PARTITION_KEY, REGULAR, NativeTable, NativeWriter, cell, row

ORDERS: Final = NativeTable(
    bytes(range(16)), "shop", "orders", (("id", PARTITION_KEY, "int", False), ("v", REGULAR, "text", False))
)
NOTES: Final = NativeTable(
    bytes(range(16, 32)),
    "shop",
    "notes",
    (("id", PARTITION_KEY, "int", False), ("at", CLUSTERING, "int", False), ("v", REGULAR, "text", False)),
    cdc=False,
)
NAME: Final = "0123456789abcdef"
"""How transactions of the writer's one run begin: `<boot>-<id>`."""


def number(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def put(key: int, value: str, *, txn: int | None = None, table: NativeTable = ORDERS, **more: Any) -> bytes:
    """One row inserted into ORDERS, or into NOTES at clustering 0."""
    clustering = None if table is ORDERS else [number(0)]
    column = len(table.columns) - 1
    return table.change([row(INSERT, [number(key)], clustering, [cell(column, value.encode())])], txn=txn, **more)


def folder_of(path: Path, *writers: NativeWriter, live: bool = False) -> Path:
    """The segments in a folder, all closed but, with `live`, the last."""
    folder = LogFolder(path / "cdc_raw")
    for writer in writers:
        folder.put(writer.frame, writer.sidecar(done=not (live and writer is writers[-1])))
    return folder.path


def rows_of(folder: Path, start: str = "earliest", **options: Any) -> list[dict[str, Any]]:
    """All rows that are durable, JSON columns as values."""
    return as_rows(batch for batch in tailer.open(folder, **options).read(start))


def as_rows(batches: Iterable[Any]) -> list[dict[str, Any]]:
    rows = [row for batch in batches for row in batch.to_pylist()]
    for each in rows:
        for name in ("partition_key", "clustering", "columns", "range", "cells", "attrs"):
            if each.get(name) is not None:
                each[name] = json.loads(each[name])
    return rows


def short(rows: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Of each row its operation, key, value, place, number and transaction."""
    return [
        (
            each["op"],
            each["partition_key"]["id"],
            None if each["columns"] is None else each["columns"].get("v"),
            f"{each['segment']}:{each['offset']}",
            each["row"],
            each["txn"],
        )
        for each in rows
    ]
