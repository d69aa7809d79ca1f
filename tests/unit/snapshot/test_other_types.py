"""Rows of a table whose columns have other types on the server than the log has shown: they are not read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.rebuild import Table
from tailer.rebuild.changes import row_place
from tailer.rebuild.table import plan_of
from tailer.schema.model import Column, TypeField
from tailer.schema.server_rows import raw
from tailer.snapshot.reading import TableReading
from tests.helpers.log_writer import i32
from tests.helpers.raw_server import INT, TEXT, RawServer, Wire, custom, udt
from tests.unit.images.told import KEYS, definition

TYPES = {"k": INT, "x": INT, "s": INT, "v": INT, "w": INT}
ROW = {"k": i32(1), "x": i32(1), "s": i32(9), "v": i32(5), "w": None}
TABLE = Table.of(definition())


def reading(table: Table, types: dict[str, Wire], **values: bytes) -> TableReading:
    session: Any = RawServer(types, [ROW | values])
    return TableReading(raw(session), plan_of(table), "4.1.0", "ONE")


WAYS: dict[str, Callable[[TableReading, bytes], Any]] = {
    "row": lambda made, name: made.row(name, [i32(1)], 0),
    "partition": lambda made, name: made.partition(name, 0),
    "pieces": lambda made, name: [piece.found() for piece in made.pieces(-1, 1, 0, 10)],
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def read(made: TableReading, way: Callable[[TableReading, bytes], Any]) -> Any:
    name, _ = row_place(plan_of(TABLE), '{"k":1}', '{"x":1}')
    return way(made, (2**63).to_bytes(8, "big") + name[8:])


@each_way
def test_the_types_that_the_log_has_shown(way: Any) -> None:
    assert read(reading(TABLE, TYPES), way)


@each_way
@pytest.mark.parametrize("name", ["k", "x", "s", "v"])
def test_another_type(way: Any, name: str) -> None:
    """The four letters would be read as a number."""
    with pytest.raises(UsageError) as raised:
        read(reading(TABLE, TYPES | {name: TEXT}, **{name: b"abcd"}), way)
    sentence = raised.value.sentence()
    assert f"int in ks.t, column {name}" in sentence
    assert "found text" in sentence


OF_VALUES = [
    ("list<int>", b"\0\x20" + INT, b"\0\x20" + TEXT),
    ("frozen<set<text>>", b"\0\x22" + TEXT, b"\0\x20" + TEXT),
    ("map<int, text>", b"\0\x21" + INT + TEXT, b"\0\x21" + TEXT + TEXT),
    ("frozen<tuple<int, text>>", b"\0\x31\0\x02" + INT + TEXT, b"\0\x31\0\x01" + INT),
    ("duration", custom("DurationType"), custom("EmptyType")),
    ("timestamp", b"\0\x0b", b"\0\x02"),
    ("vector<float, 3>", custom("VectorType(org.apache.cassandra.db.marshal.FloatType , 3)"),
     custom("VectorType(org.apache.cassandra.db.marshal.FloatType , 4)")),
    ("'org.apache.cassandra.db.marshal.Odd'", custom("Odd"), INT),
    ("empty", custom("EmptyType"), INT),
    ("u", udt("u", {"a": INT}), udt("u", {"a": TEXT})),
    ("list<frozen<u>>", b"\0\x20" + udt("u", {"renamed": INT}), b"\0\x20" + INT),
]  # fmt: skip


@pytest.mark.parametrize(("cql", "same", "other"), OF_VALUES, ids=[cql for cql, _, _ in OF_VALUES])
def test_each_kind_of_type(cql: str, same: Wire, other: Wire) -> None:
    types = {"u": (TypeField("a", "int"),)}
    table = Table.of(definition(Column("s", "static", "int"), Column("v", "regular", cql), types=types))
    null: Any = {"v": None}
    assert read(reading(table, TYPES | {"v": same}, **null), WAYS["row"])
    with pytest.raises(UsageError, match="column v"):
        read(reading(table, TYPES | {"v": other}, **null), WAYS["row"])


def test_a_field_more_is_no_other_type_until_a_value_has_it() -> None:
    """But in the key: there nobody looks at values."""
    types = {"u": (TypeField("a", "int"),)}
    more = udt("u", {"a": INT, "b": INT})
    null: Any = {"v": None}
    table = Table.of(definition(Column("v", "regular", "u"), types=types))
    assert read(reading(table, TYPES | {"v": more}, **null), WAYS["row"])
    keys = (KEYS[0], Column("x", "clustering", "frozen<u>", 0))
    keyed = Table.of(definition(Column("v", "regular", "int"), keys=keys, types=types))
    assert read(reading(keyed, TYPES | {"x": udt("u", {"a": INT})}, x=i32(4) + i32(1)), WAYS["pieces"])
    with pytest.raises(UsageError, match="column x"):
        read(reading(keyed, TYPES | {"x": more}, x=i32(4) + i32(1)), WAYS["pieces"])
