"""The table that is rebuilt: names that changed, definitions that succeed each other, and changes that do not fit."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailer.errors import DefinitionError
from tailer.rebuild.changes import changed
from tailer.rebuild.facts import Kind
from tailer.rebuild.newest import newer
from tailer.rebuild.table import Table, plan_of
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.schema.told import told_text
from tailer.spark.kept_columns import Migration, migration
from tailer.spark.newest import successor, with_schema_rows
from tests.unit.rebuild.test_join import ID, change

KEY = Column("k", "partition_key", "int", 0)


def definition(*columns: Column, fields: tuple[str, ...] = ("a", "b")) -> TableDefinition:
    types = {"u": tuple(TypeField(name, "int") for name in fields)}
    return TableDefinition(ID, "ks", "t", (KEY, *columns), types=types)


V, U = Column("v", "regular", "int"), Column("u", "regular", "u")


def facts(table: Table, row: dict[str, Any]) -> list[tuple[Kind, bytes, bytes]]:
    made = changed(row, plan_of(table))
    assert made is not None
    return [(fact.kind, fact.path, fact.value) for fact in made.facts]


def test_a_renamed_field_is_known_by_all_its_names() -> None:
    table = Table.of(definition(U, fields=("a", "new")), [definition(U, fields=("a", "old"))])
    for name in ("old", "new"):
        row = change("update", 1, columns=f'{{"u":{{"replaced":false,"put":{{"{name}":7}}}}}}')
        assert facts(table, row) == [(Kind.CELL, b"\0\1", b"\0\0\0\7")]


def test_a_renamed_key_column_goes_by_its_place() -> None:
    row = change("insert", 1, columns="{}", partition_key='{"before":1}')
    made = changed(row, plan_of(Table.of(definition(V))))
    assert made is not None
    assert made.partition.endswith(b"\0\0\0\4\0\0\0\1")


@pytest.mark.parametrize(
    "more",
    [
        {"columns": '{"unknown":1}'},
        {"columns": '{"v":"x"}'},
        {"columns": '{"u":{"replaced":false,"put":{"c":1}}}'},
        {"columns": '{"v":1', "partition_key": '{"k":1}'},
        {"columns": "{}", "partition_key": '{"k":1,"l":2}'},
    ],
)
def test_a_change_that_does_not_fit_is_an_error(more: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=r"a change of ks\.t does not fit .* at 1:5.*newest definition"):
        facts(Table.of(definition(V, U)), change("insert", 1, 5, **more))


def test_what_a_dropped_column_had_is_not_even_read() -> None:
    gone = Column("v", "regular", "int", dropped=True, dropped_time=9)
    assert facts(Table.of(definition(gone)), change("update", 1, columns='{"v":"of another type"}')) == []


def test_of_two_definitions_the_one_that_tells_more_isnewer() -> None:
    old, new = Table.of(definition(V)), Table.of(definition(V, U, fields=("a", "b", "c")))
    dropped = Table.of(definition(Column("v", "regular", "int", dropped=True, dropped_time=9), U))
    for first, second in ((old, new), (new, old)):
        assert newer(first, second).definition == new.definition
    assert newer(old, Table.of(definition(V, fields=("x", "b")))).fields == {"u": {"a": 0, "x": 0, "b": 1}}
    assert not migration(old.definition, definition(V, Column("w", "regular", "int"))).renewed
    assert migration(definition(V, U), dropped.definition) == Migration(True, (), ("v",))


def test_what_is_not_void_of_a_dropped_column_is_kept_for_when_it_is_added_again() -> None:
    """The definition may be ahead of the changes that are read by it."""
    gone = Column("v", "regular", "int", dropped=True, dropped_time=5)
    assert facts(Table.of(definition(gone)), change("update", 9, columns='{"v":7}')) == [(Kind.CELL, b"", b"\0\0\0\7")]
    assert facts(Table.of(definition(gone)), change("update", 9, columns='{"v":"of another type"}')) == []


def test_what_a_drop_did_not_cover_keeps_its_bytes_when_the_column_is_added_again_with_another_type() -> None:
    """As the server shows it: the text 'hi' of the year 3000 is 0x6869 in a column that is a blob by now."""
    text, blob = Column("v", "regular", "text"), Column("v", "regular", "blob", dropped_time=5, added_time=6)
    row = change("update", 9, columns='{"v":"hi"}')
    by_history = Table.of(definition(blob), [definition(text)])
    assert facts(by_history, row) == [(Kind.CELL, b"", b"hi")]
    assert facts(by_history, change("update", 9, columns='{"v":"0xff"}')) == [(Kind.CELL, b"", b"\xff")]
    # A keeper goes from one definition to the next, and knows them all then.
    gone = Column("v", "regular", "text", dropped=True, dropped_time=5)
    told = successor(successor(Table.of(definition(text)), Table.of(definition(gone))), Table.of(definition(blob)))
    assert facts(told, row) == [(Kind.CELL, b"", b"hi")]
    assert successor(told, Table.of(definition(blob))) == told
    with pytest.raises(DefinitionError, match="does not fit"):
        facts(Table.of(definition(blob)), row)


DROPPED = Table.of(msgspec.structs.replace(definition(V, U), dropped=True), ())


def test_of_two_tables_with_one_id_the_one_behind_a_drop_counts() -> None:
    first, again = Table.of(definition(V, U)), Table.of(definition(V))
    later = msgspec.structs.replace(again, ended={"n1": (1, 50)})
    for pair in ((first, later), (later, first), (DROPPED, again)):
        assert successor(*pair).definition == again.definition
    other = Table.of(msgspec.structs.replace(definition(V), id="ff" * 16))
    assert successor(first, other) == other
    assert successor(other, first, (first.definition.id,)) == other


def test_what_a_node_logged_before_a_drop_is_of_the_table_before() -> None:
    table = msgspec.structs.replace(Table.of(definition(V)), ended={"n1": (1, 50)}, born=90)
    assert table.is_former("n1", (1, 49), 100)
    assert not table.is_former("n1", (1, 50), 10)
    # Nothing tells where another node's DROP is: the time at which the table was created again counts.
    assert table.is_former("n2", (9, 9), 90)
    assert not table.is_former("n2", (1, 1), 91)
    assert not Table.of(definition(V)).is_former("n1", (1, 1), 1)


def test_schema_rows_tell_of_a_drop_and_of_a_table_with_another_id() -> None:
    def row(id: str, offset: int, node: str, told: TableDefinition | None) -> dict[str, Any]:
        text = None if told is None else told_text(told, capture_begins=False)
        return {"op": "schema", "table_id": id, "node": node, "segment": 1, "offset": offset, "columns": text}

    first, again = Table.of(definition(V, U)), definition(V)
    made = with_schema_rows(first, [row(ID, 7, "n1", None), row(ID, 8, "n1", again)], ())
    assert (made.definition, made.ended) == (again, {"n1": (1, 7)})
    # A node that is late tells the same once more: nothing is dropped by that.
    late = with_schema_rows(made, [row(ID, 3, "n2", None)], ())
    assert (late.definition, late.ended) == (again, {"n1": (1, 7), "n2": (1, 3)})
    other = msgspec.structs.replace(again, id="ff" * 16)
    assert with_schema_rows(first, [row(ID, 7, "n1", None), row(other.id, 8, "n1", other)], ()).definition == other
