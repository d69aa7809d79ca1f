"""A writer of commit logs for tests, from the format page alone: what tests use of `tests.helpers.logs`.

table = simple_table("ks", "t")
writer = segment_of(1700000000001, [[create_payload(table)], [insert_payload(table, 1, "a", 10)]])
folder = LogFolder(tmp_path / "cdc_raw")
folder.put(writer, completed(writer))
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

from tests.helpers.logs.codecs import AES, FORMATS, IV, KEY, PLAIN, Format
from tests.helpers.logs.folder import LogFolder, completed, live, restarted
from tests.helpers.logs.frame import (
    EntryPlace,
    SectionPlace,
    SegmentWriter,
    encode_entry,
    encode_header,
    encode_marker,
    segment_of,
)
from tests.helpers.logs.model import (
    NO_DELETION,
    Bound,
    Cell,
    Column,
    Complex,
    Deletion,
    Liveness,
    Marker,
    Mutation,
    Row,
    Table,
    Update,
)
from tests.helpers.logs.mutation import encode_mutation, encode_update
from tests.helpers.logs.schema import (
    add_column,
    alter_table,
    create_table,
    create_type,
    drop_column,
    drop_keyspace,
    drop_table,
    rename_column,
    system_id,
)
from tests.helpers.logs.wire import i32

__all__ = [
    "AES",
    "FORMATS",
    "IV",
    "KEY",
    "NO_DELETION",
    "PLAIN",
    "TS",
    "Bound",
    "Cell",
    "Column",
    "Complex",
    "Deletion",
    "EntryPlace",
    "Format",
    "Liveness",
    "LogFolder",
    "Marker",
    "Mutation",
    "Row",
    "SectionPlace",
    "SegmentWriter",
    "Table",
    "Update",
    "add_column",
    "alter_payload",
    "alter_table",
    "captured_payload",
    "completed",
    "create_payload",
    "create_table",
    "create_type",
    "drop_column",
    "drop_keyspace",
    "drop_table",
    "encode_entry",
    "encode_header",
    "encode_marker",
    "encode_mutation",
    "encode_update",
    "i32",
    "insert",
    "insert_payload",
    "live",
    "one_row_log",
    "one_row_segment",
    "rename_column",
    "restarted",
    "segment_of",
    "simple_table",
    "system_id",
]

TS = 1_700_000_000_000_000
"""µs; what the examples count from."""


def simple_table(keyspace: str, name: str, number: int = 1, *, cdc: bool = True) -> Table:
    """`(pk int, ck text, v int, PRIMARY KEY (pk, ck))`; the id is made of `number`."""
    columns = (
        Column("pk", "partition_key", "int", 0),
        Column("ck", "clustering", "text", 0),
        Column("v", "regular", "int"),
    )
    return Table(UUID(int=number << 64 | 0x11EE << 48 | 0x8888), keyspace, name, columns, cdc)


def insert(table: Table, pk: int, ck: str, v: int, ts: int = TS) -> Mutation:
    """INSERT INTO a simple table."""
    row = Row((ck.encode(),), Liveness(ts), None, (("v", Cell(i32(v), ts, like_row=1)),))
    return (Update(table, i32(pk), (row,)),)


def create_payload(table: Table, ts: int = TS) -> bytes:
    """What an entry holds that creates the table."""
    return encode_mutation(create_table(table, ts))


def alter_payload(table: Table, column: Column, ts: int = TS) -> bytes:
    """What an entry holds that adds a column to the table."""
    return encode_mutation(add_column(table, column, ts))


def captured_payload(table: Table, *, cdc: bool, ts: int = TS) -> bytes:
    """What an entry holds that alters whether the table captures."""
    return encode_mutation(alter_table(replace(table, cdc=cdc), ts))


def insert_payload(table: Table, pk: int, ck: str, v: int, ts: int = TS) -> bytes:
    """What an entry holds that inserts into a simple table."""
    return encode_mutation(insert(table, pk, ck, v, ts))


def one_row_segment(table: Table, first: int, number: int) -> SegmentWriter:
    """The segment `first + number`: the table's definition, and in a section of its own a row that holds `number`."""
    return segment_of(first + number, [[create_payload(table)], [insert_payload(table, number, "a", number)]])


def one_row_log(path: Path, table: Table, first: int, count: int) -> LogFolder:
    """The folder with so many segments of `one_row_segment`, the last one still written."""
    folder = LogFolder(path)
    for number in range(count):
        writer = one_row_segment(table, first, number)
        folder.put(writer, live(writer) if number == count - 1 else completed(writer))
    return folder
