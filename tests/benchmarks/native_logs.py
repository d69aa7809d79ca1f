"""The perf segment's rows as a native log: what `native.py` reads beside it. Nothing is measured here.

Each mutation becomes one `change` record, in the same sections; a definition stands before the first and a `state` at
the end of each, as `writer_hooks` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tailer.rows.prepared import Prepared, prepare
from tailer.scan.index import HAS_TIMESTAMP, ROW_LINE
from tailer.scan.key import split_partition_key
from tailer.scan.mutation.scan import scan
from tailer.scan.record.record import (
    CLUSTERING,
    INSERT,
    PARTITION_KEY,
    REGULAR,
    STATIC,
    Cell,
    Change,
    ColumnItem,
    Definition,
    Row,
    encode_record,
    fingerprint_of,
)
from tailer.schema.model import TableDefinition
from tests.benchmarks.decoding import Work, payloads_of
from tests.helpers.log_writer import PLAIN, LogFolder
from tests.helpers.logs.codecs import Format
from tests.helpers.logs.native import NativeWriter

SEGMENT: Final = 1
KINDS: Final = {"partition_key": PARTITION_KEY, "clustering": CLUSTERING, "static": STATIC, "regular": REGULAR}


def native_copy(work: Work, path: Path, form: Format = PLAIN) -> Path:
    """A folder with the rows of a span of plain inserts into one table, as a finished native segment."""
    (table_id,) = (id for id, held in work.task.definitions.items() if held.cdc and not held.dropped)
    definition = work.task.definitions[table_id]
    prepared = prepare({table_id: definition}, {table_id})
    record = definition_record(definition)
    writer = NativeWriter(SEGMENT, form=form)
    for number, payloads in enumerate(payloads_of(work)):
        changes = [encode_record(change) for change in changes_of(payloads, prepared, record)]
        writer.section(changes if number else [encode_record(record), *changes])
    LogFolder(path).put(writer.frame, writer.sidecar())
    return path


def definition_record(definition: TableDefinition) -> Definition:
    """A server's table as a writer declares it."""
    columns = (*definition.partition_key, *definition.clustering, *definition.data_columns)
    items = tuple(ColumnItem(each.name, KINDS[each.kind], each.type, each.desc) for each in columns)
    what = bytes.fromhex(definition.id), definition.keyspace, definition.table, True
    return Definition(fingerprint_of(*what, items, ()), *what, items)


def changes_of(payloads: Sequence[bytes], prepared: Prepared, record: Definition) -> Iterator[Change]:
    """One change for each mutation."""
    data, starts, sizes = b"".join(payloads), [0], [len(payload) for payload in payloads]
    for size in sizes[:-1]:
        starts.append(starts[-1] + size)
    index = scan(data, starts, sizes, prepared.scan_tables)
    first = len(prepared.tables[0].key) + len(prepared.tables[0].clustering)
    values, cells = index.values.tolist(), index.cells.tolist()
    for line, (_, _, key_off, key_len) in zip(index.rows.tolist(), index.updates.tolist(), strict=True):
        _, _, kind, flags, ts, *_, values_at, values_n, cells_at, cells_n = line
        if kind != ROW_LINE or flags != HAS_TIMESTAMP:
            raise ValueError("a mutation that is more than an insert of one row")
        key = split_partition_key(data[key_off : key_off + key_len], len(prepared.tables[0].key))
        clustering = tuple(data[off : off + size] for off, size in values[values_at : values_at + values_n])
        held = tuple(
            Cell(first + cell[0], data[cell[7] : cell[7] + cell[8]], None, None, None, None)
            for cell in cells[cells_at : cells_at + cells_n]
        )
        row = Row(INSERT, tuple(key), clustering or None, False, None, None, None, held, None)
        yield Change(record.table_id, record.fingerprint, None, ts, (row,), None)
