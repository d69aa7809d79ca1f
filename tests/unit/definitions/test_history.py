"""Definitions by position, from journal records."""

from __future__ import annotations

import sys
from itertools import product

import msgspec
import pytest

from tailer.definitions.history import DefinitionHistory
from tailer.position import Position
from tailer.schema.compare import additions
from tailer.schema.rows import SchemaDelta, put
from tailer.state.journal_records import RetractRecord, SchemaRecord, SegmentEndRecord
from tests.unit.schema.made import ID_A, ID_B, SIMPLE, column, create, data, drop, gone, heading, key, user_type

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


def test_when_the_last_report_of_a_table_was_journaled() -> None:
    """Also of one that changes nothing, because another one that was journaled later counts from before it."""
    made = create("t", ID_A, 10, SIMPLE)
    first, later = (msgspec.structs.replace(record(n, at, made), learnt=n) for n, at in ((1, (5, 0)), (2, (0, 0))))
    history = DefinitionHistory([first, later])
    assert [event.n for event in history.events] == [2]
    assert history.learnt(ID_A, Position(1, 0), Position(5, 0)) == 1
    assert history.learnt(ID_A, START, Position(4, 0)) == 2
    history.extend([msgspec.structs.replace(record(4, (0, 0), made), learnt=7)])
    assert history.learnt(ID_A, START, Position(4, 0)) == 2, "the same once more"
    assert history.learnt(ID_A, Position(1, 0), Position(4, 0)) == 0
    assert history.learnt(ID_B, START, Position(9, 0)) == 0


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


def test_a_deletion_that_an_earlier_version_made_up_for_what_a_server_lacked_counts_for_nothing() -> None:
    """A2: `cases/created-then-dropped` has such a record: the response was older than the log's CREATE."""
    lacked = [
        SchemaDelta("columns", "ks", ("t", "id"), row_deletion=10),
        SchemaDelta("columns", "ks", ("t", "v"), row_deletion=10),
        SchemaDelta("tables", "ks", ("t",), row_deletion=10),
    ]
    history = DefinitionHistory([CREATE, record(2, (6, 50), lacked, "server 127.0.0.1:9042"), ALTER])
    assert names(history, 7, 300) == {"t": 3}
    assert not history.newest[ID_A].dropped
    alone = DefinitionHistory([CREATE, record(2, (8, 0), lacked, "server 127.0.0.1:9042")])
    assert not alone.newest[ID_A].dropped


DROPPED = {"kind": "regular", "type": "text", "dropped_time": 45}
LATER_DROP = record(
    4,
    (9, 500),
    [gone("columns", ["t", "v"], 50), put("dropped_columns", "ks", ["t", "v"], DROPPED, 50), heading("t", ID_A, 50)],
)
RESPONSE = [
    column("t", "id", key("partition_key", "int"), 10),
    put("dropped_columns", "ks", ["t", "v"], DROPPED, 50),
    heading("t", ID_A, 50, replaces=False),
]


def given(at: tuple[int, int], deltas: list[SchemaDelta], n: int = 3, *, asked: int = 1) -> SchemaRecord:
    made = record(n, at, deltas, "server 127.0.0.1:9042")
    return SchemaRecord(n=made.n, at=made.at, source=made.source, deltas=made.deltas, asked=asked)


def v_of(history: DefinitionHistory, segment: int, offset: int) -> tuple[bool, int | None]:
    columns = history.as_of(Position(segment, offset))[ID_A].columns
    return next((each.dropped, each.dropped_time) for each in columns if each.name == "v")


def test_what_a_response_has_and_the_log_shows_later_counts_from_where_the_log_shows_it() -> None:
    """A3: the server was asked behind the DROP, the consumer stands before it."""
    history = DefinitionHistory([CREATE, given((0, 0), RESPONSE)])
    history.extend([LATER_DROP])
    assert v_of(history, 9, 499) == (False, None), "taken back also where the log shows it after the response came"
    assert v_of(history, 9, 500) == (True, 45)
    # The log alone does not have the CREATE: what was dropped later was there, with the type that the drop has.
    older = DefinitionHistory([given((0, 0), RESPONSE), LATER_DROP])
    assert v_of(older, 9, 499) == (False, None)
    assert v_of(older, 9, 500) == (True, 45)


def test_a_response_that_an_earlier_version_laid_under_the_log_makes_no_column_added_again() -> None:
    base = [
        SchemaDelta(d.table, d.keyspace, d.clustering, {n: (-(2**63), v) for n, (_, v) in d.cells.items()}, -(2**63))
        for d in RESPONSE
    ]
    history = DefinitionHistory([given((0, 0), base, 1, asked=0), CREATE, LATER_DROP])
    assert v_of(history, 7, 100) == (False, None)
    assert v_of(history, 9, 500) == (True, 45)


def columns_of(history: DefinitionHistory) -> list[tuple[tuple[int, int], int]]:
    """By each place of table t how many columns it has from there on."""
    return [(tuple(at), len(held.columns)) for at, held in history.versions_of(ID_A)]  # type: ignore[misc]


def test_versions_of_a_table_begin_where_the_entry_begins_that_changed_it() -> None:
    sized = SchemaRecord(n=2, at=Position(7, 300), source="log", deltas=ALTER.deltas, size=40)
    assert columns_of(DefinitionHistory([CREATE, sized, OTHER])) == [((7, 100), 2), ((7, 260), 3)]
    assert DefinitionHistory([CREATE]).versions_of(ID_B) == []


def test_versions_of_a_change_that_was_met_late() -> None:
    """It counts in its own segment from where it stood, in later ones from where the planner was."""
    late = SchemaRecord(n=2, at=Position(9, 40), source="log", deltas=ALTER.deltas, found=Position(7, 300))
    assert columns_of(DefinitionHistory([CREATE, late])) == [((7, 100), 2), ((7, 300), 3), ((8, 0), 2), ((9, 40), 3)]


def test_tables_of_a_response_cost_nothing_where_another_one_is_created() -> None:
    """A server is asked again and again while a table is dropped and created: each CREATE took all of each response
    back by all of the log."""
    assert calls(others=100) < 4 * calls(others=10)


def calls(others: int) -> int:
    """How many functions are called for a history of CREATE and DROP of one table, with responses that have others
    too."""
    records: list[SchemaRecord] = []
    more = [delta for n in range(others) for delta in create(f"o{n}", f"{n:032x}", 1, SIMPLE)]
    for n in range(30):
        made = create("t", f"{n + 100:032x}", 10 * n, SIMPLE)
        if n % 3 == 0:
            told = tuple(msgspec.structs.replace(delta, row_deletion=None) for delta in (*more, *made))
            records.append(SchemaRecord(n=n + 1000, at=START, source="server x", deltas=told, asked=10 * n + 5))
        records.append(record(n + 1, (7, 100 + 10 * n), [*drop("t", [*SIMPLE], 10 * n - 1), *made] if n else made))
    counted = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        history = DefinitionHistory(records)
    finally:
        sys.setprofile(before)
    assert len(history.newest) == others + 30, "all of them count"
    return counted


def answered(table: str, id: str, ts: int) -> list[SchemaDelta]:
    """A table as a response has it: `ts` is that of its newest change."""
    return [
        *(column(table, name, kind, min(ts, 100)) for name, kind in SIMPLE.items()),
        heading(table, id, ts, replaces=False),
    ]


def test_what_a_later_response_added_was_not_there_where_an_earlier_consumer_is() -> None:
    """The CREATE and the ALTER vanished with their segments; one consumer met the table, and then its column, on its
    way, and another one begins with a response that has both."""
    u, made = answered("u", ID_B, 5), answered("t", ID_A, 100)
    added = [*answered("t", ID_A, 200), column("t", "w", data("int"), 200)]
    first, met, altered = given((0, 0), u, 1, asked=50), given((7, 0), made, 2, asked=150), given((8, 0), added, 3)
    begins = given((0, 0), [*u, *added], 4, asked=300)
    history = DefinitionHistory([first, met, altered, begins])
    assert names(history, 6, 0) == {"u": 2}
    assert names(history, 7, 0) == {"u": 2, "t": 2}
    assert names(history, 8, 0) == {"u": 2, "t": 3}
    # What the first response has may have been there since ever.
    assert names(DefinitionHistory([met, begins]), 6, 0) == {"u": 2, "t": 3}


def test_a_table_is_told_from_an_earlier_one_of_its_name() -> None:
    """What a response had of the earlier one does not say since when there is the later one."""
    u, before, now = answered("u", ID_B, 5), answered("t", ID_A, 100), answered("t", "cc" * 16, 200)
    first = given((0, 0), u, 1, asked=50)
    met, met_again = given((7, 0), before, 2, asked=150), given((9, 0), now, 3, asked=250)
    history = DefinitionHistory([first, met, met_again])
    counts = history.in_force([*u, *now], Position(8, 0), asked=300)
    assert {delta.clustering[0] for delta in counts} == {"u"}


WHOLE = [*create("t", ID_A, 10, SIMPLE), *create("u", ID_B, 20, SIMPLE)]
"""What a node logs that takes the schema from the other nodes: all of a keyspace as it is."""


def test_the_schema_that_a_node_logs_once_more_creates_no_table_there() -> None:
    """The segment of the CREATE is gone, rows of the table are there, and the node was down later on."""
    response = [*answered("t", ID_A, 10), *answered("u", ID_B, 20)]
    again = record(2, (9, 100), [*WHOLE, SchemaDelta("tables", "ks", (), partition_deletion=5)])
    history = DefinitionHistory([given((0, 0), response, 1, asked=50), again])
    assert names(history, 6, 0) == {"t": 2, "u": 2}
    # What it changed since is not there before; what a statement of one time shows later was created by it.
    altered = record(3, (8, 0), list(ALTER.deltas))
    assert names(DefinitionHistory([given((0, 0), [*response, *ALTER.deltas], 1), altered, again]), 7, 0)["t"] == 2
    made = record(3, (8, 0), create("u", ID_B, 20, SIMPLE))
    assert names(DefinitionHistory([given((0, 0), response, 1), made, again]), 6, 0) == {"t": 2}


def test_it_may_be_of_a_later_table_with_the_same_id() -> None:
    """The node was down while the table was dropped and created again: rows before are of the earlier one."""
    other = {"id": key("partition_key", "int"), "v": data("int")}
    later = [*create("t", ID_A, 40, other), *create("u", ID_B, 20, SIMPLE)]
    response = given((7, 200), [msgspec.structs.replace(each, row_deletion=None) for each in later], 2, asked=90)
    history = DefinitionHistory([CREATE, response, record(3, (9, 100), later)])
    assert [history.as_of(Position(at, 0))[ID_A].columns[1].type for at in (8, 10)] == ["text", "int"]
    unseen = given((0, 0), [*answered("t", ID_A, 10)], 1, asked=15)
    told = given((0, 0), list(response.deltas), 2, asked=90)
    history = DefinitionHistory([unseen, told, record(3, (9, 100), later)])
    assert [history.as_of(Position(at, 0))[ID_A].columns[1].type for at in (8, 10)] == ["text", "int"]


def test_a_field_that_only_another_node_shows_renamed_has_its_older_name_before_the_gap() -> None:
    older, newer = user_type("u", {"f": "int"}, 10), user_type("u", {"g": "int"}, 50)
    made = record(2, (7, 100), [older, *create("t", ID_A, 20, {**SIMPLE, "v": data("frozen<u>")})])
    response = [newer, *made.deltas[1:]]
    told = [msgspec.structs.replace(each, row_deletion=None) for each in response]
    renamed = record(3, (9, 0), [newer], "node n1")
    for records in ([given((0, 0), told, 1), made, renamed], [made, renamed, given((0, 0), told, 4)]):
        history = DefinitionHistory(records[:-1])
        history.extend(records[-1:])
        fields = [history.as_of(Position(*at))[ID_A].types["u"][0].name for at in ((7, 100), (8, 0), (9, 0))]
        assert fields == ["f", "f", "g"]


def test_a_schema_that_the_node_takes_over_later_does_not_take_back_what_another_node_showed() -> None:
    """It missed another statement then. A statement of its own log says from where it counts."""
    older, newer = user_type("u", {"f": "int"}, 10), user_type("u", {"g": "int"}, 50)
    made = record(1, (7, 100), [older, *create("t", ID_A, 20, {**SIMPLE, "v": data("frozen<u>")})])
    renamed = record(2, (9, 0), [newer], "node n1")
    whole = record(3, (12, 100), [newer, *made.deltas[1:], *create("x", ID_B, 70, SIMPLE)])
    for later, shown in ((whole, ["f", "g", "g"]), (record(3, (12, 100), [newer]), ["f", "f", "g"])):
        history = DefinitionHistory([made, renamed])
        history.extend([later])
        fields = [history.as_of(Position(*at))[ID_A].types["u"][0].name for at in ((8, 0), (10, 0), (12, 100))]
        assert fields == shown


def test_a_table_that_a_response_added_does_not_exist_before_where_the_log_altered_it_in_between() -> None:
    """The response was asked for before the ALTER, and journaled behind it: its row of `tables` is the older one."""
    older, gap, altered, later = answered("u", ID_B, 5), answered("t", ID_A, 30), 40, 60
    added = [column("t", "s", data("int"), altered), heading("t", ID_A, altered)]
    renamed = [gone("columns", ["t", "id"], later), column("t", "k", SIMPLE["id"], later), heading("t", ID_A, later)]
    now = [delta for delta in gap if delta.clustering[-1] not in ("t", "id")]
    now += [msgspec.structs.replace(delta, row_deletion=None) for delta in (*added[:1], *renamed[1:])]
    records = [
        given((0, 0), older, 1, asked=10),
        record(2, (9, 100), added),
        given((9, 0), gap, 3, asked=35),
        record(4, (9, 200), renamed),
        given((0, 0), [*older, *now], 5, asked=70),
    ]
    history = DefinitionHistory(records)
    assert names(history, 8, 0) == {"u": 2}
    assert [names(history, 9, at)["t"] for at in (0, 100, 200)] == [2, 3, 3]


def test_a_file_is_of_the_table_that_was_there_when_it_was_given() -> None:
    """The log lacks the CREATE, has the whole schema once more, and later the CREATE of another table with the id. A
    file has no timestamps: when it was journaled tells which of the two it describes."""
    base = [msgspec.structs.replace(each, row_deletion=None) for each in create("t", ID_A, -(2**63), SIMPLE)]
    whole = record(2, (9, 50), [*create("t", ID_A, 10, SIMPLE), *create("x", ID_B, 20, SIMPLE)])
    dropped = record(3, (9, 100), drop("t", [*SIMPLE], 60))
    again = record(4, (9, 200), create("t", ID_A, 70, SIMPLE))
    file = msgspec.structs.replace(record(1, (8, 0), base, "file a.cql"), learnt=50)
    history = DefinitionHistory([whole, dropped, again])
    history.extend([file])
    assert names(history, 8, 0) == names(DefinitionHistory([file, whole, dropped, again]), 8, 0) == {"t": 2}


def test_a_table_behind_a_gap_whose_keyspace_was_dropped_before_and_that_is_altered_behind_it() -> None:
    """Its id was that of an earlier table, nobody saw its CREATE, and the response was given behind the ALTER."""
    gone = [SchemaDelta(table, "ks", (), partition_deletion=50) for table in ("columns", "dropped_columns", "tables")]
    values = {"kind": "regular", "type": "int", "dropped_time": 70}
    dropped = put("dropped_columns", "ks", ["t", "w"], values, 70)
    response = [*(column("t", name, kind, 60) for name, kind in SIMPLE.items()), heading("t", ID_A, 70, replaces=False)]
    alter = [SchemaDelta("columns", "ks", ("t", "w"), row_deletion=70), dropped, heading("t", ID_A, 70)]
    records = [
        CREATE,
        record(2, (8, 100), gone),
        given((9, 0), [*response, dropped], 3, asked=65),
        record(4, (9, 200), alter),
    ]
    for more in ([], [given((0, 0), [*response, dropped], 5, asked=90)]):
        history = DefinitionHistory([*records, *more])
        assert history.as_of(Position(8, 99))[ID_A] == DefinitionHistory([CREATE]).newest[ID_A]
        behind, altered = (history.as_of(Position(*at))[ID_A] for at in ((9, 0), (9, 200)))
        assert (behind.dropped, sorted(each.name for each in behind.columns)) == (False, ["id", "v", "w"])
        assert [each.name for each in altered.columns if not each.dropped] == ["id", "v"]


def test_a_schema_that_the_node_copies_behind_a_request_takes_back_nothing_of_the_response() -> None:
    """It copied the ALTER before, in a segment that is gone, and then the whole schema for a newer statement. Without
    one that is newer than the request, the ALTER may be copied there."""
    stopped = record(2, (7, 200), [heading("t", ID_A, 30, cdc=False)])
    captures = heading("t", ID_A, 40)
    response = given((8, 0), [*answered("t", ID_A, 10)[:-1], msgspec.structs.replace(captures, row_deletion=None)], 3)
    columns = create("t", ID_A, 10, SIMPLE)[:-1]
    for asked, before in ((50, True), (80, False)):
        request = msgspec.structs.replace(response, asked=asked)
        copied = record(4, (9, 100), [*columns, captures, *create("x", ID_B, 70, SIMPLE)])
        for records in ([CREATE, stopped, request, copied], [CREATE, stopped, copied, request]):
            history = DefinitionHistory(records[:-1])
            history.extend(records[-1:])
            found = [history.as_of(Position(*at))[ID_A].cdc for at in ((7, 250), (8, 500), (9, 100))]
            assert found == [False, before, True]


def test_a_response_with_a_later_table_of_the_same_id_adds_nothing_to_the_earlier_one() -> None:
    """The DROP and the second CREATE are in segments that are gone: a new consumer has the later table's key, before
    the log shows the CREATE of the first one."""
    made = record(2, (7, 100), create("t", ID_A, 10, {**SIMPLE, "c": key("clustering", "int", 0, "asc")}))
    keys = {"id": key("partition_key", "uuid"), "c": key("clustering", "int", 0, "asc")}
    later = create("t", ID_A, 40, {**keys, "d": key("clustering", "int", 1, "asc"), "v": data("int")})
    added = [*later[:-1], column("t", "w", data("int"), 60), heading("t", ID_A, 60)]
    told = [msgspec.structs.replace(each, row_deletion=None) for each in added]
    history = DefinitionHistory([given((0, 0), told, 1, asked=90), made])
    columns = {column.name: column.type for column in history.as_of(Position(7, 100))[ID_A].columns}
    assert columns == {"id": "int", "c": "int", "v": "text"}


def test_a_key_column_that_only_another_node_shows_renamed_has_its_older_name_before_the_gap() -> None:
    """A consumer that begins later has a response with the new name. The log shows the CREATE, or lacks that too."""
    made = create("t", ID_A, 10, SIMPLE)
    told = [column("t", "k", SIMPLE["id"], 40), column("t", "v", SIMPLE["v"], 10), heading("t", ID_A, 40)]
    now = [msgspec.structs.replace(each, row_deletion=None) for each in told]
    renamed = record(3, (9, 0), [gone("columns", ["t", "id"], 40), told[0], told[-1]], "node n1")
    before = given((0, 0), [msgspec.structs.replace(each, row_deletion=None) for each in made], 1, asked=30)
    for first in (record(1, (7, 100), made), before):
        for records in ([first, renamed, given((0, 0), now, 4, asked=90)], [given((0, 0), now, 4, asked=90), renamed]):
            history = DefinitionHistory([first, *records][:-1])
            history.extend(records[-1:])
            keys = [history.as_of(Position(*at))[ID_A].partition_key for at in ((7, 100), (8, 0), (9, 0))]
            assert [key[0].name for key in keys] == ["id", "id", "k"]


def test_a_key_column_that_was_renamed_while_the_node_was_down_has_its_older_name_before_the_copied_schema() -> None:
    """The node copied the whole schema when it was up again. Of the CREATE another node's log told, or a response."""
    made = create("t", ID_A, 10, {**SIMPLE, "c": key("clustering", "int", 0, "asc")})
    named = [msgspec.structs.replace(each, row_deletion=None) for each in made]
    renamed = [column("t", "k", SIMPLE["id"], 40) if each.clustering[-1] == "id" else each for each in named[:-1]]
    once = [gone("columns", ["t", "id"], 40), gone("columns", ["t", "w"], 20)]
    twice = [gone("columns", ["t", "between"], 40), gone("columns", ["t", "id"], 30), once[1]]
    rest = [*create("x", ID_B, 50, SIMPLE), heading("t", ID_A, 40)]
    now = [*renamed, heading("t", ID_A, 40, replaces=False)]
    told, later, before = given((0, 0), now, 4, asked=90), given((8, 0), now, 5, asked=95), given((7, 100), named, 2)
    firsts = record(2, (7, 100), made), record(2, (7, 100), made, "node n3"), before
    for first, tombstones in product(firsts, (once, twice)):
        copied = record(3, (9, 0), [*renamed, *tombstones, *rest])
        for records in ([first, copied, told], [told, first, copied], [first, told, copied], [first, later, copied]):
            history = DefinitionHistory(records[:-1])
            history.extend(records[-1:])
            keys = [history.as_of(Position(*at))[ID_A].partition_key for at in ((7, 100), (8, 0), (9, 0))]
            assert [[each.name for each in key] for key in keys] == [["id"], ["id"], ["k"]]


def test_a_response_adds_no_key_column_to_a_table_that_the_log_creates() -> None:
    """The RENAME is in a segment that is gone: rows before have the older name, as the log has it."""
    told = [column("t", "k", SIMPLE["id"], 40), column("t", "v", SIMPLE["v"], 10), heading("t", ID_A, 40)]
    now = [msgspec.structs.replace(each, row_deletion=None) for each in told]
    history = DefinitionHistory([given((0, 0), now, 1, asked=90)])
    history.extend([record(2, (7, 100), create("t", ID_A, 10, SIMPLE))])
    assert [key.name for key in history.as_of(Position(7, 100))[ID_A].partition_key] == ["id"]


def test_a_column_counts_from_its_statement_though_the_node_copied_the_whole_schema_later() -> None:
    """The copy has types too, and the tombstone of a renamed column: it looks like an ALTER TYPE."""
    other = user_type("u", {"f": "int"}, 5)
    made = record(1, (7, 100), create("t", ID_A, 10, SIMPLE))
    added = record(2, (9, 0), [column("t", "w", data("int", "static"), 30), heading("t", ID_A, 30)])
    rows = [*create("t", ID_A, 10, SIMPLE)[:-1], added.deltas[0], gone("columns", ["t", "ck"], 15), added.deltas[1]]
    whole = record(3, (12, 100), [other, *rows, *create("x", ID_B, 50, SIMPLE)])
    told = [msgspec.structs.replace(each, row_deletion=None) for each in rows if each.cells]
    for records in ([made, added, whole, given((0, 0), told, 4, asked=90)], [given((0, 0), told, 4, asked=90), whole]):
        history = DefinitionHistory([made, added, *records][:-1])
        history.extend(records[-1:])
        assert [names(history, *at)["t"] for at in ((7, 100), (8, 0), (9, 0), (12, 100))] == [2, 2, 3, 3]


def test_a_column_that_a_later_response_lacks_was_not_dropped() -> None:
    """Both are taken back to their positions: then their rows have no timestamps, as those of a file."""
    made = record(1, (7, 100), create("t", ID_A, 10, SIMPLE))
    told = [*made.deltas[:-1], column("t", "w", data("int"), 20), heading("t", ID_A, 60)]
    first, second = given((8, 0), told, 2, asked=90), given((8, 50), [*told[:2], told[-1]], 3, asked=91)
    altered = record(4, (9, 0), [heading("t", ID_A, 60)])
    typed = record(5, (10, 0), [user_type("u", {"f": "int"}, 70), *told[:3]])
    history = DefinitionHistory([made, first, second, altered, typed])
    found = history.as_of(Position(8, 50))[ID_A].columns
    assert {column.name: column.dropped for column in found} == {"id": False, "v": False, "w": False}


def test_a_type_that_was_created_again_in_a_gap_counts_from_no_position_before_it() -> None:
    """A new consumer: the response has the later type, and the log shows the earlier one."""
    earlier, later = user_type("u", {"a": "int", "b": "int"}, 5), user_type("u", {"b": "int", "a": "int"}, 40)
    made = record(2, (7, 100), create("t", ID_A, 10, {**SIMPLE, "v": data("frozen<u>")}))
    now = [later, *(msgspec.structs.replace(each, row_deletion=None) for each in made.deltas)]
    told, first = given((0, 0), now, 1, asked=90), record(3, (7, 50), [earlier])
    for records in ([told, first, made], [first, made, told]):
        history = DefinitionHistory(records[:1])
        for each in records[1:]:
            history.extend([each])
        fields = history.as_of(Position(7, 100))[ID_A].types["u"]
        assert [field.name for field in fields] == ["a", "b"]
    # Where the gap is, the response adds it.
    found = additions(history.state_at(Position(8, 0)), history.in_force(now, Position(8, 0)))
    assert "types" in [delta.table for delta in found]


def test_a_response_with_a_table_created_behind_a_drop_that_is_in_the_whole_schema_later() -> None:
    """The log shows the DROP, not the second CREATE, and the copy lowers all that the response has of the table."""
    keys = {"id": key("partition_key", "uuid"), "c": key("clustering", "int", 0, "asc")}
    again = create("t", ID_A, 60, {**keys, "v": data("int")})
    told = [msgspec.structs.replace(each, row_deletion=None) for each in again]
    dropped = record(2, (9, 0), drop("t", [*SIMPLE], 50))
    extra = [user_type("u", {"f": "int"}, 5), gone("columns", ["t", "x"], 55)]
    whole = record(3, (12, 100), [*extra, *again, *create("x", ID_B, 70, SIMPLE)])
    history = DefinitionHistory([CREATE, dropped, whole])
    history.extend([given((8, 0), told, 4, asked=90)])
    for at, columns in (((8, 500), {"id": "int", "v": "text"}), ((9, 0), {"id": "uuid", "c": "int", "v": "int"})):
        found = history.as_of(Position(*at))[ID_A]
        assert {each.name: each.type for each in found.columns} == columns
    # It counts from the DROP on, which ended the earlier one all the same.
    (event,) = [each for each in history.events if each.at == Position(9, 0)]
    assert event.again == {ID_A: 50}


@pytest.mark.parametrize("tombstone", ["keyspace", "table"])
def test_the_tombstone_of_an_earlier_drop_in_a_copied_schema_ends_no_later_table(tombstone: str) -> None:
    """The server keeps tombstones of its schema for a week, and a copy has them."""
    made = record(1, (7, 100), create("t", ID_A, 60, SIMPLE))
    if tombstone == "keyspace":
        dropped = [SchemaDelta(name, "ks", (), {}, None, None, 30, None) for name in ("tables", "views")]
    else:
        dropped = [gone("views", ["t"], 30)]
    rows = [*create("t", ID_A, 60, SIMPLE)[:-1], column("t", "w", data("int"), 65), heading("t", ID_A, 65)]
    whole = record(2, (12, 100), [*dropped, *rows, *create("x", ID_B, 70, SIMPLE)])
    history = DefinitionHistory([made, whole])
    assert [dict(event.again) for event in history.events] == [{}, {}]


def test_a_table_that_was_created_again_is_not_created_once_more_by_a_copied_schema() -> None:
    """The log has shown that CREATE: what this node logged since is of the table."""
    dropped, again = record(2, (8, 0), drop("t", [*SIMPLE], 20)), record(3, (8, 100), create("t", ID_A, 30, SIMPLE))
    whole = record(4, (12, 100), [*create("t", ID_A, 30, SIMPLE), *create("x", ID_B, 50, SIMPLE)])
    history = DefinitionHistory([CREATE, dropped, again, whole])
    assert not any(event.again for event in history.events)
    # Where it has not, the copy shows it.
    unseen = DefinitionHistory([CREATE, whole])
    assert [dict(event.again) for event in unseen.events if event.again] == [{ID_A: 29}]


def test_what_the_log_shows_of_a_table_is_older_than_the_response() -> None:
    """Later ALTERs are in a segment that is gone: the column has another type since, and the table captures no more."""
    told = [*create("t", ID_A, 10, SIMPLE)[:-1], column("t", "c", data("text"), 40), heading("t", ID_A, 50, cdc=False)]
    now = [msgspec.structs.replace(each, row_deletion=None) for each in told]
    added = record(2, (8, 0), [column("t", "c", data("int"), 20), heading("t", ID_A, 20)])
    for records in ([given((0, 0), now, 1, asked=90), added], [added, given((0, 0), now, 1, asked=90)]):
        history = DefinitionHistory(records[:1])
        history.extend(records[1:])
        assert names(history, 7, 0) == {"t": 2}
        found = history.as_of(Position(8, 0))[ID_A]
        assert {each.name: each.type for each in found.columns} == {"id": "int", "v": "text", "c": "int"}
        assert found.cdc
