"""What a newer definition of a table does to its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailer.images.chain import Cause, changed_of, row_image
from tailer.images.image import Image
from tailer.images.packed import Row
from tailer.images.partition import Partition
from tailer.rebuild import Table
from tailer.schema.model import Column


def changed_columns(old: Table, new: Table) -> tuple[str, ...]:
    """The columns that another definition has in another way, or not."""
    was, now = _columns(old), _columns(new)
    return tuple(dict.fromkeys(name for name in (*now, *was) if now.get(name) != was.get(name)))


def voids(old: Table, new: Table) -> bool:
    """Whether a column was dropped."""

    def dropped(table: Table) -> dict[str, Any]:
        return {
            c.name: (c.dropped, c.dropped_time) for c in table.definition.data_columns if c.dropped or c.dropped_time
        }

    was = dropped(old)
    return any(was.get(name) != how for name, how in dropped(new).items())


def _columns(table: Table) -> dict[str, tuple[Any, ...]]:
    def told(column: Column) -> tuple[Any, ...]:
        return column.kind, column.type, column.position, column.desc, column.dropped, column.dropped_time

    types = table.definition.types
    used = {column.name: [name for name in types if name in column.type] for column in table.definition.columns}
    return {
        column.name: (*told(column), *(types[name] for name in used[column.name]))
        for column in table.definition.columns
    }


def voided(old: Partition, new: Partition, cause: Cause, now_us: int) -> Iterator[Image]:
    """The images of rows that existed only by a dropped column, and of rows that nothing else made incomplete.

    `old`, `new`: one partition by both definitions.
    """
    for was, row in zip(_rows(old), _rows(new), strict=True):
        before = old.view(was)
        new.settle(row, row.facts)
        after = new.view(row)
        if before.lives and not after.lives:
            # What is left of it says that columns are null, not that it is there.
            row.gone = True
            after = after._replace(text=None)
            changed = changed_of(new, row, before, after)
            yield row_image(new, row, "delete", before, after, changed, None, cause, now_us)
        elif before.guessed and after.complete and after.text is not None:
            yield row_image(new, row, "read", after, after, (), None, cause, now_us)


def _rows(part: Partition) -> Iterator[Row]:
    yield part.header
    yield from part.every_row()
