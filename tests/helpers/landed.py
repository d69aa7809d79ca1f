"""Change rows landed as files of Parquet, as a stream would have left them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailer.rebuild import Table
from tests.helpers.rebuilt import INCOMPLETE, MISFITS, Recorded, recorded, tables_of

NO_SPARK_NAMES = {"CdcMixed.Table_Two"}
"""Tables whose column names are equal but for case."""


def land(recordings: Iterable[Recorded], file: Path) -> None:
    """All rows of the recordings in one file."""
    rows = [row for recording in recordings for row in recording.rows]
    pq.write_table(pa.Table.from_pylist(rows), file)


def rows_of_set(changes: Any, recording: Recorded) -> Any:
    """The rows of a landed frame that are of one recording: others have tables of the same names."""
    return changes.where(changes.table_id.isin(sorted({row["table_id"] for row in recording.rows})))


def some_tables(names: Iterable[str], root: Path, step: int) -> list[tuple[Recorded, Table]]:
    """Of every set some tables, other ones of each: together every table, and of each set at least one."""
    chosen = []
    for number, name in enumerate(names):
        recording = recorded(name, root)
        left_out = {*INCOMPLETE, *MISFITS, *NO_SPARK_NAMES}
        tables = [table for full, table in sorted(tables_of(recording).items()) if full not in left_out]
        picked = [table for at, table in enumerate(tables) if (at + number) % step == 0]
        chosen += [(recording, table) for table in picked or [tables[5 * number % len(tables)]]]
    return chosen
