"""Which of two definitions of one table is the newer one."""

from __future__ import annotations

import itertools

import pytest

from tailer.rebuild.newest import newer
from tailer.rebuild.table import Table
from tailer.schema.model import Column, TableDefinition, TypeField

T = 1_795_893_138_511_000
LIVE = Column("x", "regular", "int")
DROPPED = Column("x", "regular", "int", dropped=True, dropped_time=T)
PHANTOM = Column("x", "regular", "int", dropped_time=T)
AGAIN = Column("x", "regular", "int", dropped_time=T, added_time=T + 5)
TWICE = Column("x", "regular", "int", dropped=True, dropped_time=T + 9)


USING = [
    Column("x", "regular", "int", dropped_time=T, added_time=T + 5),
    # Dropped again at T + 9 USING TIMESTAMP 7, added again, dropped USING TIMESTAMP of the future, added again.
    Column("x", "regular", "int", dropped=True, dropped_time=7, dropped_at=T + 9),
    Column("x", "regular", "int", dropped_time=7, dropped_at=T + 9, added_time=T + 12),
    Column("x", "regular", "int", dropped=True, dropped_time=4 * T, dropped_at=T + 15),
    Column("x", "regular", "int", dropped_time=4 * T, dropped_at=T + 15, added_time=T + 17),
]


def table(x: Column) -> Table:
    columns = (Column("pk", "partition_key", "int", 0), x)
    return Table.of(TableDefinition("0a" * 16, "k", "alt", columns, cdc=True))


@pytest.mark.parametrize(
    ("older", "later"),
    [*itertools.combinations([LIVE, PHANTOM, DROPPED, AGAIN, TWICE], 2), *itertools.combinations(USING, 2)],
)
def test_the_newer_one_wins_whichever_was_known_first(older: Column, later: Column) -> None:
    """A3: a column that is live and has a `dropped_time` alone was put together of two moments."""
    assert newer(table(older), table(later)).definition.columns[1] == later
    assert newer(table(later), table(older)).definition.columns[1] == later


def with_types(*columns: Column, **types: str) -> Table:
    """A table with these columns and a key; `types`: by name the letters that name a type's fields."""
    fields = {name: tuple(TypeField(letter, "int") for letter in letters) for name, letters in types.items()}
    own = (Column("pk", "partition_key", "int", 0), *columns)
    return Table.of(TableDefinition("0a" * 16, "k", "alt", own, cdc=True, types=fields))


U, NESTED = Column("c", "regular", "u"), Column("l", "regular", "list<frozen<u>>")


@pytest.mark.parametrize("column", [U, NESTED], ids=lambda column: column.type)
@pytest.mark.parametrize("turned", [False, True])
def test_a_field_that_only_the_definition_with_fewer_columns_has(column: Column, turned: bool) -> None:
    """One node's log shows the newer column first, another one's the newer field, of one type each."""
    both = with_types(column, LIVE, u="abc", w="xy"), with_types(column, u="abcd", w="xyz")
    first, second = reversed(both) if turned else both
    found = newer(first, second).definition
    assert found == with_types(column, LIVE, u="abcd", w="xy").definition


def test_a_type_that_was_created_again_with_fewer_fields() -> None:
    """No column used it any more: another column does now."""
    before = with_types(U, u="abc")
    gone = Column("c", "regular", "tuple<int, int, int>", dropped=True, dropped_time=T)
    now = with_types(gone, Column("d", "regular", "u"), u="ab")
    assert newer(before, now).definition == newer(now, before).definition == now.definition


@pytest.mark.parametrize("added", [None, T + 5])
def test_a_key_column_was_given_the_name_of_a_dropped_column(added: int | None) -> None:
    """DROP x; RENAME k TO x: the definition has one column less."""
    keys = Column("k", "clustering", "int", 0), Column("x", "clustering", "int", 0, dropped_time=T, added_time=added)
    before, after = with_types(keys[0], DROPPED), with_types(keys[1])
    assert newer(before, after).definition == newer(after, before).definition == after.definition
    again = with_types(keys[1], Column("k", "regular", "int"))
    assert newer(after, again).definition == newer(again, after).definition == again.definition


def test_a_column_that_ended_without_a_time_is_older_than_one_that_lives() -> None:
    """A response counts before the DROP of the earlier table of the name, which ends the columns of that table."""
    ended = Column("x", "regular", "text", dropped=True)
    found = [newer(table(ended), table(LIVE)), newer(table(LIVE), table(ended))]
    assert [each.definition.columns[1] for each in found] == [LIVE, LIVE]


C4, C5 = Column("c4", "static", "varint"), Column("c5", "regular", "u")
C4_DROPPED = Column("c4", "static", "varint", dropped=True, dropped_time=T)
C4_AGAIN = Column("c4", "static", "varint", dropped_time=T, added_time=T + 5)


@pytest.mark.parametrize("first", [C4, C4_DROPPED, C4_AGAIN])
@pytest.mark.parametrize("second", [C4, C4_DROPPED, C4_AGAIN])
@pytest.mark.parametrize("turned", [False, True])
def test_each_definition_has_a_column_that_the_other_one_lacks(first: Column, second: Column, turned: bool) -> None:
    """A node's log lacks the ADD of c5, which its server has: it counts there from an earlier position on than in other
    logs."""
    with_c5 = newer(with_types(C5, u="ab"), with_types(C4, u="ab")) if turned else with_types(C5, u="ab")
    one, other = with_types(first, u="ab"), with_types(second, u="ab")
    later = max(first, second, key=lambda column: column.added_time or column.dropped_time or 0)
    expected = {"pk": 0, "c4": later, "c5": C5}
    for order in itertools.permutations([with_c5, one, other]):
        found = newer(newer(order[0], order[1]), order[2]).definition
        columns = {column.name: column for column in found.columns}
        assert columns.keys() == expected.keys()
        assert (columns["c4"], columns["c5"]) == (later, C5)
        assert found.types.keys() == {"u"}
