"""What proves that a table was created again with the same id, where the log lacks the CREATE."""

from __future__ import annotations

import pytest

from tailer.definitions.history import DefinitionHistory
from tailer.position import Position
from tailer.state.journal_records import SchemaRecord
from tailer.tail.created_again import newest_put, proves_creation
from tests.unit.schema.made import ID_A, ID_B, SIMPLE, create, drop

CREATE = SchemaRecord(n=1, at=Position(7, 100), source="log", deltas=tuple(create("t", ID_A, 10, SIMPLE)))
OLDER, NEWER = (
    SchemaRecord(n=n, at=Position(20, at), source="log", deltas=tuple(create("u", ID_B, ts, SIMPLE)))
    for n, at, ts in ((3, 30, 15), (4, 50, 30))
)


def dropped(source: str) -> SchemaRecord:
    return SchemaRecord(n=2, at=Position(7, 300), source=source, deltas=tuple(drop("t", [*SIMPLE], 20)))


@pytest.mark.parametrize(("source", "last"), [("log", 8), ("node n1", 21)])
def test_rows_of_two_segments_behind_where_the_node_had_the_drop(source: str, last: int) -> None:
    """The node was down during the DROP, and took over the schema when it ran again: what the others held back for it
    is logged then."""
    history = DefinitionHistory([CREATE, dropped(source), OLDER, NEWER])
    assert not proves_creation(history, ID_A, Position(7, 200), 99), "it was not dropped there"
    assert not proves_creation(history, ID_A, Position(last, 99), 99)
    assert proves_creation(history, ID_A, Position(last + 1, 0), 99)


def test_a_node_that_shows_no_later_change_may_not_have_the_drop_yet() -> None:
    assert not proves_creation(DefinitionHistory([CREATE, dropped("node n1"), OLDER]), ID_A, Position(30, 0), 99)


@pytest.mark.parametrize("newest", [0, 19, 20])
def test_what_another_node_held_back_is_logged_long_after_the_drop(newest: int) -> None:
    """A server logs a hint before it looks for its table: it is not newer than the DROP, of the time 20."""
    history = DefinitionHistory([CREATE, dropped("log"), OLDER, NEWER])
    assert not proves_creation(history, ID_A, Position(30, 0), newest)
    assert proves_creation(history, ID_A, Position(30, 0), 21)


def test_a_deletion_proves_nothing() -> None:
    """It may have any timestamp."""
    assert newest_put([("delete_partition", 90), ("delete_row", 80), ("update", 7), ("insert", None)]) == 7
    assert newest_put([("truncate", 90)]) == 0
