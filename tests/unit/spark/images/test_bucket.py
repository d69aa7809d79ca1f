"""One bucket over batches: what is known whole, what other buckets tell too, and copies within a batch."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailer.errors import DefinitionError, RefusedError, UsageError
from tailer.images import Image
from tailer.rebuild import Table
from tailer.schema.told import told_text
from tailer.spark.images.job import Node
from tests.helpers.bucketed import Buckets, schema_row
from tests.unit.images.told import DATA, SECOND, SHOWN_ID, definition, delete, insert, short, truncate, update

Change = dict[str, Any]
TABLE = Table.of(definition())
NOW = 2_000 * SECOND
DIGITS = SHOWN_ID.replace("-", "")


def at(node: str, offset: int, change: Change, segment: int = 1) -> Change:
    more = {"node": node, "segment": segment, "offset": offset, "event_id": f"{node}:{segment}:{offset}:0"}
    return {**change, **more}


def created(*nodes: str) -> list[Change]:
    return [schema_row(TABLE, node) for node in nodes]


def ops(images: list[Image]) -> list[tuple[str, bool]]:
    return [(image.op, image.complete) for image in images]


def test_a_table_is_known_whole_once_the_logs_of_all_nodes_have_shown_its_create() -> None:
    told = Buckets([TABLE], "ab")
    assert ops(told.batch([*created("a"), at("a", 10, insert(5, v=1))], NOW)) == [("upsert", False)]
    assert ops(told.batch([*created("b"), at("a", 20, insert(5, 2, v=1))], NOW)) == [
        ("update", True),
        ("insert", True),
    ]


def test_a_row_of_a_node_that_is_not_named_is_refused() -> None:
    told = Buckets([TABLE], "ab")
    with pytest.raises(UsageError, match="from a node whose images are not made: expected a, b, found c"):
        told.batch([at("a", 10, insert(5, v=1)), at("c", 10, insert(5, v=1))], NOW)


@pytest.mark.parametrize("until", [None, (0, 0), (9, 9)])
def test_a_definition_behind_the_create_tells_no_row_whole(until: tuple[int, int] | None) -> None:
    told = Buckets([TABLE], "a")
    told.job = msgspec.structs.replace(told.job, nodes={"a": Node({DIGITS: until})})
    row = {**created("a")[0], "segment": 1}
    whole = until == (9, 9)
    assert ops(told.batch([row, at("a", 10, insert(5, v=1))], NOW)) == [("insert" if whole else "upsert", whole)]


def test_a_definition_with_which_capturing_begins_is_not_the_create() -> None:
    told = Buckets([], "a")
    row = {**created("a")[0], "columns": told_text(definition(), capture_begins=True)}
    assert ops(told.batch([row, at("a", 10, insert(5, v=1))], NOW)) == [("upsert", False)]
    images = told.batch([at("a", 20, delete(NOW - 1)), at("a", 30, delete(NOW + 1))], NOW + 2)
    assert ops(images) == [("delete", False), ("delete", True)]


def test_a_node_that_joins_leaves_no_row_known_whole() -> None:
    told = Buckets([TABLE], "a")
    assert ops(told.batch([*created("a"), at("a", 10, insert(5, v=1))], NOW)) == [("insert", True)]
    told.job = msgspec.structs.replace(told.job, nodes={**told.job.nodes, "b": None})
    assert ops(told.batch([at("a", 20, update(6, v=2))], NOW)) == [("update", False)]
    # A deletion from then on tells of the row all there is.
    assert ops(told.batch([at("a", 30, delete(NOW + 1))], NOW)) == [("delete", True)]


def test_without_a_definition_it_says_what_to_give() -> None:
    with pytest.raises(DefinitionError, match=r"images\(changes, \[table_definition"):
        Buckets([], "a").batch([at("a", 10, insert(5, v=1))], NOW)


def test_a_given_definition_serves_a_table_that_was_there_before() -> None:
    assert ops(Buckets([TABLE], "a").batch([at("a", 10, insert(5, v=1))], NOW)) == [("upsert", False)]


def test_what_becomes_of_the_table_is_told_once_and_rows_go_everywhere() -> None:
    told = Buckets([TABLE], "a")
    rows = [at("a", 10 + k, insert(5, v=1, k=k)) for k in range(9)]
    assert {image.op for image in told.batch([*created("a"), *rows], NOW)} == {"insert"}
    images = told.batch([at("a", 99, {**truncate(7, before=99), "token": None})], NOW)
    assert sorted(image.op for image in images) == ["delete"] * 9 + ["truncate"]
    images = told.batch([{**created("a")[0], "columns": None, "segment": 2}], NOW)
    assert [image.op for image in images] == ["drop"]
    assert all(not list(maps.heads.keys()) for maps in told.maps.values())


def test_copies_within_a_batch_are_merged_once_and_vouch_for_what_they_told() -> None:
    told = Buckets([TABLE], "abc")
    batch = [at(node, 10, insert(5, v=1)) for node in "abc"] + [
        at("a", 20, update(6, v=2)),
        at("b", 30, update(6, v=2)),
    ]
    images = told.batch([*created(*"abc"), *batch], NOW)
    assert [each[:3] for each in short(images)] == [
        ("insert", None, {"v": 1, "w": None}),
        ("update", {"v": 1, "w": None}, {"v": 2, "w": None}),
    ]
    for node, op in (("a", None), ("b", "update"), ("c", "delete")):
        images = told.batch([at(node, 99, {**truncate(7, node, before=99), "token": None})], NOW)
        assert [image.op for image in images] == ["truncate", *([op] if op else [])]


def test_time_alone_ends_rows_and_never_goes_back() -> None:
    told = Buckets([TABLE], "a")
    told.batch([*created("a"), at("a", 10, insert(5, v=1, ttl=10, expires_at=2_010))], NOW)
    assert told.batch([], NOW + 9 * SECOND) == []
    (image,) = told.batch([], NOW + 10 * SECOND)
    assert (image.op, image.before, image.after) == ("expire", '{"k":1,"x":1,"v":1,"w":null}', None)
    (image,) = told.batch([at("a", 20, insert(7, v=2, ttl=10, expires_at=2_011))], NOW)
    assert (image.op, image.after) == ("insert", '{"k":1,"x":1,"v":2,"w":null}')
    assert image.seq > NOW + 10 * SECOND


def test_what_a_later_version_keeps_is_refused() -> None:
    told = Buckets([TABLE], "a")
    told.batch([*created("a"), at("a", 10, insert(5, v=1))], NOW)
    for maps in told.maps.values():
        maps.about.put(b"bucket", msgspec.msgpack.encode({"v": 5, "started_us": "in another form"}))
    with pytest.raises(RefusedError, match=r"the version of the state of images .*expected 4 or lower, found 5"):
        told.batch([at("a", 20, insert(6, v=2))], NOW)


HOURS = 3 * 3600


def kept(told: Buckets) -> int:
    """How many partitions there are."""
    return sum(len(list(maps.heads.keys())) for maps in told.maps.values())


def test_what_is_dead_is_forgotten_when_its_time_has_come() -> None:
    told = Buckets([TABLE], "a")
    told.job = msgspec.structs.replace(told.job, forget_after=HOURS)
    rows = [at("a", 10 + k, insert(5, v=1, k=k)) for k in range(3)]
    told.batch([*created("a"), *rows], NOW)
    told.batch([at("a", 20, {**delete(6), "partition_key": '{"k":0}', "token": rows[0]["token"]})], NOW)
    told.batch([at("a", 30, insert(5, 2, v=1, k=1, ttl=60, expires_at=2_060))], NOW)
    told.batch([], NOW + 60 * SECOND)
    for second, partitions in ((HOURS, 3), (HOURS + 1, 2), (HOURS + 62, 2)):
        assert told.batch([], NOW + second * SECOND) == []
        assert kept(told) == partitions
    # What lives is what it was; the row that expired is as if it never was.
    (image,) = told.batch([at("a", 40, insert(7, 2, v=2, k=1))], NOW + 2 * HOURS * SECOND)
    assert (image.op, image.complete, image.before) == ("insert", True, None)
    (image,) = told.batch([at("a", 50, update(8, v=2))], NOW + 2 * HOURS * SECOND)
    assert image.before == '{"k":1,"x":1,"v":1,"w":null}'
    assert all(not list(maps.dues.keys()) for maps in told.maps.values())


def test_without_a_time_nothing_is_forgotten() -> None:
    told = Buckets([TABLE], "a")
    told.batch([*created("a"), at("a", 10, insert(5, v=1)), at("a", 20, delete(6))], NOW)
    told.batch([at("a", 30, insert(7, v=1, k=2))], NOW + 1000 * HOURS * SECOND)
    assert kept(told) == 2


def test_of_a_partition_that_a_ttl_ended_nothing_is_left() -> None:
    """Its last image has the number of the batch that told of the end, however late that came."""
    told = Buckets([TABLE], "a")
    told.job = msgspec.structs.replace(told.job, forget_after=HOURS)
    told.batch([*created("a"), at("a", 10, insert(5, v=1, ttl=60, expires_at=2_060))], NOW)
    assert ops(told.batch([], NOW + 75 * SECOND)) == [("expire", True)]
    for second, partitions in ((HOURS + 61, 1), (HOURS + 75, 1), (HOURS + 77, 0)):
        assert told.batch([], NOW + second * SECOND) == []
        assert kept(told) == partitions
    assert set(told.due.values()) == {None}


@pytest.mark.parametrize("by", ["truncate", "drop column"])
def test_nor_of_one_that_a_whole_table_s_change_ended(by: str) -> None:
    told = Buckets([TABLE], "a")
    told.job = msgspec.structs.replace(told.job, forget_after=HOURS)
    rows = [at("a", 10 + k, update(5, v=1, k=k)) for k in range(9)]
    told.batch([*created("a"), *rows], NOW)
    if by == "truncate":
        change = at("a", 99, {**truncate(7, before=99), "token": None})
    else:
        s, v, w = DATA
        gone = msgspec.structs.replace(v, dropped=True, dropped_time=9)
        change = at("a", 99, schema_row(Table.of(definition(s, gone, w)), "a"))
    images = told.batch([change], NOW + SECOND)
    assert sorted(image.op for image in images)[:9] == ["delete"] * 9
    assert kept(told) == 9
    assert told.batch([], NOW + (HOURS + 3) * SECOND) == []
    assert kept(told) == 0


def test_what_comes_too_late_is_counted() -> None:
    told = Buckets([TABLE], "a", buckets=1)
    told.job = msgspec.structs.replace(told.job, forget_after=HOURS)
    told.batch([*created("a"), at("a", 10, delete(NOW + 6))], NOW)
    assert (told.batch([], NOW + (HOURS + 1) * SECOND), told.late) == ([], 0)
    (image,) = told.batch([at("a", 20, insert(NOW + 5, v=1))], NOW + (HOURS + 2) * SECOND)
    # The row's marker, and its value.
    assert (image.op, told.late) == ("insert", 2)
    told.batch([at("a", 30, insert(NOW + (HOURS + 2) * SECOND, v=1))], NOW + (HOURS + 3) * SECOND)
    assert told.late == 2


def test_rows_of_a_node_whose_log_lacks_the_drop_are_of_the_next_table() -> None:
    """It was down then; its CREATE comes before the other one's."""
    told = Buckets([TABLE], "ab")
    told.batch([*created("a", "b"), *(at(node, 10, insert(5, v=1)) for node in "ab")], NOW)
    drop = {**created("a")[0], "columns": None, "write_ts": 50}
    assert [image.op for image in told.batch([at("a", 20, drop)], NOW + 1)] == ["drop"]
    rows = [at("b", 20, created("b")[0]), at("b", 30, insert(60, v=2)), at("b", 40, insert(50, 2, v=2))]
    assert short(told.batch(rows, NOW + 2)) == [("upsert", None, {"v": 2}, ("v",))]
    later = [at("a", 30, created("a")[0]), at("a", 40, update(70, v=3))]
    assert short(told.batch(later, NOW + 3)) == [("update", {"v": 2}, {"v": 3}, ("v",))]
