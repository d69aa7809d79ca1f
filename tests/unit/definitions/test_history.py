"""Definitions by position, from journal records."""

from __future__ import annotations

from tailer.definitions.history import DefinitionHistory
from tailer.position import Position
from tailer.schema.rows import SchemaDelta
from tailer.state.journal_records import RetractRecord, SchemaRecord, SegmentEndRecord
from tests.unit.schema.made import ID_A, ID_B, SIMPLE, column, create, data, drop, heading

START = Position(0, 0)


def record(n: int, at: tuple[int, int], deltas: list[SchemaDelta], source: str = "log") -> SchemaRecord:
    return SchemaRecord(n=n, at=Position(*at), source=source, deltas=tuple(deltas))


CREATE = record(1, (7, 100), create("t", ID_A, 10, SIMPLE))
ALTER = record(2, (7, 300), [column("t", "w", data("int"), 20), heading("t", ID_A, 20)])
OTHER = record(3, (9, 50), create("u", ID_B, 30, SIMPLE))


def names(history: DefinitionHistory, segment: int, offset: int) -> dict[str, int]:
    return {held.table: len(held.columns) for held in history.as_of(Position(segment, offset)).values()}


def test_a_definition_is_valid_from_the_end_of_its_entry() -> None:
    history = DefinitionHistory([CREATE, ALTER, OTHER])
    assert names(history, 7, 99) == {}
    assert names(history, 7, 100) == {"t": 2}
    assert names(history, 8, 0) == {"t": 3}
    assert names(history, 9, 50) == {"t": 3, "u": 2}
    assert names(history, 7, 299) == {"t": 2}, "and back again"


def test_what_was_handed_out_stays_as_it_was() -> None:
    history = DefinitionHistory([CREATE, ALTER])
    early = history.as_of(Position(7, 100))
    assert history.as_of(Position(7, 200)) == early
    history.as_of(Position(7, 300))
    history.extend([OTHER])
    history.as_of(Position(9, 50))
    assert [len(held.columns) for held in early.values()] == [2]


def test_changes_inside_a_span() -> None:
    history = DefinitionHistory([CREATE, ALTER, OTHER])
    assert [event.n for event in history.changes(Position(7, 100), Position(9, 50))] == [2]
    assert [event.n for event in history.changes(START, Position(9, 51))] == [1, 2, 3]
    assert history.changes(Position(7, 300), Position(7, 300)) == ()


def test_records_count_by_position_then_number_and_those_that_come_late_are_put_in_place() -> None:
    late = DefinitionHistory([OTHER, ALTER])
    late.extend([CREATE])
    assert [event.n for event in late.events] == [1, 2, 3]
    base = record(4, (0, 0), create("v", "0c" * 16, -(2**63), SIMPLE), "file x.cql")
    late.extend([base])
    assert names(late, 0, 0) == {"v": 2}
    assert late.source_of("0c" * 16) == late.events[0]
    assert late.events[0].source == "file x.cql"


def test_a_retracted_record_has_no_effect_anywhere() -> None:
    history = DefinitionHistory([CREATE, ALTER, OTHER])
    history.extend([RetractRecord(n=4, of=2)])
    assert names(history, 9, 50) == {"t": 2, "u": 2}
    assert DefinitionHistory([RetractRecord(n=4, of=2), CREATE, ALTER]).events == history.events[:1]


def test_other_records_are_passed_over_and_no_change_is_no_event() -> None:
    history = DefinitionHistory([SegmentEndRecord(n=1, segment=7, published=1, end=1, finished="completed"), CREATE])
    history.extend([record(3, (8, 0), list(CREATE.deltas))])
    assert [event.n for event in history.events] == [1]
    assert history.add(Position(8, 10), list(ALTER.deltas)).keys() == {ID_A}
    assert history.add(Position(8, 20), list(ALTER.deltas)) == {}


def test_source_of_names_the_change_that_counts_at_a_position() -> None:
    history = DefinitionHistory([CREATE, ALTER])
    newest, oldest = history.source_of(ID_A), history.source_of(ID_A, Position(7, 100))
    assert newest is not None
    assert oldest is not None
    assert (newest.n, oldest.n) == (2, 1)
    assert history.source_of(ID_A, START) is None


def test_columns_are_as_old_as_the_log_says() -> None:
    history = DefinitionHistory([CREATE, ALTER, OTHER])
    assert history.column_ages(ID_A) == {"id": 10, "v": 10, "w": 20}
    again = DefinitionHistory(
        [CREATE, record(2, (7, 200), drop("t", SIMPLE, 15)), record(3, (7, 300), create("t", ID_B, 20, SIMPLE))]
    )
    assert history.column_ages(ID_B) == {"id": 30, "v": 30}
    assert again.column_ages(ID_B) == {"id": 20, "v": 20}
    assert again.column_ages(ID_A) == {}, "its name is another table's now"


def test_the_state_at_a_position_goes_on_with_the_log_s_own_changes() -> None:
    history = DefinitionHistory([CREATE, ALTER, OTHER])
    state = history.state_at(Position(7, 100))
    assert [len(held.columns) for held in state.definitions.values()] == [2]
    assert len(state.apply(ALTER.deltas)[ID_A].columns) == 3
    assert len(history.as_of(Position(7, 100))[ID_A].columns) == 2
