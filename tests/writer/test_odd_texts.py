"""Texts of keys that look like an escape (`tailer.types.texts`): a program's text is itself; JSON is a change row's."""

from __future__ import annotations

from pathlib import Path

from tailer.scan.record.record import Change, decode_record
from writer_hooks.cql_tables import read_tables
from writer_hooks.declared_table import Table
from writer_hooks.read_back import RowReader, RowValues
from writer_hooks.table_model import Column

TEXT = "cdc-tail-bytes:c080"
CQL = """
CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
CREATE TABLE ks.t (k text, c text, v text, s set<text>, PRIMARY KEY (k, c)) WITH cdc = true;
"""
VALUES = {"k": TEXT, "c": TEXT, "v": TEXT, "s": {TEXT}, "m": {TEXT: TEXT}}
TABLE = Table(
    "ks.t",
    [
        Column("k", "text", "partition_key"),
        Column("c", "text", "clustering"),
        Column("v", "text"),
        Column("s", "set<text>"),
        Column("m", "map<text, text>"),
    ],
)


def bytes_of(change: object) -> bytes:
    return change.encode(None, 5_000_000)  # type: ignore[attr-defined,no-any-return]


def test_a_program_reads_the_text_that_it_wrote() -> None:
    payload = bytes_of(TABLE.insert(VALUES))
    assert payload.count(TEXT.encode()) == 6
    record = decode_record(payload)
    assert isinstance(record, Change)
    keys = {"k": TEXT, "c": TEXT}
    put = {"s": {"replaced": True, "put": [TEXT]}, "m": {"replaced": True, "put": {TEXT: TEXT}}}
    data = {"v": TEXT, **put}
    assert list(RowReader(TABLE.model).rows(record)) == [RowValues("insert", keys, data)]


def test_json_is_that_of_change_rows(tmp_path: Path) -> None:
    file = tmp_path / "tables.cql"
    file.write_text(CQL)
    table = read_tables(file)["ks.t"]
    payload = bytes_of(table.insert({"k": TEXT, "c": TEXT, "v": TEXT, "s": [TEXT]}))
    assert payload.count(b"\xc0\x80") == 3
    assert payload.count(TEXT.encode()) == 1
