"""What a newer definition of a table does to its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tailer.images.chain import Cause, changed_of, op_of, row_image
from tailer.images.image import Image
from tailer.images.packed import Row
from tailer.images.partition import Partition, View
from tailer.rebuild import Table
from tailer.rows.image_ops import Op
from tailer.schema.migration import types_in
from tailer.schema.model import Column
from tailer.typed_decode import json_decoder

_decode_fields: Final = json_decoder(dict[str, msgspec.Raw]).decode
_NULL: Final = b"null"
_UPSERT: Final[Op] = "upsert"


def changed_columns(old: Table, new: Table) -> tuple[str, ...]:
    """The columns that another definition has in another way, or not."""
    was, now = _columns(old), _columns(new)
    return tuple(dict.fromkeys(name for name in (*now, *was) if now.get(name) != was.get(name)))


def changes_rows(old: Table, new: Table) -> bool:
    """Whether rows may read differently: a column was dropped, or a type that a column uses has other fields."""
    if _dropped(old) != _dropped(new):
        return True
    was, now = _types(old), _types(new)
    return any(was[name] != now[name] for name in was.keys() & now.keys())


def _dropped(table: Table) -> dict[str, tuple[bool, int | None]]:
    columns = table.definition.data_columns
    return {
        column.name: (column.dropped, column.dropped_time)
        for column in columns
        if column.dropped or column.dropped_time
    }


def _types(table: Table) -> dict[str, dict[str, object]]:
    """The user-defined types of each column."""
    live = [column for column in table.definition.columns if not column.dropped]
    return {column.name: types_in(column.type, table.definition) for column in live}


def _other_types(old: Table, new: Table) -> tuple[bool, tuple[str, ...]]:
    """Whether a type in the key reads differently; the other columns that have another type."""
    definitions = old.definition, new.definition
    keys = [[types_in(c.type, each) for c in (*each.partition_key, *each.clustering)] for each in definitions]
    types = [{c.name: c.type for c in each.data_columns if not c.dropped} for each in definitions]
    return keys[0] != keys[1], tuple(name for name, type_ in types[1].items() if types[0].get(name, type_) != type_)


def _columns(table: Table) -> dict[str, tuple[Any, ...]]:
    def told(column: Column) -> tuple[Any, ...]:
        return column.kind, column.type, column.position, column.desc, column.dropped, column.dropped_time

    types = table.definition.types
    used = {column.name: [name for name in types if name in column.type] for column in table.definition.columns}
    return {
        column.name: (*told(column), *(types[name] for name in used[column.name]))
        for column in table.definition.columns
    }


def redefined(old: Partition, new: Partition, cause: Cause, now_us: int) -> tuple[list[Image], int]:
    """An image of each row that reads differently by the new definition; how many rows there are. `old`, `new`: one
    partition by both.

    A value goes with its dropped column; one that a drop did not cover comes back when the column is added again; a
    value of a user-defined type has the type's new fields. A column that is only added changes no row.
    """
    rekeyed, retyped = _other_types(old.table.facts.table, new.table.facts.table)
    images: list[Image] = []
    rows = list(zip(_rows(old), _rows(new), strict=True))
    for was, row in rows:
        before = old.view(was)
        new.settle(row, row.facts)
        after = new.view(row)
        if before.lives and not after.lives:
            # What is left of it says that columns are null, not that it is there.
            row.gone = True
            after = after._replace(text=None)
            changed = changed_of(new, row, before, after)
            images.append(row_image(new, row, "delete", before, after, changed, None, cause, now_us))
        elif changed := _reads_differently(before, after):
            op = _UPSERT if rekeyed and _is_in_part(after) else op_of(before, after)
            images.append(row_image(new, row, op, before, after, changed, None, cause, now_us))
        elif before.guessed and after.complete and after.text is not None:
            images.append(row_image(new, row, "read", after, after, (), None, cause, now_us))
        elif after.text is not None and (rekeyed or any(after.values.get(name) is not None for name in retyped)):
            # What keeps the table has the row under another key, or the value in a column of another type.
            op = _UPSERT if rekeyed and _is_in_part(after) else "update"
            images.append(row_image(new, row, op, before, after, retyped, None, cause, now_us))
    return images, len(rows)


def _is_in_part(view: View) -> bool:
    """Whether a row is live and not complete. No consumer has it under a key that reads differently, and an `update`
    of an incomplete row inserts none: it has to be an `upsert`."""
    return view.lives and not view.complete


def _reads_differently(before: View, after: View) -> tuple[str, ...]:
    """The names whose JSON differs; what is not shown is null."""
    was, now = _fields(before), _fields(after)
    return tuple(name for name in dict.fromkeys((*now, *was)) if was.get(name, _NULL) != now.get(name, _NULL))


def _fields(view: View) -> dict[str, bytes]:
    """By name, without the key: a renamed key column changes no row."""
    found = {} if view.text is None else _decode_fields(view.text)
    return {name: bytes(found[name]) for name in view.values if name in found}


def _rows(part: Partition) -> Iterator[Row]:
    yield part.header
    yield from part.every_row()
