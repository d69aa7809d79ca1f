"""The table that is rebuilt: names that changed, definitions that succeed each other, and changes that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from tailer.errors import DefinitionError
from tailer.rebuild.changes import changed
from tailer.rebuild.facts import Kind
from tailer.rebuild.newest import newer
from tailer.rebuild.table import Table, plan_of
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.spark.newest import reshaped
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
    assert not reshaped(old, new)
    assert reshaped(Table.of(definition(V, U)), dropped)
