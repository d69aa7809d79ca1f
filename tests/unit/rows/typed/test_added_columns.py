"""A column that was added stands behind the table's others, whatever its name and wherever a run begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import tailer
from tailer.schema.typed import META
from tests.helpers.log_writer import (
    TS,
    Column,
    LogFolder,
    SegmentWriter,
    Table,
    alter_payload,
    completed,
    create_payload,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.helpers.logs.native import CLUSTERING, INSERT, PARTITION_KEY, REGULAR, NativeTable, NativeWriter, cell, row
from tests.native.logs import folder_of

FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")


def columns(folder: Path, table: str = "ks.t", start: str = "earliest", **options: str) -> list[str]:
    """The table's own columns in the typed form."""
    batches = list(tailer.open(folder, table=table, **options).read(start))
    assert batches
    names = {tuple(batch.schema.names[: -len(META)]) for batch in batches}
    return list(names.pop())


def altered(parent: Path, *names: str) -> Path:
    """`ks.t` with columns added one by one, each in a segment of its own, before an insert."""
    table, folder = TABLE, LogFolder(parent / "cdc_raw")
    segments = [written(0, [create_payload(table)], table)]
    for number, name in enumerate(names, 1):
        added = Column(name, "static" if name.startswith("s") else "regular", "int")
        table = replace(table, columns=(*table.columns, added))
        segments.append(written(number, [alter_payload(table, added, TS + number)], table))
    for segment in segments:
        folder.put(segment, completed(segment))
    return folder.path


def written(number: int, payloads: list[bytes], table: Table) -> SegmentWriter:
    return segment_of(FIRST + number, [[*payloads, insert_payload(table, number, "a", number)]])


def test_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    folder = altered(tmp_path, "b", "s", "a")
    assert columns(folder) == ["pk", "ck", "v", "b", "s", "a"]
    assert columns(folder, start=f"{FIRST + 3}:0") == ["pk", "ck", "v", "b", "s", "a"], "from behind all of it too"


def test_a_later_run_has_the_same_order(tmp_path: Path) -> None:
    """By the journal alone: the segments that tell of it are gone."""
    folder = altered(tmp_path, "b", "a")
    log = tailer.open(folder, table="ks.t", consumer="billing")
    assert sum(batch.num_rows for batch in log.follow(once=True)) == 3
    last = written(3, [], TABLE)
    for file in folder.iterdir():
        file.unlink()
    LogFolder(folder).put(last, completed(last))
    assert columns(folder) == ["pk", "ck", "v", "b", "a"]


def test_those_of_create_table_stand_as_they_always_did(tmp_path: Path) -> None:
    """Static before regular, by name: what a file gives has no time and was there before what the log adds."""
    file = tmp_path / "schema.cql"
    file.write_text(
        f"CREATE TABLE ks.t (pk int, ck text, z int static, y int, v int, PRIMARY KEY (pk, ck)) WITH ID = {TABLE.id};\n"
    )
    folder = LogFolder(tmp_path / "cdc_raw")
    alter = alter_payload(TABLE, Column("a", "regular", "int"), TS)
    segment = written(0, [alter], TABLE)
    folder.put(segment, completed(segment))
    assert columns(folder.path, schema_file=str(file)) == ["pk", "ck", "z", "v", "y", "a"]


def test_of_a_native_log(tmp_path: Path) -> None:
    """Its definitions say all columns, in the order of the program, which may put a new one between."""
    before = (("id", PARTITION_KEY, "int", False), ("at", CLUSTERING, "int", False), ("v", REGULAR, "text", False))
    after = (*before[:2], ("new", REGULAR, "int", False), *before[2:])
    first, second = NativeWriter(7), NativeWriter(8)
    for writer, shape in ((first, before), (second, after)):
        table = NativeTable(bytes(16), "ks", "t", shape)
        key = [(1).to_bytes(4, "big")]
        made = row(INSERT, key, key, [cell(len(shape) - 1, b"x")])
        writer.section([table.definition, table.change([made])])
    assert columns(folder_of(tmp_path, first, second)) == ["id", "at", "v", "new"]
