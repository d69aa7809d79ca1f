"""What time alone does to rows of a partition. The caller says which ones are due."""

from __future__ import annotations

from collections.abc import Iterable

from tailer.images.chain import NO_CAUSE, changed_of, op_unless_same, row_image
from tailer.images.image import Image
from tailer.images.packed import Row
from tailer.images.partition import Partition


def expired(part: Partition, rows: Iterable[Row], now_us: int) -> list[Image]:
    """An image of each row (or, of the header, the static row) in which something has expired that was seen."""
    images = []
    for row in rows:
        if row.due is None or row.due > part.at:
            continue
        before = part.view(row, row.due - 1)
        after = part.view(row)
        row.due = part.next_due(row)
        op = op_unless_same(before, after)
        if op is not None:
            if op != "read":
                op = "expire" if after.text is None else "update"
            changed = changed_of(part, row, before, after)
            images.append(row_image(part, row, op, before, after, changed, None, NO_CAUSE, now_us))
    return images
