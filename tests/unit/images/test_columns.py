"""Columns of many cells: collections and user-defined types by element, counters by shard; and how ties break."""

from __future__ import annotations

from typing import Any

from tailer.schema.model import Column, TypeField
from tests.unit.images.told import KEYS, START, State, definition, delete, insert, update

LIST = Column("l", "regular", "list<int>")
SET = Column("e", "regular", "set<text>")
MAP = Column("m", "regular", "map<text, int>")
UDT = Column("u", "regular", "u")
COUNTER = Column("c", "regular", "counter")
FIRST, SECOND = "9f6593a0-e598-11f1-b9b8-bd260306fc63", "9f6593a1-e598-11f1-b9b8-bd260306fc63"


def put(*, replaced: bool = False, removed: list[str] | None = None, **elements: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"replaced": replaced}
    if elements:
        made["put"] = elements
    return made | ({"removed": removed} if removed else {})


def test_a_map_is_shown_whole_as_its_elements_change() -> None:
    state = State(MAP, whole=True)
    assert state.told(insert(START + 1, m=put(replaced=True, b=2, a=1))) == [
        ("insert", None, {"m": {"a": 1, "b": 2}}, ("m",))
    ]
    assert state.told(update(START + 2, m=put(c=3, removed=["a"]))) == [
        ("update", {"m": {"a": 1, "b": 2}}, {"m": {"b": 2, "c": 3}}, ("m",))
    ]
    assert state.told(update(START + 3, m=put(replaced=True, z=0))) == [
        ("update", {"m": {"b": 2, "c": 3}}, {"m": {"z": 0}}, ("m",))
    ]
    assert state.told(update(START + 4, m=None)) == [("update", {"m": {"z": 0}}, {"m": None}, ("m",))]


def test_a_row_that_is_known_in_part_is_there_under_a_key_that_reads_differently() -> None:
    """What keeps the table has deleted it under the earlier key: an `update` of a row in part would make none."""
    keys = (KEYS[0], Column("x", "clustering", "frozen<p>", 0))
    old, new = (
        definition(Column("v", "regular", "int"), keys=keys, types={"p": tuple(TypeField(n, "int") for n in names)})
        for names in ("a", "ab")
    )
    state = State(define=False, nodes=("a",))
    state.define(old)
    images = state.tell({**insert(START + 1, v=5), "clustering": '{"x":{"a":7}}'})
    assert [(image.op, image.complete) for image in images] == [("upsert", False)]
    (image,) = [each for each in state.define(new, at=3) if each.op != "schema"]
    assert (image.op, image.complete) == ("upsert", False)
    assert image.after == '{"k":1,"x":{"a":7,"b":null},"v":5}'


def test_an_element_that_was_replaced_before_it_came_takes_no_effect() -> None:
    state = State(MAP, whole=True)
    state.tell(insert(START + 5, m=put(replaced=True, a=1)))
    assert state.tell(update(START + 4, m=put(b=2))) == []


def test_lists_are_in_the_order_of_their_ids() -> None:
    state = State(LIST, whole=True)
    state.tell(update(START + 1, l={"replaced": False, "put": [[SECOND, 2]]}))
    (image,) = state.tell(update(START + 2, l={"replaced": False, "put": [[FIRST, 1]]}))
    assert image.after == '{"k":1,"x":1,"l":[1,2]}'
    (image,) = state.tell(update(START + 3, l={"replaced": False, "removed": [SECOND]}))
    assert image.after == '{"k":1,"x":1,"l":[1]}'


def test_sets_are_in_the_order_of_their_values() -> None:
    state = State(SET, whole=True)
    (image,) = state.tell(update(START + 1, e={"replaced": False, "put": ["b", "a"]}))
    assert image.after == '{"k":1,"x":1,"e":["a","b"]}'
    (image,) = state.tell(update(START + 2, e={"replaced": False, "removed": ["a", "b"]}))
    assert (image.op, image.after) == ("delete", None)


def test_fields_that_were_not_set_are_null() -> None:
    types = {"u": (TypeField("one", "int"), TypeField("two", "text"))}
    state = State(UDT, whole=True, types=types)
    (image,) = state.tell(update(START + 1, u=put(two="x")))
    assert image.after == '{"k":1,"x":1,"u":{"one":null,"two":"x"}}'


def test_an_element_that_expires_leaves_its_collection() -> None:
    state = State(MAP, whole=True)
    state.tell(insert(START + 1, m=put(a=1)))
    state.tell(update(START + 1, m=put(b=1), ttl=5, expires_at=START // 1_000_000 + 5))
    assert state.expire(5) == [("update", {"m": {"a": 1, "b": 1}}, {"m": {"a": 1}}, ("m",))]


def test_of_a_row_that_is_not_whole_the_elements_that_are_known_are_shown() -> None:
    state = State(MAP)
    assert state.told(update(START + 1, m=put(a=1))) == [("upsert", None, {"m": {"a": 1}}, ("m",))]
    assert state.told(update(START + 2, m=put(removed=["z"]))) == [("update", {"m": {"a": 1}}, {"m": {"a": 1}}, ())]


def shards(*totals: tuple[int, int, int]) -> dict[str, Any]:
    return {
        "c": [
            {"shard": f"00000000-0000-0000-0000-00000000000{number}", "kind": "global", "clock": clock, "total": total}
            for number, clock, total in totals
        ]
    }


def test_a_counter_is_the_sum_of_the_newest_shards() -> None:
    state = State(COUNTER, whole=True, counter=True)
    assert state.told(update(START + 1, **shards((1, 1, 5)))) == [("insert", None, {"c": 5}, ("c",))]
    assert state.told(update(START + 2, **shards((2, 1, 7)))) == [("update", {"c": 5}, {"c": 12}, ("c",))]
    assert state.told(update(START + 3, **shards((1, 2, 6), (2, 1, 7)))) == [("update", {"c": 12}, {"c": 13}, ("c",))]
    assert state.tell(update(START + 1, **shards((1, 1, 5)), node="b")) == []


def test_the_clock_of_a_shard_counts_and_not_its_time() -> None:
    state = State(COUNTER, whole=True, counter=True)
    state.tell(update(START + 1, **shards((1, 9, 90))))
    assert state.tell(update(START + 5, **shards((1, 8, 80)))) == []
    # That of the greater clock is covered, the other one is not.
    assert state.told(delete(START + 3)) == [("update", {"c": 90}, {"c": 80}, ("c",))]


def test_a_counter_that_was_deleted_stays_so() -> None:
    state = State(COUNTER, whole=True, counter=True)
    state.tell(update(START + 1, **shards((1, 1, 5))))
    assert state.told(update(START + 2, c=None)) == [("delete", {"c": 5}, None, ("c",))]
    assert state.tell(update(START + 3, **shards((1, 2, 6)))) == []


def test_ties_break_as_in_the_server() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    assert state.tell(update(START + 1, v=0)) == []
    assert state.told(update(START + 1, v=-1)) == [("update", {"v": 1, "w": None}, {"v": -1, "w": None}, ("v",))]
    expiring = update(START + 1, v=7, ttl=5, expires_at=START // 1_000_000 + 5)
    assert state.told(expiring) == [("update", {"v": -1, "w": None}, {"v": 7, "w": None}, ("v",))]
    assert state.told(update(START + 1, v=None)) == [("update", {"v": 7, "w": None}, {"v": None, "w": None}, ("v",))]


def test_cells_with_times_of_their_own() -> None:
    state = State(whole=True)
    cells = {"w": {"write_ts": START - 5}}
    (image,) = state.tell(insert(START + 1, v=1, w=2, cells=cells))
    assert image.write_ts == START + 1
    assert state.tell(update(START - 6, w=3)) == []
    assert state.told(update(START - 4, w=3)) == [("update", {"v": 1, "w": 2}, {"v": 1, "w": 3}, ("w",))]
