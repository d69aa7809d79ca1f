"""A service's log of small segments, written without threads: its changes, and the numbers of those that come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.writer.plain import ORDERS, PLAIN, segments
from writer_hooks import SegmentLog


def small(folder: Path, **options: Any) -> SegmentLog:
    """The log of both tables in `folder`. `options`: of `SegmentLog.open`, over those said above."""
    return SegmentLog.open(folder, tables=[ORDERS, PLAIN], **{"segment_bytes": 4096, "threads": False, **options})


def order(number: int, size: int = 0) -> Any:
    """A row of the table that captures, with a text of `size` letters."""
    return ORDERS.insert({"id": number, "note": "n" * size})


def note(number: int, size: int = 0) -> Any:
    """A row of the table that does not capture."""
    return PLAIN.insert({"id": number, "note": "n" * size})


def numbers(replayed: Any) -> list[int]:
    """The rows' numbers, in the order in which they come."""
    return [int.from_bytes(row.partition_key[0], "big") for each in replayed for row in each.change.rows]


def own(folder: Path) -> list[int]:
    """Ids of the segments that the service itself still has."""
    return [segment.header.segment for segment in segments(folder / "commitlog")]
