"""What Spark's tasks do, without Spark: every table of every recorded set, rebuilt at once and merged in batches."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tailer.rebuild import Table
from tailer.rebuild.changes import NEEDED, truncation
from tailer.spark.errors import CdcTailError
from tailer.spark.rebuilding import STORED, Rebuilding, encoded, merge_rows, pack_changes, rebuild_rows
from tests.helpers.arrow_rows import spelled_rows, without_empty
from tests.helpers.rebuilt import INCOMPLETE, MISFITS, SETS, recorded, tables_of

MANY = 100
"""Changes of a table; there are a few with more, which would take most of the time."""

FIELDS = ("partition", "row", "facts", "live", "until")


def frame(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows of `FIELDS`, sorted as Spark sorts them."""
    kinds = (pa.binary(), pa.binary(), pa.binary(), pa.bool_(), pa.int64())
    turned = list(zip(*sorted(rows, key=lambda row: row[0]), strict=True)) or [()] * len(kinds)
    return pa.record_batch([pa.array(c, k) for c, k in zip(turned, kinds, strict=True)], names=list(FIELDS))


def packed(job: bytes, changes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    batch = pa.RecordBatch.from_pylist([{name: row[name] for name in NEEDED} for row in changes])
    return [
        (row["partition"], row["row"], row["facts"], None, None)
        for made in pack_changes(job, [batch] if changes else [])
        for row in made.to_pylist()
    ]


class Store:
    """A merged table: what DeltaMerge keeps, in a dictionary."""

    def __init__(self) -> None:
        self.rows: dict[tuple[bytes, bytes], dict[str, Any]] = {}

    def merge(self, task: Rebuilding, changes: list[dict[str, Any]]) -> int:
        """Merge a batch; gives how many rows it touched."""
        job = encoded(task)
        news = packed(job, changes)
        touched = {row[0] for row in news}
        old = [
            (*key, row["_state"], row["_live"], row["_until"]) for key, row in self.rows.items() if key[0] in touched
        ]
        count = 0
        for batch in merge_rows(job, [frame([*news, *old])]):
            for row in range(batch.num_rows):
                held = {f"_{name}": batch[f"_{name}"][row].as_py() for name in STORED}
                held["own"] = batch.slice(row, 1).select(batch.schema.names[: -len(STORED)])
                key = (held["_partition"], held["_row"])
                count += 1
                if held["_state"] is None:
                    del self.rows[key]
                else:
                    self.rows[key] = held
        return count

    def live(self, schema: pa.Schema) -> pa.Table:
        return pa.Table.from_batches([row["own"] for row in self.rows.values() if row["_live"]], schema)


def by_table(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["table_id"].replace("-", "")].append(row)
    return found


def own_schema(table: Table) -> pa.Schema:
    from tailer.rebuild.arrow import row_columns
    from tailer.rebuild.table import plan_of

    return row_columns(plan_of(table), "string").schema


def stands(change: dict[str, Any], truncations: dict[str, tuple[int, int]]) -> bool:
    return (change["segment"], change["offset"]) >= truncations.get(change["node"], (0, 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_rebuilt_and_merged_tables_are_what_select_shows(name: str, sets_root: Path) -> None:
    recording = recorded(name, sets_root)
    changes = by_table(recording.rows)
    wrong = set()
    for full, table in tables_of(recording).items():
        if full in INCOMPLETE:
            continue
        mine = changes[table.definition.id]
        truncations = dict(told for row in mine if (told := truncation(row)) is not None)
        task = Rebuilding(table, recording.at, "string", truncations, on_misfit="null" if full in MISFITS else "fail")
        schema, shown = own_schema(table), recording.shown[full]
        rebuilt = list(
            rebuild_rows(encoded(task), [frame(packed(encoded(task), [r for r in mine if stands(r, truncations)]))])
        )
        store = Store()
        # The later half first; what was given twice changes nothing.
        for piece in (mine[len(mine) // 2 :], mine):
            store.merge(task, piece)
        assert len(mine) > MANY or store.merge(task, mine) == 0
        if full in MISFITS:
            assert len(store.live(schema)) == len(shown)
            continue
        if spelled_rows(pa.Table.from_batches(rebuilt, schema), table) != without_empty(shown) or spelled_rows(
            store.live(schema), table
        ) != without_empty(shown):
            wrong.add(full)
    assert wrong == set()


def test_a_value_without_room_is_an_error_that_names_it(sets_root: Path) -> None:
    recording = recorded("50-cases", sets_root)
    table = tables_of(recording)["cdc.scalars"]
    job = encoded(Rebuilding(table, recording.at))
    news = packed(job, by_table(recording.rows)[table.definition.id])
    with pytest.raises(CdcTailError, match=r"\[CDC-3\] a value of column .* on_misfit='null'"):
        list(rebuild_rows(job, [frame(news)]))
