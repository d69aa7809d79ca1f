"""An image: what one entry of the log did to one row. Values only; knows neither state nor store."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from tailer.rows.image_ops import Op

if TYPE_CHECKING:
    import pyarrow


class Image(msgspec.Struct, frozen=True, array_like=True):
    """One row before and after, with JSON text where the change row has it; fields in the order of the columns.

    `before`, `after`: the row as JSON, None where it is not there. Of a complete row all columns, nulls too; of another
    one those that are known; equal where `op` is `read`. `changed`: the names of the columns whose value differs, or
    may differ.

    `range`: the bounds of a `delete_range`, as in its change row. `write_ts`: the newest timestamp of what took effect.
    `seq` grows within (table_id, partition), and of images of a whole table within the table; `prev_seq` is that of the
    image before, None where it is not known. `complete`: whether the row is known whole after this.

    `node` to `event_id`: the change row that caused it; None for what expired.
    """

    keyspace: str
    table: str
    table_id: str
    token: int | None
    partition_key: str | None
    clustering: str | None
    is_static: bool
    range: str | None
    op: Op
    before: str | None
    after: str | None
    changed: tuple[str, ...]
    write_ts: int | None
    seq: int
    prev_seq: int | None
    complete: bool
    node: str | None = None
    segment: int | None = None
    offset: int | None = None
    row: int | None = None
    event_id: str | None = None


COLUMNS: Final = Image.__struct_fields__
"""The names of an image's columns, in order."""

JSON_TEXTS: Final = ("partition_key", "clustering", "range", "before", "after")
"""Those that hold JSON."""

_LISTS: Final = ("changed",)
_NUMBERS: Final = ("token", "write_ts", "seq", "prev_seq", "segment", "offset", "row")
_FLAGS: Final = ("is_static", "complete")


@cache
def arrow_schema() -> pyarrow.Schema:
    """The Arrow schema of images in the generic form."""
    import pyarrow

    kinds = dict.fromkeys(COLUMNS, pyarrow.string())
    kinds |= dict.fromkeys(_LISTS, pyarrow.list_(pyarrow.string()))
    kinds |= dict.fromkeys(_NUMBERS, pyarrow.int64())
    kinds |= dict.fromkeys(_FLAGS, pyarrow.bool_())
    return pyarrow.schema(list(kinds.items()))
