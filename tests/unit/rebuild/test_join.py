"""States join in any order, any number of times, in any pieces, and a TRUNCATE may come at any moment."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tailer.rebuild.changes import OWN, changed
from tailer.rebuild.facts import Fact
from tailer.rebuild.pack import pack, unpack
from tailer.rebuild.rows import rows_at
from tailer.rebuild.state import Rows, Truncations, join
from tailer.rebuild.table import Plan, Table, plan_of
from tailer.schema.model import Column, TableDefinition
from tests.helpers.rebuilt_json import row_json

ID = "00" * 16
COUNTERS = ("c1", "c2")


def table(*, counter: bool = False) -> Plan:
    data: tuple[Column, ...] = (
        Column("s", "static", "int"),
        Column("v", "regular", "int", dropped_time=2),
        Column("m", "regular", "map<int, int>"),
    )
    if counter:
        data = (Column("c", "regular", "counter"),)
    keys = (Column("k", "partition_key", "int", 0), Column("x", "clustering", "int", 0, desc=True))
    return plan_of(Table.of(TableDefinition(ID, "ks", "t", (*keys, *data), counter=counter)))


def change(op: str, ts: int, place: int = 0, node: str = "a", **more: Any) -> dict[str, Any]:
    """A change row of partition 1; `place` is where it was logged."""
    row = dict.fromkeys(("clustering", "columns", "range", "ttl", "expires_at", "cells"))
    return {
        **row, "op": op, "write_ts": ts, "segment": 1, "offset": place, "node": node, "token": 0, "is_static": False,
        "partition_key": '{"k":1}', **more,
    }  # fmt: skip


def rows(facts: Rows | dict[bytes, list[Fact]], plan: Plan, truncations: Truncations, at: int = 100) -> list[Any]:
    partition = bytes(8) + bytes.fromhex("0000000400000001")
    return [(row.until, row_json(partition, row, plan)) for row in rows_at(facts, plan, truncations, at)]


def facts_of(changes: list[dict[str, Any]], plan: Plan) -> dict[bytes, list[Fact]]:
    facts: dict[bytes, list[Fact]] = {}
    for each in changes:
        made = changed(each, plan)
        assert made is not None
        facts.setdefault(made.row, []).extend(made.facts)
    return facts


TIMES = st.one_of(st.just((None, None)), st.sampled_from([(10, 90), (10, 110), (20, 110)]))


@st.composite
def changes(draw: st.DrawFn, *, counter: bool) -> dict[str, Any]:
    op = draw(st.sampled_from(["insert", "update", "update", "delete_row", "delete_range", "delete_partition"]))
    row = change(op, draw(st.integers(1, 5)), draw(st.integers(0, 4)), draw(st.sampled_from("ab")))
    if op in ("insert", "update", "delete_row"):
        row["clustering"] = draw(st.sampled_from(['{"x":1}', '{"x":2}']))
    if op == "delete_range":
        row["range"] = draw(
            st.sampled_from(
                [
                    '{"start":{"x":2},"start_inclusive":true,"end":{"x":2},"end_inclusive":true}',
                    '{"start":{"x":2},"start_inclusive":false,"end":null,"end_inclusive":true}',
                ]
            )
        )
    if op in ("insert", "update"):
        row["ttl"], row["expires_at"] = (None, None) if counter else draw(TIMES)
        row["columns"] = draw(st.sampled_from(_COUNTED if counter else _SET))
        if op == "update" and not counter and draw(st.booleans()):
            row |= {"is_static": True, "clustering": None, "columns": draw(st.sampled_from(['{"s":1}', '{"s":null}']))}
    return row


_SET = [
    '{"v":1}',
    '{"v":2}',
    '{"v":null}',
    '{"m":null}',
    '{"m":{"replaced":true,"put":{"1":1}}}',
    '{"m":{"replaced":false,"put":{"1":2,"2":2}}}',
    '{"m":{"replaced":false,"removed":["1"]}}',
    "{}",
]
_SHARD = '{"shard":"00000000-0000-0000-0000-00000000000%d","kind":"global","clock":%d,"total":%d}'
_COUNTED = [
    '{"c":null}',
    *('{"c":[' + _SHARD % (shard, clock, clock * 3) + "]}" for shard in (1, 2) for clock in (1, 2, 3)),
]
TRUNCATIONS = st.dictionaries(st.sampled_from("ab"), st.tuples(st.just(1), st.integers(0, 5)))


def check(pieces: list[list[dict[str, Any]]], repeat: bool, truncations: Truncations, late: int, plan: Plan) -> None:
    """Joined piece by piece, put into bytes between, with the truncations known from piece `late` on."""
    everything = facts_of([each for piece in pieces for each in piece], plan)
    state: Rows = {}
    for number, piece in enumerate([*pieces, *(pieces if repeat else [])]):
        more = facts_of(piece, plan)
        kept = {key: unpack(pack(facts)) for key, facts in state.items()}
        known = truncations if number >= late else {}
        state = join({key: [*more.get(key, ()), *kept.get(key, ())] for key in {*more, *kept}}, plan, known)
    assert rows(state, plan, truncations) == rows(everything, plan, truncations)
    at_once = join(everything, plan, truncations)
    assert join(state, plan, truncations) == at_once
    assert {key: pack(facts) for key, facts in join(at_once, plan, truncations).items()} == {
        key: pack(facts) for key, facts in at_once.items()
    }


PIECES = st.lists(st.lists(changes(counter=False), max_size=4), max_size=4)


@given(pieces=PIECES, repeat=st.booleans(), truncations=TRUNCATIONS, late=st.integers(0, 4), order=st.randoms())
def test_a_state_is_the_same_however_it_came_about(
    pieces: list[list[dict[str, Any]]], repeat: bool, truncations: Truncations, late: int, order: Any
) -> None:
    plan = table()
    check(pieces, repeat, truncations, late, plan)
    order.shuffle(pieces)
    check(pieces, repeat, truncations, late, plan)


@given(
    pieces=st.lists(st.lists(changes(counter=True), max_size=4), max_size=4),
    truncations=TRUNCATIONS,
    late=st.integers(0, 4),
)
def test_so_is_that_of_counters(pieces: list[list[dict[str, Any]]], truncations: Truncations, late: int) -> None:
    check(pieces, True, truncations, late, table(counter=True))


def test_a_truncate_brings_back_what_the_voided_write_had_beaten() -> None:
    """The stronger write was logged before the truncation, the weaker one after it."""
    plan = table()
    strong = change("insert", 9, 1, clustering='{"x":1}', columns='{"v":9}')
    weak = change("insert", 5, 3, clustering='{"x":1}', columns='{"v":5}')
    state = join(facts_of([strong, weak], plan), plan, {})
    assert rows(state, plan, {}) == [(None, {"k": "1", "x": "1", "v": "9"})]
    assert rows(join(state, plan, {"a": (1, 2)}), plan, {}) == [(None, {"k": "1", "x": "1", "v": "5"})]
    assert rows(join(state, plan, {"b": (1, 9)}), plan, {}) == [(None, {"k": "1", "x": "1", "v": "9"})]


def test_what_is_outweighed_is_forgotten() -> None:
    plan = table()
    many = [change("insert", n, n, clustering='{"x":1}', columns=f'{{"v":{n}}}') for n in range(10, 60)]
    state = join(facts_of(many, plan), plan, {})
    assert [len(facts) for facts in state.values()] == [2]
    gone = facts_of([change("delete_partition", 99, 99)], plan)
    assert list(join({**state, **gone}, plan, {})) == [OWN]


def test_ties_break_as_in_the_server() -> None:
    plan = table()

    def winner(*columns: tuple[str, int | None, int | None]) -> Any:
        made = [
            change("update", 7, clustering='{"x":1}', columns=text, ttl=ttl, expires_at=expires)
            for text, ttl, expires in columns
        ]
        shown = rows(join(facts_of(made, plan), plan, {}), plan, {})
        return shown[0][1].get("v") if shown else None

    assert winner(('{"v":1}', None, None), ('{"v":2}', None, None)) == "2"
    assert winner(('{"v":-1}', None, None), ('{"v":2}', None, None)) == "-1"
    assert winner(('{"v":1}', None, None), ('{"v":null}', None, None)) is None
    assert winner(('{"v":1}', 10, 200), ('{"v":2}', None, None)) == "1"
    assert winner(('{"v":1}', 10, 200), ('{"v":null}', None, None)) is None
    assert winner(('{"v":1}', 10, 201), ('{"v":2}', 10, 200)) == "1"
    assert winner(('{"v":1}', 9, 200), ('{"v":2}', 10, 200)) == "1"


def test_a_dropped_column_is_void_up_to_its_drop() -> None:
    plan = table()
    before = change("insert", 2, clustering='{"x":1}', columns='{"v":1}')
    after = change("update", 3, clustering='{"x":1}', columns='{"v":3}')
    assert rows(facts_of([before], plan), plan, {}) == [(None, {"k": "1", "x": "1"})]
    assert rows(facts_of([before, after], plan), plan, {}) == [(None, {"k": "1", "x": "1", "v": "3"})]


def test_a_row_tells_when_something_in_it_expires() -> None:
    plan = table()
    made = change("insert", 5, clustering='{"x":1}', columns='{"v":1,"m":{"replaced":false,"put":{"1":1}}}')
    made |= {"ttl": 50, "expires_at": 150, "cells": '{"v":{"ttl":20,"expires_at":120}}'}
    facts = facts_of([made], plan)
    whole = {"k": "1", "x": "1", "v": "1", "m": '{"1":1}'}
    assert rows(facts, plan, {}, 119) == [(120, whole)]
    assert rows(facts, plan, {}, 120) == [(150, {name: text for name, text in whole.items() if name != "v"})]
    assert rows(facts, plan, {}, 150) == []


def test_a_truncate_that_voids_a_deletion_leaves_what_was_logged_behind_it() -> None:
    plan = table()
    for op in ("delete_partition", "delete_row", "delete_range"):
        gone = change(op, 9, 1, clustering='{"x":1}')
        if op == "delete_range":
            gone["range"] = '{"start":null,"start_inclusive":true,"end":null,"end_inclusive":true}'
        late = change("insert", 5, 3, clustering='{"x":1}', columns='{"v":5}')
        state = join(facts_of([gone, late], plan), plan, {})
        assert rows(state, plan, {}) == []
        assert rows(state, plan, {"a": (1, 2)}) == [(None, {"k": "1", "x": "1", "v": "5"})]


def test_a_deletion_covers_its_own_time() -> None:
    """Also where another node logged it, whose facts are kept apart."""
    plan = table()
    for op, node in (("delete_partition", "a"), ("delete_row", "a"), ("delete_partition", "b"), ("delete_row", "b")):
        facts = facts_of(
            [
                change("insert", 5, 1, clustering='{"x":1}', columns='{"v":5}'),
                change(op, 5, 1, node, clustering='{"x":1}'),
            ],
            plan,
        )
        assert rows(facts, plan, {}) == rows(join(facts, plan, {}), plan, {}) == []
