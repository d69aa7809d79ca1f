"""What must have an image, and what may: told by hand of few rows, so that a run over a cluster can be told by it."""

from __future__ import annotations

from typing import Any

from tests.server.cluster.merge_order import Effect, effects, entries_in_order

TABLE = "ks.t"


def row(node: str, offset: int, op: str, ts: int, ck: int | None = 1, **more: Any) -> dict[str, Any]:
    keyspace, table = TABLE.split(".")
    base: dict[str, Any] = {"columns": None, "cells": None, "range": None}
    keys = {"partition_key": {"pk": 1}, "clustering": None if ck is None else {"ck": ck}}
    place = {"node": node, "segment": 1, "offset": offset, "row": 0}
    return {**base, **place, **keys, "keyspace": keyspace, "table": table, "op": op, "write_ts": ts, **more}


def insert(node: str, offset: int, ts: int, ck: int = 1, **more: Any) -> dict[str, Any]:
    return row(node, offset, "insert", ts, ck, columns={"n": ts}, **more)


def effect(ts: int, ck: int = 1) -> Effect:
    return Effect(TABLE, '{"pk":1}', f'{{"ck":{ck}}}', ts)


def told(*rows: dict[str, Any]) -> tuple[list[Effect], list[Effect]]:
    """Of rows that were merged in this order, each an entry."""
    return tuple(effects([[each] for each in rows], {TABLE}))  # type: ignore[return-value]


def test_entries_come_as_they_were_merged() -> None:
    rows = [insert("b", 10, 3), insert("a", 10, 1), insert("a", 20, 2), insert("b", 20, 4), insert("a", 30, 9)]
    merged = [{"b": (1, 11)}, {"a": (1, 11)}, {"a": (1, 25), "b": (1, 21)}]
    assert [entry[0]["write_ts"] for entry in entries_in_order(rows, merged)] == [3, 1, 2, 4]


def test_rows_of_one_entry_stand_together() -> None:
    rows = [insert("a", 10, 1, ck=1), {**insert("a", 10, 1, ck=2), "row": 1}, insert("a", 20, 2)]
    assert [len(entry) for entry in entries_in_order(rows, [{"a": (2, 0)}])] == [2, 1]


def test_of_copies_the_first_and_what_is_beaten_never() -> None:
    assert told(insert("a", 1, 5), insert("b", 1, 5), insert("b", 2, 4), insert("c", 1, 6)) == (
        [effect(5), effect(6)], [],
    )  # fmt: skip


def test_a_deletion_of_what_is_there_must_and_of_what_is_not_may() -> None:
    gone = row("a", 2, "delete_row", 6)
    assert told(insert("a", 1, 5), gone, gone) == ([effect(5), effect(6)], [])
    assert told(gone, insert("a", 3, 5)) == ([], [effect(6)])


def test_a_deletion_of_a_range_is_one_for_each_row_that_it_takes() -> None:
    bounds = {"start": {"ck": 2}, "end": {"ck": 4}, "start_inclusive": True, "end_inclusive": False}
    gone = row("a", 9, "delete_range", 6, None, range=bounds)
    there = [insert("a", ck, 5, ck) for ck in (1, 2, 3, 4)]
    assert told(*there, gone) == ([*(effect(5, ck) for ck in (1, 2, 3, 4)), effect(6, 2), effect(6, 3)], [])
    assert told(*there, row("a", 9, "delete_partition", 6, None))[0][4:] == [effect(6, ck) for ck in (1, 2, 3, 4)]


def test_a_row_that_repair_merged_is_of_the_newest_that_took_effect() -> None:
    merged = row("b", 1, "update", 9, columns={"n": 9, "m": 7}, cells={"m": {"write_ts": 7}})
    assert told(row("a", 1, "update", 9, columns={"n": 9}), merged) == ([effect(9), effect(7)], [])


def test_null_where_nothing_was_is_seen_by_nobody() -> None:
    assert told(row("a", 1, "update", 5, columns={"n": None})) == ([], [effect(5)])


def test_a_batch_that_deletes_and_inserts_a_row_is_one() -> None:
    unit = [row("a", 1, "delete_row", 6), {**insert("a", 1, 7), "row": 1}]
    assert tuple(effects([[insert("a", 0, 5)], unit], {TABLE})) == ([effect(5), effect(7)], [])
