"""Alters a table step by step and merges what it gives into a kept table, each time by a new writer; prints what is in
it as JSON lines. A program, because a session with a lakehouse's jar needs a JVM of its own:

    python -m tests.spark.migrations_run FOLDER-FOR-EVERYTHING FOLDER-OF-THE-SETS

`LAKEHOUSE`, from the environment: `delta` (if not given) or `iceberg`. The rows are made here, by hand.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tailer.errors import CdcError
from tailer.images.image import Image
from tailer.images.image_rows import ImageRows
from tailer.rebuild import Table
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.schema.told import told_text
from tailer.spark.state import rebuild
from tests.spark.told import tell

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY, CLUSTERING = Column("k", "partition_key", "int", 0), Column("c", "clustering", "int", 0)
V, W, U = Column("v", "regular", "int"), Column("w", "regular", "text"), Column("u", "regular", "frozen<t>")
A, B = TypeField("a", "int"), TypeField("b", "text")
GONE = Column("w", "regular", "text", dropped=True, dropped_time=100)
BACK = Column("w", "regular", "blob", dropped_time=100, added_time=110)
RENAMED = Column("c2", "clustering", "int", 0)
STATIC = Column("s", "static", "int")
ONE, TWO = "11" * 16, "22" * 16


def table(*columns: Column, id: str = ONE, fields: tuple[TypeField, ...] = (A,)) -> TableDefinition:
    return TableDefinition(id, "ks", "t", (*columns,), cdc=True, types={"t": fields} if U in columns else {})


MADE = table(KEY, CLUSTERING, V, W, U)
ALTERED = table(KEY, RENAMED, STATIC, V, U, GONE, fields=(A, B))
ADDED = table(KEY, RENAMED, STATIC, V, U, BACK, fields=(A, B))
OTHER = table(Column("k", "partition_key", "text", 0), Column("z", "regular", "int"), id=TWO)
AGAIN = table(KEY, Column("y", "regular", "int"), id=TWO)

_TEXTS = ("node", "keyspace", "table", "table_id", "op", "partition_key", "clustering", "columns", "range", "cells")
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        ("is_static", pa.bool_()),
        *((name, pa.int64()) for name in ("write_ts", "expires_at", "token", "segment", "offset")),
        ("ttl", pa.int32()),
    ]
)


def change(
    definition: TableDefinition, offset: int, op: str = "insert", node: str = "n1", **more: Any
) -> dict[str, Any]:
    named = {"node": node, "keyspace": "ks", "table": "t", "table_id": str(UUID(definition.id)), "op": op}
    return {**named, "is_static": False, "write_ts": offset, "segment": 1, "offset": offset, "token": 7, **more}


def landed(spark: SparkSession, work: Path, rows: pa.Table) -> DataFrame:
    file = work / f"{uuid4()}.parquet"
    pq.write_table(rows, file)
    return spark.read.parquet(str(file))


class Lake:
    """Where tables are kept: Delta, or Iceberg."""

    def __init__(self, work: Path) -> None:
        self.work, self.kind = work, os.environ.get("LAKEHOUSE", "delta")
        if self.kind == "delta":
            from tests.spark.delta_run import session

            self.spark, self.beside = session(), "_"
            return
        from tailer.spark.session import open_session
        from tests.helpers.iceberg import settings

        self.spark = open_session("iceberg", lambda line: None, master="local[2]", conf=dict(settings(work / "lake")))
        self.beside = "_cdc_"

    def target(self, name: str) -> str:
        return str(self.work / name) if self.kind == "delta" else f"lake.m.{name}"

    def merge(self, name: str, definition: TableDefinition | Table, *, images: bool = False) -> Any:
        if self.kind == "delta":
            from tailer.spark.delta import DeltaImageMerge, DeltaMerge

            return (DeltaImageMerge if images else DeltaMerge)(self.spark, self.target(name), definition)
        from tailer.spark.iceberg import IcebergMerge

        return IcebergMerge(self.spark, self.target(name), definition)

    def whole(self, name: str) -> list[dict[str, Any]]:
        """Every column but those beside the table's own, of rows that are alive."""
        read = self.spark.read.format(self.kind).load(self.target(name)).where(f"{self.beside}live")
        own = [column for column in read.columns if not column.startswith(self.beside)]
        return plain(read.select(own))

    def live(self, name: str) -> list[dict[str, Any]]:
        from importlib import import_module

        return plain(import_module(f"tailer.spark.{self.kind}").live_rows(self.spark, self.target(name)))


def plain(frame: DataFrame) -> list[dict[str, Any]]:
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    shown = [
        {name: value.hex() if isinstance(value, bytes | bytearray) else value for name, value in row.items()}
        for row in rows
    ]
    return sorted(shown, key=str)


def by_changes(lake: Lake) -> None:
    """Each step by a writer that knows nothing of the one before."""
    everything: list[dict[str, Any]] = []

    def step(what: str, definition: TableDefinition | Table, rows: Sequence[dict[str, Any]]) -> None:
        everything.extend(rows)
        frame = landed(lake.spark, lake.work, pa.Table.from_pylist(list(rows), schema=_SCHEMA))
        merge = lake.merge("changes", definition)
        for _ in range(2):
            merge(frame, 0)
        tell(what, lake.live("changes"), whole=lake.whole("changes"))

    first = {"partition_key": '{"k":1}', "clustering": '{"c":1}'}
    step("made", MADE, [change(MADE, 10, columns='{"v":1,"w":"x","u":{"a":1}}', **first)])
    second = {"partition_key": '{"k":2}', "clustering": '{"c2":2}'}
    step("altered", ALTERED, [change(ALTERED, 110, columns='{"v":2,"u":{"a":2,"b":"y"}}', **second)])
    third = {"partition_key": '{"k":3}', "clustering": '{"c2":3}'}
    step("added", ADDED, [change(ADDED, 120, columns='{"w":"0xff"}', **third)])
    # The definition is the old one: the log tells of the other table.
    drop, create = change(MADE, 130, "schema", write_ts=None, token=None), change(OTHER, 131, "schema", write_ts=None)
    create["columns"] = told_text(OTHER, capture_begins=False)
    text = {"partition_key": '{"k":"a"}'}
    step("other", ADDED, [drop, create, change(OTHER, 140, columns='{"z":1}', **text)])
    # Again with the same id and another key. The second node is late.
    drop, create = change(OTHER, 150, "schema", write_ts=None, token=None), change(AGAIN, 151, "schema", write_ts=None)
    create["columns"] = told_text(AGAIN, capture_begins=False)
    step("again", OTHER, [drop, create, change(AGAIN, 160, columns='{"y":1}', partition_key='{"k":5}')])
    late = msgspec_replace(Table.of(AGAIN), ended={"n1": (1, 150)}, born=151)
    node = {"node": "n2", "partition_key": '{"k":"b"}', "columns": '{"z":9}'}
    rows = [change(OTHER, 145, **node), change(AGAIN, 165, node="n2", columns='{"y":2}', partition_key='{"k":6}')]
    step("late", late, rows)
    frame = landed(lake.spark, lake.work, pa.Table.from_pylist(everything, schema=_SCHEMA))
    tell("current state", plain(rebuild(frame, late)))


def msgspec_replace(made: Table, **more: Any) -> Any:
    import msgspec

    return msgspec.structs.replace(made, **more)


def image(definition: TableDefinition, seq: int, op: str, after: str | None, key: str | None, **more: Any) -> Image:
    named: dict[str, Any] = dict.fromkeys(Image.__struct_fields__)
    named |= {"keyspace": "ks", "table": "t", "table_id": str(UUID(definition.id)), "is_static": False, "seq": seq}
    named |= {"op": op, "after": after, "changed": (), "complete": True, "token": 7, "partition_key": key}
    return Image(**{**named, "write_ts": seq, **more})


def by_images(lake: Lake) -> None:
    def step(what: str, definition: TableDefinition | Table, images: Sequence[Image]) -> None:
        frame = landed(lake.spark, lake.work, pa.Table.from_batches([ImageRows(images).to_arrow()]))
        try:
            for _ in range(2):
                lake.merge("images", definition, images=True)(frame, 0)
        except CdcError as error:
            tell(f"images {what}", [error.sentence()])
        except Exception as error:
            tell(f"images {what}", [str(error)])
        else:
            tell(f"images {what}", lake.whole("images"))

    one, two = {"clustering": '{"c":1}'}, {"clustering": '{"c2":2}'}
    step("made", MADE, [image(MADE, 10, "insert", '{"k":1,"c":1,"v":1,"w":"x","u":{"a":1}}', '{"k":1}', **one)])
    after = '{"k":2,"c2":2,"s":null,"v":2,"u":{"a":2,"b":"y"}}'
    read = image(
        ALTERED, 105, "read", '{"k":1,"c2":1,"s":null,"v":1,"u":{"a":1,"b":null}}', '{"k":1}', clustering='{"c2":1}'
    )
    step("altered", ALTERED, [read, image(ALTERED, 110, "insert", after, '{"k":2}', **two)])
    step("unknown", ALTERED, [image(ALTERED, 111, "merge", after, '{"k":2}', **two)])
    # Dropped, and created again with the same id in one batch: the entry of the log tells the rows apart, not `seq`.
    again = msgspec_replace(Table.of(table(KEY, CLUSTERING, V)), ended={"n1": (1, 121)}, born=121)
    node = {"node": "n1", "segment": 1}
    drop = image(ALTERED, 120, "drop", None, None, token=None, offset=120, **node)
    late = image(ALTERED, 125, "insert", after, '{"k":2}', offset=119, **two, **node)
    new = image(MADE, 120, "insert", '{"k":9,"c":9,"v":9}', '{"k":9}', clustering='{"c":9}', offset=130, **node)
    step("again", again, [late, drop, new])
    step("other", OTHER, [image(OTHER, 140, "insert", '{"k":"a","z":1}', '{"k":"a"}', clustering=None)])


def main(work: Path, root: Path) -> None:
    lake = Lake(work)
    try:
        tell("session", [])
        by_changes(lake)
        if lake.kind == "delta":
            by_images(lake)
    finally:
        lake.spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
