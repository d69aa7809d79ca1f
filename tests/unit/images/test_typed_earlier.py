"""Typed images of a column that was dropped and added again with another type: a value is in the column of its type."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

from tailer.images.image import Image
from tailer.images.typed import TypedImages
from tailer.schema.model import Column, TableDefinition
from tailer.schema.typed import TypedOptions, typed_table

KEY = Column("id", "partition_key", "int", 0)
FIRST = TableDefinition("00" * 16, "ks", "t", (KEY, Column("b", "regular", "text")), cdc=True)
SECOND = msgspec.structs.replace(FIRST, columns=(KEY, Column("b", "regular", "blob", dropped_time=50)))
OTHER = msgspec.structs.replace(FIRST, id="11" * 16, columns=(KEY, Column("b", "regular", "blob")))


def row(after: str, write_ts: int, table: TableDefinition = SECOND) -> Image:
    named: dict[str, Any] = dict.fromkeys(Image.__struct_fields__)
    named |= {
        "keyspace": "ks",
        "table": "t",
        "table_id": str(UUID(table.id)),
        "op": "insert",
        "partition_key": '{"id":1}',
    }
    named |= {"is_static": False, "changed": (), "seq": 1, "complete": True, "write_ts": write_ts, "after": after}
    return Image(**named)


@pytest.mark.parametrize(
    ("newest", "image", "name", "value"),
    [
        # Written before the DROP: a text, whatever it looks like.
        (SECOND, row('{"id":1,"b":"0xff"}', 40), "b_dropped_text", "0xff"),
        (SECOND, row('{"id":1,"b":"0xff"}', 60), "b", b"\xff"),
        # With a timestamp of the future.
        (SECOND, row('{"id":1,"b":"text"}', 60), "b_dropped_text", "text"),
        (OTHER, row('{"id":1,"b":"0xff"}', 40, FIRST), "b_dropped_text", "0xff"),
        (OTHER, row('{"id":1,"b":"0xff"}', 40, OTHER), "b", b"\xff"),
    ],
)
def test_a_value_is_in_the_column_of_its_type(newest: TableDefinition, image: Image, name: str, value: object) -> None:
    form = TypedImages(typed_table(newest, [FIRST, newest], TypedOptions()))
    (found,) = form.to_arrow([image]).column("after").to_pylist()
    assert found["_known"] == ["id", name]
    assert found == {"id": 1, "b": None, "b_dropped_text": None, "_known": ["id", name], name: value}
