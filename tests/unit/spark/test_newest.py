"""What a kept table in Spark goes on with: schema rows and definitions of tables that had one name, or one id."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

from tailer.position import Position
from tailer.rebuild import Table
from tailer.schema.model import Column, TableDefinition
from tailer.schema.told import told_text
from tailer.spark.known_table import KnownByNode, newest_of
from tailer.spark.newest import successor, with_schema_rows

X, Y, Z = "11" * 16, "22" * 16, "33" * 16
KEY, V, W = Column("k", "partition_key", "int", 0), Column("v", "regular", "int"), Column("w", "regular", "int")


def definition(id: str, *data: Column) -> TableDefinition:
    return TableDefinition(id, "ks", "t", (KEY, *(data or (V,))), cdc=True)


def table(id: str, **more: Any) -> Table:
    return msgspec.structs.replace(Table.of(definition(id)), **more)


def row(offset: int, id: str, told: TableDefinition | None, node: str = "n1") -> dict[str, Any]:
    """A row with op `schema`; of a DROP where nothing is told."""
    text = None if told is None else told_text(told, capture_begins=False)
    return {"op": "schema", "table_id": str(UUID(id)), "node": node, "segment": 1, "offset": offset, "columns": text}


def created(offset: int, id: str, node: str = "n1") -> dict[str, Any]:
    return row(offset, id, definition(id), node)


def dropped(offset: int, id: str, node: str = "n1") -> dict[str, Any]:
    return row(offset, id, None, node)


class TestAnIdThatComesBack:
    """O3: table X is dropped, Y has its name, and X is restored WITH ID."""

    def test_what_is_asked_for_counts(self) -> None:
        known = table(Y, former=(X,))
        again = table(X, former=(Y,), ended={"n1": (1, 100)}, born=200)
        assert successor(known, again, (X,)) == again
        assert successor(again, known, (Y,)) == again
        # Behind the DROP of Y, too.
        gone = msgspec.structs.replace(known, definition=msgspec.structs.replace(definition(Y), dropped=True))
        assert successor(gone, again, (X,)) == again

    def test_its_first_life_does_not_come_back(self) -> None:
        known = table(Y, former=(X,))
        assert successor(known, table(X), (X,)) == known
        # X was created again with its id before Y was there.
        assert successor(known, table(X, ended={"n1": (1, 40)}), (X,)) == known
        # Y was restored in its turn: what is asked for is from before.
        third = table(Y, former=(X,), ended={"n1": (1, 300)})
        assert successor(third, table(X, former=(Y,), ended={"n1": (1, 100)}), (X,)) == third
        assert successor(third, table(X, former=(Y,), ended={"n1": (1, 500)}), (X,)).definition.id == X

    def test_schema_rows_show_it(self) -> None:
        known = table(Y, former=(X,))
        made = with_schema_rows(known, [dropped(300, Y), created(310, X)], (X,))
        assert (made.definition, made.ended, made.former) == (definition(X), {"n1": (1, 300)}, (Y,))
        # All of it in one batch.
        rows = [dropped(100, X), created(110, Y), dropped(300, Y), created(310, X)]
        assert with_schema_rows(table(X), rows, ()) == made
        # What it logged of X before counts no more.
        assert made.is_former("n1", (1, 90), 5)
        assert not made.is_former("n1", (1, 320), 5)

    def test_a_node_that_is_late_does_not_bring_it_back(self) -> None:
        known = with_schema_rows(table(X), [dropped(100, X), created(110, Y)], ())
        assert known.definition == definition(Y)
        late = [created(200, X, "n2"), dropped(210, X, "n2"), created(220, Y, "n2")]
        for end in range(1, 4):
            assert with_schema_rows(known, late[:end], ()).definition == definition(Y)
        gone = with_schema_rows(known, [dropped(150, Y)], ())
        assert with_schema_rows(gone, late[:2], ()) == gone

    def test_all_tables_of_one_batch_had_the_name(self) -> None:
        made = with_schema_rows(table(X), [dropped(1, X), created(2, Y), dropped(3, Y), created(4, Z)], ())
        assert (made.definition.id, made.former) == (Z, (X, Y))
        assert with_schema_rows(made, [created(9, Y, "n2")], (X,)).definition.id == Z


class TestATableThatWasMadeAgainWithItsId:
    def test_its_alter_counts(self) -> None:
        made = with_schema_rows(table(X), [dropped(100, X), created(110, X)], ())
        wide = definition(X, V, W)
        altered = with_schema_rows(made, [row(120, X, wide)], ())
        assert (altered.definition, altered.ended) == (wide, {"n1": (1, 100)})
        # A node whose log has not shown the DROP tells of the table before.
        other = definition(X, V, Column("other", "regular", "int"))
        assert with_schema_rows(altered, [row(130, X, other, "n2")], ()).definition == wide

    def test_a_node_that_is_late_does_not_bring_back_what_was_dropped(self) -> None:
        gone = with_schema_rows(table(X), [dropped(100, X)], ())
        rows = [created(40, X, "n2"), row(50, X, definition(X, V, W), "n2")]
        assert with_schema_rows(gone, rows, ()).definition.dropped
        assert with_schema_rows(gone, [*rows, dropped(120, X, "n2")], ()).definition.dropped
        assert not with_schema_rows(gone, [*rows, created(110, X)], ()).definition.dropped


def test_a_node_that_is_late_hides_no_id_that_came_back() -> None:
    """n1: X, Y, X again. n2 has not logged the end of Y yet, and its places are higher ones."""
    gone = [msgspec.structs.replace(definition(id), dropped=True) for id in (X, Y)]
    again = table(X, ended={"n1": (1, 100)}, born=200)
    found = [
        KnownByNode(Position(1, 310), again, 1),
        KnownByNode(Position(1, 300), Table.of(gone[1]), 1),
        KnownByNode(Position(9, 100), Table.of(gone[0]), 1),
        KnownByNode(Position(9, 110), table(Y), 0),
    ]
    for each in (found, found[::-1]):
        newest = newest_of(each)
        assert (newest.definition.id, newest.ended, newest.former) == (X, {"n1": (1, 100)}, (Y,))


def named(*names: str, more: tuple[Column, ...] = ()) -> TableDefinition:
    """A table whose clustering columns have these names."""
    keys = tuple(Column(name, "clustering", "int", number) for number, name in enumerate(names))
    return TableDefinition(X, "ks", "t", (KEY, *keys, V, *more), cdc=True)


def names(table: Table) -> list[str]:
    return [column.name for column in table.definition.clustering]


class TestAKeyColumnThatWasRenamed:
    """O4: RENAME leaves nothing in a definition by which two could be ordered."""

    def test_a_definition_that_knows_the_others_names_as_earlier_ones_is_the_newer_one(self) -> None:
        late, renamed = Table.of(named("c"), [named("c")]), Table.of(named("c2"), [named("c"), named("c2")])
        assert names(successor(renamed, late)) == names(successor(late, renamed)) == ["c2"]
        # Two columns, one after the other.
        both = Table.of(named("c2", "d2"), [named("c", "d"), named("c2", "d"), named("c2", "d2")])
        for before in (named("c", "d"), named("c2", "d")):
            assert names(successor(both, Table.of(before))) == ["c2", "d2"]
        # A column that was added later decides before that.
        wide = Table.of(named("c2", more=(W,)))
        assert successor(wide, renamed).definition == successor(renamed, wide).definition == wide.definition

    @pytest.mark.parametrize("late", [["c"], ["c", "c"]])
    def test_a_keeper_that_goes_on_knows_the_earlier_names(self, late: list[str]) -> None:
        known = successor(Table.of(named("c")), Table.of(named("c2")))
        assert names(successor(known, Table.of(named(late[-1]), [named(name) for name in late]))) == ["c2"]
        packed = msgspec.msgpack.decode(msgspec.msgpack.encode(known), type=Table)
        assert names(successor(packed, Table.of(named("c")))) == ["c2"]

    @pytest.mark.parametrize("found", [[0, 1], [1, 0]])
    def test_what_all_logs_tell(self, found: list[int]) -> None:
        """The order of the nodes decided."""
        both = [
            KnownByNode(Position(1, 50), Table.of(named("c2"), [named("c"), named("c2")]), 0),
            KnownByNode(Position(9, 10), Table.of(named("c"), [named("c")]), 0),
        ]
        assert names(newest_of([both[number] for number in found])) == ["c2"]

    def test_schema_rows_of_a_node_that_is_late(self) -> None:
        made = with_schema_rows(Table.of(named("c")), [row(10, X, named("c2"))], ())
        for offset, shown in ((900, "c"), (910, "c2")):
            made = with_schema_rows(made, [row(offset, X, named(shown), "n2")], ())
            assert names(made) == ["c2"]
        # The first one has logged another ALTER behind it: its names are still the same.
        assert names(with_schema_rows(made, [row(20, X, named("c2", more=(W,)))], ())) == ["c2"]

    @pytest.mark.parametrize("node", ["n1", "n2"])
    def test_schema_rows_that_rename_it_back(self, node: str) -> None:
        """A node that has shown the newer name has renamed it; one that has not is late."""
        rows = [row(10, X, named("c2")), row(11, X, named("c"), "n2"), row(12, X, named("c2"), "n2")]
        made = with_schema_rows(Table.of(named("c")), rows, ())
        back = with_schema_rows(made, [row(30, X, named("c"), node)], ())
        assert names(back) == ["c"]
        other = "n2" if node == "n1" else "n1"
        assert names(with_schema_rows(back, [row(20, X, named("c2"), other)], ())) == ["c"]
        assert names(with_schema_rows(back, [row(40, X, named("c2"), node)], ())) == ["c2"]

    def test_rows_from_before_what_was_asked_for(self) -> None:
        """The definition that is asked for knows where the log has the RENAME; rows of before it come later."""
        asked = msgspec.structs.replace(Table.of(named("c2"), [named("c"), named("c2")]), renamed={"n1": (1, 50)})
        assert names(with_schema_rows(asked, [row(40, X, named("c"))], ())) == ["c2"]
        assert names(with_schema_rows(asked, [row(60, X, named("c"))], ())) == ["c"]
        later = msgspec.structs.replace(Table.of(named("c"), [named("c2")]), renamed={"n1": (1, 60)})
        assert names(successor(asked, later)) == names(successor(later, asked)) == ["c"]
