"""Rows of a partition that are known whole from now on, because all of their table is: their images."""

from __future__ import annotations

from tailer.images.chain import Cause, changed_of, op_unless_same, row_image
from tailer.images.image import Image
from tailer.images.partition import Partition


def confirmed(part: Partition, cause: Cause, now_us: int) -> tuple[list[Image], int]:
    """The images of rows that become complete, or that are known not to exist, and how many rows there are."""
    rows = [part.header, *part.every_row()]
    before = [part.view(row) for row in rows]
    part.confirmed = True
    images: list[Image] = []
    for row, was in zip(rows, before, strict=True):
        now = part.view(row)
        op = op_unless_same(was, now)
        if op is not None:
            changed = () if op == "read" else changed_of(part, row, was, now)
            images.append(row_image(part, row, op, was, now, changed, None, cause, now_us))
    return images, len(rows)
