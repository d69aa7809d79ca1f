"""Tables that images keep, as executors merge them: what SELECT showed, in batches of any size, and batch after batch.

Here the sorting and the storing are Python's; `tests/spark` has Spark and Delta.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pyarrow as pa
import pytest

from tailer.errors import DefinitionError
from tailer.images.image import Image
from tailer.images.image_rows import ImageRows
from tailer.rebuild import Table
from tailer.rebuild.arrow import row_columns
from tailer.rebuild.table import plan_of
from tailer.rows.image_ops import OF_ONE_ROW
from tailer.schema.model import Column, TableDefinition
from tailer.spark.image_rows import ImageMerging, encoded, merge_images, pack_images
from tests.helpers.amount import ALL
from tests.helpers.arrow_rows import spelled_rows, without_empty
from tests.helpers.imaged import images_of
from tests.helpers.rebuilt import INCOMPLETE, MISFITS, SETS, recorded, tables_of

SOME = ("50-cases", "50-crash-gap")
BESIDE = ("_partition", "_row", "_live", "_complete", "_state")


class Kept:
    """A table that is kept: what the executors gave, by partition and row."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows: dict[tuple[bytes, bytes], dict[str, Any]] = {}
        self.lines: dict[tuple[bytes, bytes], pa.Table] = {}

    def give(self, images: Sequence[Image], **more: Any) -> int:
        """A batch, in no order of Spark's; how many rows it wrote."""
        job = encoded(ImageMerging(self.table, "string", **more))
        mine = [image for image in images if image.op in OF_ONE_ROW]
        news = [line for batch in pack_images(job, [ImageRows(mine).to_arrow()]) for line in batch.to_pylist()]
        random.Random(len(mine)).shuffle(news)
        touched = {line["partition"] for line in news}
        frame = [{**line, "live": None} for line in news]
        frame += [
            {"partition": row["_partition"], "row": row["_row"], "facts": row["_state"], "live": row["_live"]}
            for row in self.rows.values()
            if row["_partition"] in touched or more
        ]
        frame.sort(key=lambda line: line["partition"])
        schema = pa.schema([(n, pa.binary()) for n in ("partition", "row", "facts")] + [("live", pa.bool_())])
        given = pa.RecordBatch.from_pylist(frame, schema=schema)
        wrote = 0
        for batch in merge_images(job, [given]):
            for at in range(len(batch)):
                line = pa.Table.from_batches([batch.slice(at, 1)])
                row = dict(zip(BESIDE, line.select(BESIDE).to_pylist()[0].values(), strict=True))
                key = row["_partition"], row["_row"]
                wrote += 1
                self.rows.pop(key, None)
                self.lines.pop(key, None)
                if row["_state"] is not None:
                    self.rows[key], self.lines[key] = row, line.drop_columns(list(BESIDE))
        return wrote

    def shown(self) -> pa.Table:
        live = [line for key, line in self.lines.items() if self.rows[key]["_live"]]
        schema = row_columns(plan_of(self.table), "string").schema
        return pa.concat_tables(live) if live else schema.empty_table()


def definition(*columns: Column, **more: Any) -> Table:
    return Table.of(TableDefinition("0" * 32, "ks", "t", (Column("pk", "partition_key", "int", 0), *columns), **more))


PLAIN = definition(
    Column("ck", "clustering", "text", 0), Column("v", "regular", "int"), Column("w", "regular", "list<int>")
)
STATIC = definition(Column("ck", "clustering", "text", 0), Column("s", "static", "text"), Column("v", "regular", "int"))


def image(op: str, seq: int, ck: str | None, after: Any, **more: Any) -> Image:
    """Of the partition 1. `ck` None: of its static row."""
    told: dict[str, Any] = {"changed": (), "complete": True, "write_ts": seq, **more}
    named = {"pk": 1} if ck is None else {"pk": 1, "ck": ck}
    return Image(
        "ks", "t", str(UUID(int=0)), 7, '{"pk":1}', None if ck is None else json.dumps({"ck": ck}), ck is None, None,
        op, None, None if after is None else json.dumps({**named, **after}), told["changed"],  # type: ignore[arg-type]
        told["write_ts"], seq, None, told["complete"],
    )  # fmt: skip


def rows(kept: Kept, *names: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in names) for row in kept.shown().to_pylist()), key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS if ALL else SOME)
def test_they_are_what_select_shows(name: str, sets_root: Path) -> None:
    recording = recorded(name, sets_root)
    images, choose, wrong = images_of(recording), random.Random(name), {}
    tables = {full: table for full, table in tables_of(recording).items() if full not in MISFITS}
    for full, table in tables.items():
        kept = Kept(table)
        mine = [each for each in images if f"{each.keyspace}.{each.table}" == full]
        for batch in _batches(mine, choose):
            kept.give(batch)
            assert kept.give(batch) == 0, "the batch once more"
        if spelled_rows(kept.shown(), table) != without_empty(recording.shown[full]):
            wrong[full] = kept.shown()
    assert wrong.keys() == set(INCOMPLETE) & set(tables), wrong


def _batches(images: Sequence[Image], choose: random.Random) -> Iterable[Sequence[Image]]:
    at = 0
    while at < len(images):
        count = choose.choice((1, 7, 500))
        yield images[at : at + count]
        at += count


def test_what_is_not_known_stays_as_it_is() -> None:
    kept = Kept(PLAIN)
    kept.give([image("insert", 1, "a", {"v": 1, "w": [1]}), image("upsert", 2, "b", {"v": 1}, complete=False)])
    kept.give([
        image("update", 3, "a", {"v": 2}, changed=("v",), complete=False),
        # What may have changed, and is not known, is nothing that is known.
        image("update", 4, "b", {"w": [2]}, changed=("v", "w"), complete=False),
        # A column of a row that may not be there.
        image("update", 5, "c", {"v": None}, changed=("v",), complete=False),
    ])  # fmt: skip
    assert rows(kept, "ck", "v", "w") == [("a", 2, [1]), ("b", None, [2])]
    assert sorted(row["_complete"] for row in kept.rows.values()) == [False, False]
    # A row that comes back is not what it was.
    kept.give([image("delete", 6, "a", None), image("upsert", 7, "a", {"v": 3}, complete=False)])
    assert rows(kept, "ck", "v", "w") == [("a", 3, None), ("b", None, [2])]
    kept.give([image("update", 8, "a", {"v": 4, "w": None})])
    assert {row["_complete"] for row in kept.rows.values()} == {True, False}


def test_an_image_that_is_not_newer_does_nothing() -> None:
    kept = Kept(PLAIN)
    batch = [
        image("insert", 1, "a", {"v": 1, "w": None}),
        image("update", 5, "a", {"v": 2, "w": None}),
        image("insert", 2, "b", {"v": 1, "w": None}),
        image("delete", 3, "b", None),
    ]
    assert kept.give(batch) == 1
    assert kept.give(batch) == kept.give(batch[:1]) == 0
    assert kept.give([image("delete", 4, "a", None)]) == kept.give([image("update", 5, "a", {"v": 9, "w": None})]) == 0
    assert rows(kept, "ck", "v") == [("a", 2)]


def test_static_columns_stand_in_each_row_and_alone() -> None:
    kept = Kept(STATIC)
    kept.give([image("insert", 1, None, {"s": "x"})])
    assert rows(kept, "ck", "s", "v") == [(None, "x", None)]
    kept.give([image("insert", 2, "a", {"v": 1}), image("insert", 3, "b", {"v": 2})])
    assert rows(kept, "ck", "s", "v") == [("a", "x", 1), ("b", "x", 2)]
    assert kept.give([image("update", 4, None, {"s": "y"})]) == 3
    assert rows(kept, "ck", "s", "v") == [("a", "y", 1), ("b", "y", 2)]
    kept.give([image("delete", 5, "a", None), image("delete", 6, "b", None)])
    assert rows(kept, "ck", "s", "v") == [(None, "y", None)]
    kept.give([image("delete", 7, None, None)])
    assert (rows(kept, "ck"), kept.rows) == ([], {})


def test_a_column_that_was_dropped_and_is_there_again_is_empty() -> None:
    kept = Kept(PLAIN)
    kept.give([image("insert", 3, "a", {"v": 1, "w": [1]})])
    again = Column("v", "regular", "int", dropped_time=9)
    kept.table = definition(PLAIN.definition.columns[1], again, PLAIN.definition.columns[3])
    kept.give([image("insert", 10, "b", {"v": 5, "w": None})], renewed=True)
    assert rows(kept, "ck", "v", "w") == [("a", None, [1]), ("b", 5, None)]


def test_nor_has_it_what_a_row_that_is_known_in_part_kept() -> None:
    kept = Kept(PLAIN)
    kept.give([image("upsert", 3, "a", {"v": 1, "w": [1]}, complete=False)])
    ck, v, w = PLAIN.definition.columns[1:]
    kept.table = definition(ck, v, msgspec.structs.replace(w, dropped=True, dropped_time=9))
    kept.give([image("update", 10, "a", {"v": 2}, changed=("v",), complete=False)])
    kept.table = definition(ck, v, msgspec.structs.replace(w, dropped_time=9))
    kept.give([image("insert", 20, "b", {"v": 5, "w": None})], renewed=True)
    assert rows(kept, "ck", "v", "w") == [("a", 2, None), ("b", 5, None)]


def test_a_drop_that_voids_less_than_the_row_has_takes_the_value_that_its_image_names() -> None:
    """DROP w USING TIMESTAMP: w was written before that time, v behind it. The ADD has no image."""
    kept = Kept(PLAIN)
    ck, v, w = PLAIN.definition.columns[1:]
    kept.give([
        image("upsert", 3, "a", {"v": 1, "w": [1]}, complete=False),
        image("update", 12, "a", {"v": 2}, changed=("v",), complete=False),
        image("upsert", 13, "b", {"v": 3, "w": [3]}, complete=False),
    ])  # fmt: skip
    kept.table = definition(ck, v, msgspec.structs.replace(w, dropped=True, dropped_time=9))
    dropped = {"changed": ("w",), "write_ts": None, "complete": False}
    kept.give([image("update", 14, "a", {"v": 2}, **dropped), image("update", 15, "b", {"v": 3}, **dropped)])
    kept.table = definition(ck, v, msgspec.structs.replace(w, dropped_time=9))
    # What was written behind the time of the DROP comes back with the ADD.
    kept.give([image("update", 16, "b", {"v": 3, "w": [3]}, **dropped)], renewed=True)
    assert rows(kept, "ck", "v", "w") == [("a", 2, None), ("b", 3, [3])]
    kept.give([image("update", 17, "a", {"w": [4]}, changed=("w",), complete=False)])
    assert rows(kept, "ck", "v", "w") == [("a", 2, [4]), ("b", 3, [3])]


def test_a_table_that_is_gone() -> None:
    kept = Kept(STATIC)
    kept.give([image("insert", 1, None, {"s": "x"}), image("insert", 2, "a", {"v": 1})])
    kept.give([], gone_seq=3)
    assert kept.rows == {}


def test_a_table_that_is_created_again_with_its_id_has_its_new_rows_alone() -> None:
    kept = Kept(STATIC)
    kept.give([image("insert", 1, None, {"s": "x"}), image("insert", 2, "a", {"v": 1})])
    kept.give([image("insert", 4, "a", {"v": 2})], gone_seq=3)
    assert rows(kept, "ck", "s", "v") == [("a", None, 2)]


def test_a_value_of_the_type_before_is_null_where_a_column_was_added_again_with_another_one() -> None:
    """Written with a timestamp of the future, so that the DROP does not void it; an image of the row follows."""
    ck, v, w = PLAIN.definition.columns[1:]
    kept = Kept(definition(ck, v, msgspec.structs.replace(w, type="text")))
    kept.give([image("insert", 30, "a", {"v": 1, "w": "b"})])
    kept.table = definition(ck, v, msgspec.structs.replace(w, type="blob", dropped_time=9))
    kept.give([image("insert", 31, "b", {"v": 5, "w": "0xff"})], renewed=True)
    assert rows(kept, "ck", "v", "w") == [("a", 1, None), ("b", 5, b"\xff")]


def test_a_column_that_the_definition_does_not_know() -> None:
    with pytest.raises(Exception, match=r"\[CDC-3\] the definition of ks\.t has no column x, which an image has"):
        Kept(PLAIN).give([image("insert", 1, "a", {"v": 1, "w": None, "x": 1})])
    assert DefinitionError.code == 3
