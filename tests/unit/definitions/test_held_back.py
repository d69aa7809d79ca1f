"""What another node showed before this log had shown an older change of its own: it counts from behind that change."""

from __future__ import annotations

from itertools import permutations

import pytest

from tailer.definitions.history import DefinitionHistory
from tailer.position import Position
from tailer.schema.rows import SchemaDelta
from tailer.state.journal_records import SchemaRecord
from tests.unit.definitions.test_history import record
from tests.unit.schema.made import ID_A, ID_B, SIMPLE, column, create, data, drop, key

CREATE = record(1, (7, 100), create("t", ID_A, 10, SIMPLE))
AGAIN = create("t", ID_A, 40, {"id": key("partition_key", "uuid"), "w": data("text")})
DROP, DROP_AGAIN = drop("t", SIMPLE, 30), drop("t", {"id": "", "w": ""}, 50)
GAP = (9, 0)


def told(n: int, deltas: list[SchemaDelta], node: str = "n1") -> SchemaRecord:
    """What another node showed while the consumer stood at the gap."""
    return record(n, GAP, deltas, f"node {node}")


def seen(history: DefinitionHistory, *at: tuple[int, int]) -> list[str]:
    """The type of the key at each of these positions; "dropped" where it is."""
    found = []
    for each in at:
        held = history.as_of(Position(*each)).get(ID_A)
        found.append("none" if held is None else "dropped" if held.dropped else held.columns[0].type)
    return found


def test_it_counts_from_behind_the_older_change_that_this_log_shows_later() -> None:
    """DROP, CREATE with the same id, DROP: this log shows the first one alone, the others were in a segment that is
    gone. Rows before that one are of the first table."""
    own = record(5, (9, 500), DROP)
    history = DefinitionHistory([CREATE, told(2, DROP), told(3, AGAIN), told(4, DROP_AGAIN, "n3"), own])
    assert seen(history, GAP, (9, 499), (9, 500)) == ["int", "int", "dropped"]
    alive = DefinitionHistory([CREATE, told(2, DROP), told(3, AGAIN), own])
    assert seen(alive, GAP, (9, 499), (9, 500)) == ["int", "int", "uuid"]


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_in_whichever_order_they_come(order: tuple[int, ...]) -> None:
    records = [CREATE, told(2, DROP), told(3, AGAIN), record(5, (9, 500), DROP)]
    history = DefinitionHistory()
    for number in order:
        history.extend([records[number]])
    assert seen(history, (8, 0), GAP, (9, 499), (9, 500)) == ["int", "int", "int", "uuid"]
    at = Position(9, 499)
    assert history.state_at(at).definitions[ID_A] == history.as_of(at)[ID_A]
    assert history.state_at(Position(9, 500)).definitions[ID_A] == history.as_of(Position(9, 500))[ID_A]


def test_of_several_older_changes_it_is_the_last() -> None:
    older = [record(n, (9, at), create(name, id, ts, SIMPLE)) for n, at, name, id, ts in OTHERS]
    history = DefinitionHistory([CREATE, told(2, [column("t", "x", data("int"), 40)]), *older])
    counts = [len(history.as_of(Position(9, at))[ID_A].columns) for at in (0, 100, 199, 200, 300)]
    assert counts == [2, 2, 2, 3, 3]


OTHERS = ((5, 100, "u", ID_B, 20), (6, 200, "x", "0c" * 16, 35), (7, 300, "y", "0d" * 16, 45))


def test_it_counts_at_the_gap_where_this_log_goes_on_with_a_newer_change() -> None:
    newer = record(5, (9, 100), create("u", ID_B, 45, SIMPLE))
    history = DefinitionHistory([CREATE, told(2, [column("t", "x", data("int"), 40)]), newer])
    assert len(history.as_of(Position(*GAP))[ID_A].columns) == 3


def test_what_a_node_copies_or_writes_of_its_own_keyspaces_holds_nothing_back() -> None:
    """A copied schema has changes of all times; system tables have times of the server's own."""
    copied = record(5, (9, 100), [*CREATE.deltas, *create("u", ID_B, 20, SIMPLE)])
    system = [SchemaDelta(d.table, "system_auth", d.clustering, d.cells) for d in create("roles", "0e" * 16, 1, SIMPLE)]
    own = record(6, (9, 200), system)
    history = DefinitionHistory([CREATE, told(2, [column("t", "x", data("int"), 40)]), copied, own])
    assert len(history.as_of(Position(*GAP))[ID_A].columns) == 3
