"""Frames that are asked for change rows, or for images: that they are such, and one table's rows in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from tailer.errors import UsageError
from tailer.rebuild import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_changes(frame: DataFrame, needed: Sequence[str]) -> None:
    """UsageError for a frame without these columns of change rows."""
    remedy = "Read them with format('cdc_tail') without the option `table`."
    _check(frame, needed, "these are no change rows of the generic form", remedy)


def check_images(frame: DataFrame, needed: Sequence[str]) -> None:
    """UsageError for a frame without these columns of images."""
    _check(frame, needed, "these are no images", "Make them with tailer.spark.images.images(changes).")


def rows_of(frame: DataFrame, table: Table, needed: Sequence[str]) -> DataFrame:
    """The table's rows, with these columns alone."""
    from pyspark.sql import functions as F

    return frame.where(F.col("table_id") == str(UUID(table.definition.id))).select(*needed)


def rows_of_name(frame: DataFrame, table: Table, needed: Sequence[str]) -> DataFrame:
    """The rows of the table and of others that had its name, with these columns; where rows do not tell names, its own
    alone."""
    from pyspark.sql import functions as F

    if not {"keyspace", "table"} <= set(frame.columns):
        return rows_of(frame, table, needed)
    of_name = (F.col("keyspace") == table.definition.keyspace) & (F.col("table") == table.definition.table)
    return frame.where(of_name).select(*needed)


def _check(frame: DataFrame, needed: Sequence[str], what: str, remedy: str) -> None:
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise UsageError(what, expected=f"the columns {', '.join(needed)}", found=f"no {missing[0]}", remedy=remedy)
