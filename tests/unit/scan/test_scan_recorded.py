"""The index of every recorded mutation against the server's own view: raw bytes, timestamps, expirations, bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tailer.rows.prepared import Prepared, PreparedTable, prepare
from tailer.scan import index as ix
from tailer.scan.index import Index, Status
from tailer.scan.mutation.scan import scan
from tailer.schema.builtin import builtin_definitions
from tailer.schema.decode import deltas
from tailer.schema.follow import SchemaState
from tests.helpers.sets import CASES
from tests.unit.schema.recorded import schema_mutations

NO_EXPIRATION = (2147483647, 9223372036854775807)
BOUNDS = {
    "INCL_START_BOUND": (ix.RANGE_START, ix.OPEN_INCLUSIVE),
    "EXCL_START_BOUND": (ix.RANGE_START, 0),
    "INCL_END_BOUND": (ix.RANGE_END, ix.CLOSE_INCLUSIVE),
    "EXCL_END_BOUND": (ix.RANGE_END, 0),
    "EXCL_END_INCL_START_BOUNDARY": (ix.RANGE_BOUNDARY, ix.OPEN_INCLUSIVE),
    "INCL_END_EXCL_START_BOUNDARY": (ix.RANGE_BOUNDARY, ix.CLOSE_INCLUSIVE),
}
Line = Mapping[str, Any]


@pytest.mark.parametrize("name", CASES)
def test_every_mutation_as_the_server_sees_it(name: str, sets_root: Path) -> None:
    folder = sets_root / name
    changes = {at: deltas(rows) for at, rows in schema_mutations(folder)}
    state = SchemaState()
    prepared = _prepare(state)
    count = 0
    for line, payload in _mutations(folder):
        at = (line["segment"], line["end"])
        unsigned = name.endswith("v8")
        index = scan(payload, [0], [len(payload)], prepared.scan_tables, unsigned_times=unsigned)
        assert index.stopped.status == Status.OK, (at, index.stopped)
        assert list(_found(index, payload, prepared)) == list(_expected(line)), at
        if at in changes and state.apply(changes[at]):
            prepared = _prepare(state)
        count += 1
    assert count > 1500


def _prepare(state: SchemaState) -> Prepared:
    known = {**builtin_definitions(), **state.definitions}
    return prepare(known, known.keys())


def _mutations(folder: Path) -> Iterator[tuple[Line, bytes]]:
    """Lines with their mutation's bytes: in a plain segment logical offsets are the file's."""
    for log in sorted(folder.glob("cdc_raw/*.log")):
        data = log.read_bytes()
        for text in (folder / "expected" / f"{log.name}.jsonl").read_text("utf-8").splitlines():
            line = json.loads(text)
            end = line["end"] - 4
            yield line, data[end - line["size"] : end]


def _expected(line: Line) -> Iterator[Any]:
    for update in line["updates"]:
        yield "update", update["id"], update["key_hex"]
        if "partition_deletion" in update:
            yield "partition", update["partition_deletion"]["ts"]
        statics = [update["static"]] if "static" in update else []
        for item in statics + update["unfiltereds"]:
            if item["kind"] == "marker":
                kind, flags = BOUNDS[item["bound"]]
                opening, closing = item.get("open", {}).get("ts"), item.get("close", {}).get("ts")
                yield kind, flags, opening, closing, item["clustering_hex"]
                continue
            liveness = item.get("liveness")
            times = liveness and (liveness["ts"], *_expiry(liveness))
            yield item["kind"], times, item.get("deletion", {}).get("ts"), item.get("clustering_hex", [])
            deletions = {name: deletion["ts"] for name, deletion in item["complex_deletions"].items()}
            yield deletions, [_expected_cell(cell) for cell in item["cells"]]


def _expected_cell(cell: Line) -> Any:
    value = None if cell["tombstone"] else cell["hex"]
    expiry = (0, cell["ldt"]) if cell["tombstone"] else _expiry(cell)
    return cell["column"], cell.get("path"), value, cell["ts"], *expiry


def _expiry(item: Line) -> tuple[int, int]:
    none = item["ttl"] == 0 and item["ldt"] in NO_EXPIRATION
    return item["ttl"], 0 if none else item["ldt"]


def _found(index: Index, data: bytes, prepared: Prepared) -> Iterator[Any]:
    values = [data[off : off + length].hex() if length >= 0 else None for off, length in index.values.tolist()]
    for number, (_, table_number, key_off, key_len) in enumerate(index.updates.tolist()):
        table = prepared.tables[table_number]
        yield "update", table.table_id, data[key_off : key_off + key_len].hex()
        for row in index.rows[index.rows["update"] == number].tolist():
            _, _, kind, flags, ts, ttl, expires, deletion, values_at, values_n, cells_at, cells_n = row
            clustering = values[values_at : values_at + values_n]
            if kind == ix.PARTITION_DELETION:
                yield "partition", deletion
            elif kind in (ix.RANGE_START, ix.RANGE_END, ix.RANGE_BOUNDARY):
                yield kind, flags, _or_none(ts), _or_none(deletion), clustering
            else:
                times = (ts, ttl, expires) if flags & ix.HAS_TIMESTAMP else None
                yield "static" if kind == ix.STATIC_ROW else "row", times, _or_none(deletion), clustering
                yield _found_cells(index.cells[cells_at : cells_at + cells_n], data, table)


def _found_cells(lines: ix.Lines, data: bytes, table: PreparedTable) -> Any:
    deletions: dict[str, int] = {}
    cells = []
    for number, flags, ts, ttl, expires, path_off, path_len, value_off, value_len in lines.tolist():
        column = table.columns[number]
        if flags & ix.COMPLEX_DELETION:
            deletions[column.name] = ts
            continue
        path = data[path_off : path_off + path_len].hex() if column.multi else None
        value = None if flags & ix.CELL_DELETED else data[value_off : value_off + value_len].hex()
        cells.append((column.name, path, value, ts, ttl, expires))
    return deletions, cells


def _or_none(timestamp: int) -> int | None:
    return None if timestamp == ix.NO_DELETION else timestamp
