"""SchemaState on changes made by hand: merging, drops, lives of a name, types, bases."""

from __future__ import annotations

import itertools
import pickle

from tailer.rebuild.newest import newer
from tailer.rebuild.table import Table
from tailer.schema.cql_file import parse_cql
from tailer.schema.follow import SchemaState
from tailer.schema.model import TableDefinition, TypeField
from tailer.schema.rows import BASE_TS, RangeDeletion, SchemaDelta, put
from tests.unit.schema.made import (
    ID_A,
    ID_B,
    SIMPLE,
    column,
    create,
    data,
    drop,
    gone,
    heading,
    key,
    user_type,
)

FILE = f"CREATE TABLE ks.t (id int, clus int, v text, PRIMARY KEY (id, clus)) WITH ID = {ID_A} AND cdc = true;"


def bound(text: str) -> str:
    """The ids of `made` spelled as CQL does."""
    return text.replace(ID_A, "0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a").replace(
        ID_B, "0b0b0b0b-0b0b-0b0b-0b0b-0b0b0b0b0b0b"
    )


def shape(definition: TableDefinition) -> dict[str, str]:
    """Columns by name: kind and type, with a `-` before those dropped."""
    return {held.name: ("-" if held.dropped else "") + f"{held.kind} {held.type}" for held in definition.columns}


def test_a_create_is_one_definition_whatever_the_order_of_its_rows() -> None:
    rows = create("t", ID_A, 100, SIMPLE)
    made = set()
    for order in itertools.permutations(rows):
        state = SchemaState()
        assert list(state.apply(order)) == [ID_A]
        made.add(repr(state.definitions[ID_A]))
    assert len(made) == 1


def test_the_row_deletion_of_an_alter_drops_nothing_and_cdc_follows_the_newest_row() -> None:
    state = SchemaState()
    state.apply(create("t", ID_A, 100, SIMPLE))
    changed = state.apply([heading("t", ID_A, 200, cdc=False)])
    assert not changed[ID_A].cdc
    assert not changed[ID_A].dropped
    assert state.apply([heading("t", ID_A, 150, cdc=True)]) == {}, "an older row changes nothing"


def test_how_long_deletions_are_kept_is_of_the_newest_row_and_no_definition_changes_by_it() -> None:
    state = SchemaState()
    state.apply(parse_cql(bound(FILE).replace("cdc = true", "cdc = true AND gc_grace_seconds = 60")))
    assert state.gc_grace == {ID_A: 60}
    state.apply(create("t", ID_A, 100, {**SIMPLE, "clus": key("clustering", "int")}))
    held = state.gc_grace
    altered = put("tables", "ks", ["t"], {"gc_grace_seconds": 7200}, 200)
    assert state.apply([altered]) == {}
    assert state.apply([put("tables", "ks", ["t"], {"gc_grace_seconds": 1}, 150)]) == {}, "an older row"
    assert (state.gc_grace, held) == ({ID_A: 7200}, {ID_A: 60}), "what was handed out stays as it was"


def test_writing_the_same_again_is_no_change() -> None:
    state = SchemaState()
    state.apply(create("t", ID_A, 100, SIMPLE))
    assert state.apply(create("t", ID_A, 100, SIMPLE)) == {}
    assert state.apply([heading("t", ID_A, 300)]) == {}


def test_an_absent_cdc_flag_is_false() -> None:
    state = SchemaState()
    state.apply([column("t", "id", SIMPLE["id"], 1), put("tables", "ks", ["t"], {"id": ID_A}, 1)])
    assert not state.definitions[ID_A].cdc


def test_a_deletion_covers_its_own_timestamp_and_a_tie_is_won_by_the_greater_bytes() -> None:
    state = SchemaState()
    state.apply([*create("t", ID_A, 100, SIMPLE), column("t", "w", data("int"), 200), gone("columns", ["t", "w"], 200)])
    assert shape(state.definitions[ID_A])["w"] == "-regular int"
    state.apply([column("t", "v", data("blob"), 100)])
    assert shape(state.definitions[ID_A])["v"] == "regular text", "`text` is the greater of the two"


def test_a_drop_with_a_timestamp_of_its_own_is_newer_than_what_was_before_it() -> None:
    """ALTER TABLE … DROP … USING TIMESTAMP writes any `dropped_time`; its own row has the time of the statement."""
    second = 1_000_000
    state = SchemaState()
    known = [state.apply(create("t", ID_A, 100 * second, SIMPLE))[ID_A]]
    for at, time in ((200, 199 * second + 999_000), (400, 7), (600, 9_000 * second)):
        dropped = {"kind": "regular", "type": "text", "dropped_time": time}
        drop = [
            gone("columns", ["t", "v"], at * second),
            put("dropped_columns", "ks", ["t", "v"], dropped, at * second),
        ]
        add = [column("t", "v", SIMPLE["v"], (at + 100) * second), heading("t", ID_A, (at + 100) * second)]
        known += [state.apply([*drop, heading("t", ID_A, at * second)])[ID_A], state.apply(add)[ID_A]]
    assert [next(c.dropped for c in each.columns if c.name == "v") for each in known] == [False, *[True, False] * 3]
    for older, later in itertools.combinations(map(Table.of, known), 2):
        assert newer(older, later).definition == newer(later, older).definition == later.definition


def test_a_dropped_column_keeps_the_type_it_had_and_one_added_again_is_live() -> None:
    state = SchemaState()
    state.apply([user_type("u", {"a": "int"}, 50), *create("t", ID_A, 100, {**SIMPLE, "g": data("frozen<u>")})])
    dropped = {"kind": "regular", "type": "frozen<tuple<int>>", "dropped_time": 199}
    state.apply(
        [
            gone("columns", ["t", "g"], 200),
            put("dropped_columns", "ks", ["t", "g"], dropped, 200),
            heading("t", ID_A, 200),
        ]
    )
    held = state.definitions[ID_A]
    assert shape(held)["g"] == "-regular frozen<u>"
    assert held.columns[-1].dropped_time == 199
    assert held.types == {"u": (TypeField("a", "int"),)}
    state.apply([gone("types", ["u"], 250)])
    assert state.definitions[ID_A] == held, "the fields of a dropped type are kept"
    again = state.apply([column("t", "g", data("int"), 300), heading("t", ID_A, 300)])[ID_A]
    assert shape(again) == {"id": "partition_key int", "v": "regular text", "g": "regular int"}
    assert {held.name: held.dropped_time for held in again.columns}["g"] == 199


def test_a_dropped_column_that_only_a_file_knows_is_a_tuple() -> None:
    state = SchemaState()
    text = f"{bound(FILE)} ALTER TABLE ks.t DROP v USING TIMESTAMP 7;".replace("v text", "v frozen<tuple<int, text>>")
    state.apply(parse_cql(text))
    assert shape(state.definitions[ID_A])["v"] == "-regular frozen<tuple<int, text>>"


def test_a_renamed_key_column_leaves_nothing_behind() -> None:
    state = SchemaState()
    state.apply(create("t", ID_A, 100, {**SIMPLE, "ck": key("clustering", "int", 0, "desc")}))
    renamed = column("t", "clus", key("clustering", "int", 0, "desc"), 200)
    changed = state.apply([gone("columns", ["t", "ck"], 200), renamed, heading("t", ID_A, 200)])
    assert shape(changed[ID_A]) == {"id": "partition_key int", "clus": "clustering int", "v": "regular text"}
    assert [held.desc for held in changed[ID_A].clustering] == [True]


def test_a_dropped_table_keeps_its_definition_and_a_new_one_of_its_name_inherits_nothing() -> None:
    state = SchemaState()
    state.apply(create("t", ID_A, 100, SIMPLE))
    # The server leaves the rows of dropped columns where they are.
    state.apply(
        [
            gone("columns", ["t", "v"], 150),
            put("dropped_columns", "ks", ["t", "v"], {"kind": "regular", "type": "text"}, 150),
        ]
    )
    before = state.definitions[ID_A]
    dropped = state.apply(drop("t", ["id"], 200))
    assert dropped[ID_A].dropped
    assert dropped[ID_A].columns == before.columns
    state.apply(create("t", ID_B, 300, {"k": key("partition_key", "uuid")}))
    assert shape(state.definitions[ID_B]) == {"k": "partition_key uuid"}
    assert state.definitions[ID_A] == dropped[ID_A]
    assert state.definitions.keys() == {ID_A, ID_B}


def test_drop_keyspace_is_a_partition_deletion() -> None:
    state = SchemaState()
    state.apply(create("t", ID_A, 100, SIMPLE))
    state.apply(parse_cql(bound("CREATE TABLE ks.b (id int PRIMARY KEY) WITH ID = " + ID_B + ";")))
    changed = state.apply(
        [SchemaDelta(table, "ks", partition_deletion=200) for table in ("columns", "tables", "types")]
    )
    assert {id: (held.dropped, held.dropped_time) for id, held in changed.items()} == dict.fromkeys(
        (ID_A, ID_B), (True, 200)
    )


def test_a_range_deletion_covers_the_rows_in_it_those_to_come_too() -> None:
    state = SchemaState()
    state.apply(create("t", ID_A, 100, SIMPLE))
    state.apply([SchemaDelta("columns", "ks", range=RangeDeletion(("t", "v"), True, ("t",), True, 150))])
    assert shape(state.definitions[ID_A])["v"] == "-regular text"
    state.apply([column("t", "w", data("int"), 140)])
    assert shape(state.definitions[ID_A])["w"] == "-regular int"
    state.apply([column("t", "w", data("int"), 160)])
    assert shape(state.definitions[ID_A])["w"] == "regular int"


def test_an_altered_type_makes_a_new_version_of_every_table_that_uses_it_nested_too() -> None:
    state = SchemaState()
    inner, outer = user_type("inner", {"a": "int"}, 1), user_type("Outer x", {"i": "frozen<inner>"}, 1)
    state.apply([inner, outer])
    state.apply(create("t", ID_A, 10, {**SIMPLE, "u": data('map<text, frozen<"Outer x">>')}))
    state.apply(create("other", ID_B, 10, SIMPLE))
    changed = state.apply([user_type("inner", {"a": "int", "b": "text"}, 20)])
    assert list(changed) == [ID_A]
    assert changed[ID_A].types["inner"] == (TypeField("a", "int"), TypeField("b", "text"))
    assert changed[ID_A].types["Outer x"] == (TypeField("i", "frozen<inner>"),)


def test_columns_wait_for_their_table_row_and_a_table_row_for_its_columns() -> None:
    state = SchemaState()
    assert state.apply([column("t", name, values, 5) for name, values in SIMPLE.items()]) == {}
    assert list(state.apply([heading("t", ID_A, 5)])) == [ID_A]
    assert state.apply([heading("u", ID_B, 5), column("u", "v", data("int"), 5)]) == {}, "no key yet"
    assert list(state.apply([column("u", "id", key("partition_key", "int"), 5)])) == [ID_B]


def test_a_change_without_its_base_is_kept_until_the_base_comes() -> None:
    state = SchemaState()
    late = [column("t", "w", data("int"), 200), gone("columns", ["t", "v"], 200), heading("t", ID_A, 200)]
    assert state.apply(late) == {}
    state.apply(parse_cql(bound(FILE)))
    assert shape(state.definitions[ID_A]) == {
        "id": "partition_key int",
        "clus": "clustering int",
        "w": "regular int",
        "v": "-regular text",
    }


def test_before_the_log_renames_a_column_again_the_log_s_older_name_counts() -> None:
    state = SchemaState()
    state.apply(parse_cql(bound(FILE)))
    state.apply(create("t", ID_A, 100, {**SIMPLE, "ck": key("clustering", "int", 0, "asc")}))
    assert [held.name for held in state.definitions[ID_A].clustering] == ["ck"]
    state.apply([gone("columns", ["t", "ck"], 200), column("t", "clus", key("clustering", "int", 0, "asc"), 200)])
    assert [held.name for held in state.definitions[ID_A].clustering] == ["clus"]


def test_a_file_of_the_second_life_of_a_name_says_nothing_of_the_first() -> None:
    state = SchemaState()
    state.apply(parse_cql(bound(FILE.replace(ID_A, ID_B))))
    assert list(state.apply(create("t", ID_A, 100, SIMPLE))) == [ID_A]
    assert shape(state.definitions[ID_A]) == {"id": "partition_key int", "v": "regular text"}
    assert list(state.apply(drop("t", ["id", "v"], 200))) == [ID_A]
    state.apply(create("t", ID_B, 300, {"id": key("partition_key", "int"), "clus": key("clustering", "int")}))
    assert not state.definitions[ID_B].dropped
    assert shape(state.definitions[ID_B]) == {
        "id": "partition_key int",
        "clus": "clustering int",
        "v": "regular text",
    }, "what only the file says of this id stays"


def test_a_base_given_after_a_drop_is_a_new_table_and_a_drop_after_a_base_is_its_end() -> None:
    state = SchemaState()
    state.apply(drop("t", ["id", "clus"], 100))
    assert list(state.apply(parse_cql(bound(FILE)))) == [ID_A]
    assert not state.definitions[ID_A].dropped
    assert state.apply(drop("t", ["id", "clus", "v"], 200))[ID_A].dropped


def test_of_two_bases_the_later_counts_and_what_it_has_not_any_more_is_dropped() -> None:
    state = SchemaState()
    state.apply(parse_cql(bound(FILE)))
    changed = state.apply(parse_cql(bound(FILE.replace("v text", "w int").replace("true", "false"))))
    assert shape(changed[ID_A])["v"] == "-regular text"
    assert shape(changed[ID_A])["w"] == "regular int"
    assert not changed[ID_A].cdc


def test_a_table_without_id_waits_until_exactly_one_id_is_known_for_its_name() -> None:
    text = "CREATE TABLE ks.t (id int PRIMARY KEY, v text);"
    state = SchemaState()
    assert state.apply(parse_cql(text)) == {}
    assert state.unbound == {"ks.t"}
    changed = state.apply([heading("t", ID_A, 100)])
    assert shape(changed[ID_A]) == {"id": "partition_key int", "v": "regular text"}
    assert changed[ID_A].cdc, "the log knows the flag"
    assert state.unbound == frozenset()

    two = SchemaState()
    two.apply(create("t", ID_A, 100, SIMPLE))
    two.apply(drop("t", ["id", "v"], 200))
    two.apply([heading("t", ID_B, 300)])
    assert two.apply(parse_cql(text)) == {}
    assert two.unbound == {"ks.t"}


def test_a_table_without_id_can_be_bound_by_who_knows_the_id() -> None:
    state = SchemaState()
    state.apply(parse_cql("CREATE TABLE ks.t (id int PRIMARY KEY, v text) WITH cdc = true;"))
    assert list(state.bind("ks", "t", ID_A)) == [ID_A]
    assert state.definitions[ID_A].cdc


def test_a_view_is_a_definition_of_its_own() -> None:
    state = SchemaState()
    rows = [
        column("mv", "v", key("partition_key", "int"), 10),
        column("mv", "id", key("clustering", "int", 0, "asc"), 10),
        put("views", "ks", ["mv"], {"id": ID_A, "cdc": False}, 10),
    ]
    assert state.apply(rows)[ID_A].view
    assert state.apply([*drop("mv", ["v", "id"], 20), gone("views", ["mv"], 20)])[ID_A].dropped


def test_names_given_as_other_bytes_are_kept_as_bytes() -> None:
    state = SchemaState()
    odd = put("columns", "ks", ["t", "ff00"], {**data("blob", "static"), "column_name_bytes": "ff00"}, 10)
    state.apply([*create("t", ID_A, 10, SIMPLE), odd])
    names = {held.name: held.name_bytes for held in state.definitions[ID_A].columns}
    assert names == {"id": b"id", "v": b"v", "ff00": b"\xff\x00"}


def test_the_server_s_own_keyspaces_are_ignored_unless_asked_for() -> None:
    rows = [put("columns", "system", ["t", "id"], SIMPLE["id"], 1), put("tables", "system", ["t"], {"id": ID_A}, 1)]
    assert SchemaState().apply(rows) == {}
    assert list(SchemaState(ignored=frozenset()).apply(rows)) == [ID_A]


def test_a_state_survives_pickling() -> None:
    state = SchemaState()
    state.apply(parse_cql(bound(FILE)))
    state.apply([heading("t", ID_A, 100, cdc=False)])
    copy = pickle.loads(pickle.dumps(state))
    assert dict(copy.definitions) == dict(state.definitions)
    assert copy.apply([heading("t", ID_A, 200)])[ID_A].cdc


def test_a_base_is_older_than_any_row() -> None:
    assert BASE_TS == -(2**63)
    assert all(delta.liveness == BASE_TS for delta in parse_cql(bound(FILE)))
