"""The migration rules: which apply between two definitions, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from tailer.schema.migration import RULES, Rule, Step, migration_steps, rename_order
from tailer.schema.model import Column, TableDefinition, TypeField

ID = "0" * 31 + "1"
CK = Column("ck", "clustering", "int", 0)
V = Column("v", "regular", "int")
S = Column("s", "static", "int")
DROPPED = Column("v", "regular", "int", dropped=True, dropped_time=9)


def table(*columns: Column, id: str = ID, **more: Any) -> TableDefinition:
    return TableDefinition(id, "ks", "t", (Column("pk", "partition_key", "int", 0), *columns), **more)


def place(*fields: str) -> dict[str, tuple[TypeField, ...]]:
    return {"place": tuple(TypeField(name, "int") for name in fields)}


U = Column("u", "regular", "list<frozen<place>>")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (table(CK, V), table(CK, V), []),
        (table(CK, V), table(CK, V, id="2" * 32), [Step("new_life")]),
        (table(CK, V), table(V), [Step("new_life")]),
        (table(CK, V), table(Column("c2", "clustering", "int", 0), V), [Step("rename_key", "c2", "ck")]),
        (table(CK, V), table(Column("v", "clustering", "int", 0)), [Step("rename_key", "v", "ck")]),
        (table(CK, V), table(CK, DROPPED), [Step("drop_column", "v")]),
        (table(CK, V), table(CK), [Step("drop_column", "v")]),
        (table(CK, V), table(CK, Column("v", "regular", "int", dropped_time=9)), [Step("readd_column", "v")]),
        (table(CK, DROPPED), table(CK, Column("v", "regular", "int", dropped_time=9)), [Step("readd_column", "v")]),
        (table(CK, DROPPED), table(CK, DROPPED), []),
        (
            table(CK, DROPPED),
            table(CK, Column("v", "regular", "varint", dropped_time=9)),
            [Step("retype_column", "v", "int")],
        ),
        (table(CK), table(CK, V), [Step("add_column", "v")]),
        (table(CK), table(CK, S), [Step("add_column", "s", static=True), Step("add_first_static")]),
        (table(CK, S), table(CK), [Step("drop_column", "s", static=True), Step("drop_last_static")]),
        (table(U, types=place("a")), table(U, types=place("a", "b")), [Step("change_fields", "u")]),
        (
            table(Column("ck", "clustering", "frozen<place>", 0), types=place("a")),
            table(Column("ck", "clustering", "frozen<place>", 0), types=place("b")),
            [Step("rewrite_keys")],
        ),
    ],
)
def test_rules_between_two_definitions(old: TableDefinition, new: TableDefinition, expected: list[Step]) -> None:
    assert migration_steps(old, new) == expected


def test_a_table_that_was_dropped_has_a_new_life_with_the_same_id() -> None:
    assert migration_steps(table(CK, V), table(CK, V), recreated=True) == [Step("new_life")]


def test_a_nested_type_that_changes_is_found() -> None:
    def of(*fields: str) -> TableDefinition:
        column = Column("u", "regular", 'frozen<"Outer">')
        return table(column, types={"Outer": (TypeField("in", "frozen<place>"),), **place(*fields)})

    assert migration_steps(of("a"), of("a", "b")) == [Step("change_fields", "u")]


@pytest.mark.parametrize(
    ("renames", "taken"),
    [
        ([("a", "c")], "ab"),
        ([("a", "b"), ("b", "a")], "abc"),
        ([("a", "b"), ("b", "c")], "ab"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "abc"),
    ],
)
def test_columns_are_renamed_one_by_one(renames: list[tuple[str, str]], taken: str) -> None:
    """Each column carries its first name as its value; no name may be there twice."""
    there = {name: name for name in taken}
    for before, after in rename_order(renames, list(taken)):
        assert after not in there
        there[after] = there.pop(before)
    wanted = dict(renames)
    assert there == {wanted.get(name, name): name for name in taken}


def test_every_rule_has_a_sentence() -> None:
    assert tuple(RULES) == get_args(Rule)
    page = (Path(__file__).parents[3] / "docs" / "migrations.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    told = {line.split(" | ")[0].strip("|` "): line.split(" | ")[2].removesuffix(" |") for line in lines}
    assert told == RULES
