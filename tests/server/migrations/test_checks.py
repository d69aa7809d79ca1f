"""The checks of a history find what is wrong: a missing row, another value, an image that one consumer lacks."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from tailer.errors import LossError
from tests.server.migrations.checks import check
from tests.server.migrations.consumers import Consumer, End, Source, Targets, made
from tests.server.migrations.last_images import told_twice
from tests.server.migrations.ledger import Accepted, Ledger
from tests.server.migrations.model import TTL
from tests.server.migrations.runner import Ran
from tests.server.migrations.server_view import ServerTable
from tests.server.migrations.spark_tables import SparkTables, plain
from tests.server.migrations.writes import YEAR_3000, Statement, Target

TABLE = "m0.t"
TYPES = {"id": "int", "v": "text", "at": "timestamp"}
SHOWN = {"id": 1, "v": "a", "at": 1000}


@pytest.fixture
def ran(tmp_path: Path) -> Ran:
    """Two consumers of everything, one write, and nothing wrong."""
    (tmp_path / "kept").mkdir()
    source, targets = Source("log", None), Targets(tmp_path / "kept", None)
    consumers = [
        made(f"{kind}_{life}", kind, life, source, targets, tmp_path)
        for kind in ("rows", "images")
        for life in ("caught-up", "lagging", "restarted")
    ]
    consumers.append(made("kept", "sqlite", "caught-up", source, targets, tmp_path))
    ledger = Ledger()
    ledger.accept(Statement("CREATE"), Accepted(0, f"CREATE TABLE {TABLE} (…) WITH cdc = true", 1, 1), True)
    write = Accepted(1, f"INSERT INTO {TABLE}", 77, 77)
    ledger.accept(Statement(write.text, (Target(TABLE, (("id", 1),)),)), write, True)
    kinds = {"id": "partition_key", "v": "regular", "at": "regular"}
    found = Ran(ledger, consumers, {TABLE: ServerTable(TABLE, "i", TYPES, kinds, ("id",), {(1,): SHOWN})})
    for consumer in consumers:
        if consumer.kind in ("rows", "images"):
            give(consumer, row() if consumer.kind == "rows" else image())
    keep(found, "INSERT INTO m0_t VALUES (1, 'a', '1970-01-01 00:00:01.000Z', 5, 1)")
    return found


def row(**other: Any) -> dict[str, Any]:
    return {"event_id": "e", "node": "n", "table_id": "i", "keyspace": "m0", "table": "t", "partition_key": {"id": 1},
            "write_ts": 77, **other}  # fmt: skip


def image(**other: Any) -> dict[str, Any]:
    after = {"id": 1, "v": "a", "at": "1970-01-01 00:00:01.000Z"}
    return {**row(), "op": "insert", "token": 1, "clustering": None, "is_static": False, "seq": 3, "prev_seq": None,
            "range": None, "before": None, "after": after, "changed": ["v"], "complete": True, **other}  # fmt: skip


def give(consumer: Consumer, *lines: dict[str, Any]) -> None:
    consumer.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


def keep(ran: Ran, statement: str) -> None:
    consumer = ran.consumers[-1]
    with sqlite3.connect(file(consumer)) as database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS m0_t (id INTEGER PRIMARY KEY, v TEXT, at TEXT, cdc_tail_seq, cdc_tail_complete)"
        )
        database.execute(statement)
    database.close()


def file(consumer: Consumer) -> Path:
    return consumer.out.parent / "kept" / "kept.sqlite"


def found(ran: Ran) -> list[str]:
    targets = Targets(ran.consumers[-1].out.parent / "kept", None)
    return sorted({f"{each.check}: {each.consumer}" for each in check(ran, targets).differences})


def test_nothing_is_wrong(ran: Ran) -> None:
    assert found(ran) == []


def test_a_row_that_one_consumer_lacks(ran: Ran) -> None:
    give(ran.consumer("rows", "lagging"))
    assert found(ran) == ["acknowledged writes: rows lagging", "same rows: rows lagging"]


def test_a_write_that_no_consumer_has(ran: Ran) -> None:
    for life in ("caught-up", "lagging", "restarted"):
        give(ran.consumer("rows", life), row(write_ts=78))
    expected = [f"acknowledged writes: rows {life}" for life in ("caught-up", "lagging", "restarted")]
    assert found(ran) == expected


def test_a_collection_that_is_set_to_null_is_logged_one_microsecond_early(ran: Ran) -> None:
    consumers = [ran.consumer("rows", life) for life in ("caught-up", "lagging", "restarted")]
    for text, stamp, differs in (("v = null", 78, False), ("v = null", 77, True), ("v = {'a'}", 78, True)):
        by = Accepted(1, f"UPDATE {TABLE} SET {text} WHERE id = 1", 79, 79)
        ran.ledger.accept(Statement(by.text, (Target(TABLE, (("id", 1),)),)), by, True)
        for consumer in consumers:
            give(consumer, row(), row(write_ts=stamp, event_id="f"))
        assert bool(found(ran)) is differs
        ran.ledger.expected.pop()


def test_a_kept_row_that_a_ttl_ended_may_stay_where_nothing_is_known(ran: Ran) -> None:
    keep(ran, f"INSERT INTO m0_t VALUES ({min(TTL)}, NULL, NULL, 6, 0)")
    assert found(ran) == []
    keep(ran, "INSERT INTO m0_t VALUES (2, NULL, NULL, 6, 0)")
    assert found(ran) == ["kept: kept"]


def test_images_differ_but_not_by_their_numbers(ran: Ran) -> None:
    give(ran.consumer("images", "lagging"), image(seq=99, prev_seq=98))
    assert found(ran) == []
    give(ran.consumer("images", "lagging"), image(changed=["at"]))
    assert found(ran) == ["same images: images lagging"]


def test_images_of_what_one_consumer_has_put_into_quarantine(ran: Ran) -> None:
    """Of a table that was created and dropped before that one asked a server about it."""
    gone = {"table": "gone", "table_id": "j", "partition_key": {"id": 9}}
    for life in ("lagging", "restarted"):
        give(ran.consumer("images", life), image(), image(seq=4, event_id="n:7:252:0", **gone))
    assert found(ran) == ["same images: images lagging", "same images: images restarted"]
    quarantine = ran.consumers[-1].out.parent / "nodes" / "cdc_raw.cdc_tail" / "quarantine"
    quarantine.mkdir(parents=True)
    entry = {"node": "n", "segment": 7, "offset": 252, "v": 1}
    (quarantine / "images_caught-up.jsonl").write_text(json.dumps(entry) + "\n")
    assert found(ran) == []
    entry["offset"] = 251
    (quarantine / "images_caught-up.jsonl").write_text(json.dumps(entry) + "\n")
    assert len(found(ran)) == 2


OTHER = {"id": 1, "v": "b", "at": "1970-01-01 00:00:01.000Z"}
FIRST = image(op="upsert", after={"id": 1, "v": "b"}, write_ts=70, complete=False)
AGAIN = image(op="update", before=OTHER, changed=["v"], seq=4)


@pytest.mark.parametrize(
    ("lagging", "differs"),
    [
        ([FIRST, AGAIN], False),
        ([image(node="m", after={"id": 1, "v": "a", "at": "1970-01-01 00:00:01.000Z", "w": None})], False),
        ([image(complete=False)], False),
        ([image(), image(seq=4, op="delete", clustering={"ck": 1}, after=None)], False),
        ([image(), image(seq=4, clustering={"ck": 1}, after={"id": 1}, complete=False)], False),
        ([AGAIN, FIRST], True),
        ([], True),
        ([image(), image(seq=4)], True),
        ([image(), image(seq=4, op="drop", partition_key=None, after=None)], True),
        ([image(), image(seq=4, clustering={"ck": 1})], True),
    ],
)
def test_images_of_several_nodes_end_alike(ran: Ran, lagging: list[dict[str, Any]], differs: bool) -> None:
    for life in ("caught-up", "lagging", "restarted"):
        give(ran.consumer("rows", life), row(), row(node="m"))
    give(ran.consumer("images", "lagging"), *lagging)
    assert ("same images: images lagging" in found(ran)) is differs


def test_images_add_up_to_something_else(ran: Ran) -> None:
    for life in ("caught-up", "lagging", "restarted"):
        give(ran.consumer("images", life), image(), image(seq=4, op="delete", after=None))
    assert found(ran) == [f"fold: images {life}" for life in ("caught-up", "lagging", "restarted")]


@pytest.mark.parametrize(
    "wrong",
    [
        "UPDATE m0_t SET v = 'b'",
        "UPDATE m0_t SET v = NULL",
        "UPDATE m0_t SET at = '1970-01-01 00:00:02.000Z'",
        "DELETE FROM m0_t",
        "INSERT INTO m0_t VALUES (2, 'a', NULL, 6, 1)",
        "ALTER TABLE m0_t DROP v",
    ],
)
def test_a_kept_table_is_another(ran: Ran, wrong: str) -> None:
    keep(ran, wrong)
    assert found(ran) == ["kept: kept"]


def test_what_is_not_known_may_be_null_and_nothing_else(ran: Ran) -> None:
    keep(ran, "UPDATE m0_t SET v = NULL, cdc_tail_complete = 0")
    assert found(ran) == []
    keep(ran, "UPDATE m0_t SET v = 'b'")
    assert found(ran) == ["kept: kept"]


def test_a_row_that_was_known_whole_before_its_table_ceased_to_capture(ran: Ran) -> None:
    for time, captures in ((80, "false"), (90, "true")):
        text = f"ALTER TABLE {TABLE} WITH cdc = {captures}"
        ran.ledger.accept(Statement(text), Accepted(2, text, time, time), True)
    ran.tables[TABLE] = replace(ran.tables[TABLE], rows={(1,): {**SHOWN, "v": "b"}})
    assert found(ran) == []
    for life in ("caught-up", "lagging", "restarted"):
        give(ran.consumer("images", life), image(), image(seq=4, write_ts=95))
    assert found(ran) == [f"fold: images {life}" for life in ("caught-up", "lagging", "restarted")]


def test_a_current_state_that_is_refused_is_put_together_of_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Frame:
        def collect(self) -> list[str]:
            return ["a row"]

    def state(spark: Any, log: str, table: str, *, partial: bool = False, **options: str) -> Frame:
        asked.append((table, partial, options))
        if not partial:
            raise LossError("Changes may be missing")
        return Frame()

    monkeypatch.setattr("tailer.spark.state.current_state", state)
    tables = SparkTables.__new__(SparkTables)
    tables._spark, tables._log, tables._options = None, "log", {"server": "s"}
    assert tables.current_state(TABLE) == ["a row"]
    assert asked == [(TABLE, False, {"server": "s"}), (TABLE, True, {"server": "s"})]


def test_a_tuple_of_spark_is_a_list_in_the_servers_json() -> None:
    assert plain({"c": {"_1": 1, "_2": "a"}, "u": {"f0": {"_1": None}}}) == {"c": [1, "a"], "u": {"f0": [None]}}


def test_rows_of_a_dropped_table_that_are_left(ran: Ran) -> None:
    ran.ledger.accept(Statement("DROP"), Accepted(2, f"DROP TABLE {TABLE}", 90, 90), True)
    ran.tables.clear()
    assert found(ran) == ["dropped table: kept"]


def test_a_drop_in_a_segment_that_the_server_removed_is_shown_to_nobody(ran: Ran) -> None:
    ran.ledger.accept(Statement("DROP"), Accepted(2, f"DROP TABLE {TABLE}", 90, 90, frozenset({7, 8})), True)
    ran.tables.clear()
    ran.segments = {7, 9}
    assert found(ran) == []
    ran.segments = {7, 8, 9}
    assert found(ran) == ["dropped table: kept"]


def test_a_consumer_has_begun_when_it_stands_in_every_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(f"n1={tmp_path / 'a'},n2={tmp_path / 'b'}", None)
    assert source.states == [tmp_path / "a.cdc_tail", tmp_path / "b.cdc_tail"]
    assert Source(str(tmp_path / "a"), None).states == [tmp_path / "a.cdc_tail"]
    consumer = made("c", "rows", "snapshot", source, Targets(tmp_path, None), tmp_path)
    monkeypatch.setattr(consumer, "_process", MagicMock(poll=lambda: None))
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        position = source.states[len(waits) - 1] / "consumers" / "c.json"
        position.parent.mkdir(parents=True)
        position.touch()

    monkeypatch.setattr("tests.server.migrations.consumers.time.sleep", sleep)
    consumer.await_begun(source.states)
    assert len(waits) == 2
    monkeypatch.setattr(consumer, "_process", MagicMock(poll=lambda: 8))
    consumer.await_begun([tmp_path / "c.cdc_tail"])
    assert len(waits) == 2


def test_a_consumer_that_ended(ran: Ran) -> None:
    ran.consumers[0].ends.append(End("rows_caught-up", 3, 7, "why"))
    assert found(ran) == ["end: rows_caught-up"]


@pytest.mark.parametrize(("between", "twice"), [(None, 1), ("truncate", 0), ("drop", 0), ("schema", 1)])
def test_an_image_that_says_what_the_last_one_said(between: str | None, twice: int) -> None:
    """Behind the TRUNCATE of one node's log there may be another node's copy of the same write."""
    table = {"keyspace": "m0", "table": "t", "table_id": "1", "is_static": False}
    row = {"partition_key": {"id": 1}, "clustering": None, "op": "delete", "before": None, "after": None}
    image = {**table, **row, "changed": [], "write_ts": 7, "complete": True}
    other = {**table, "op": between, "partition_key": None, "clustering": None}
    assert len([*told_twice([image, *([other] if between else []), image])]) == twice


def test_an_image_between_two_of_the_same_words_is_the_last_one() -> None:
    """A write of the year 3000 outlives a DROP until its node's log shows that, too: each of the two has an image."""
    row = {"keyspace": "m0", "table": "t", "table_id": "1", "is_static": False, "partition_key": {"id": 1}}
    ended = {**row, "clustering": None, "op": "delete", "before": {"v": None}, "after": None, "changed": ["v"]}
    ended = {**ended, "write_ts": 7, "complete": False}
    put = {**ended, "op": "update", "before": None, "after": {"v": None}, "write_ts": int(YEAR_3000)}
    assert [*told_twice([put, ended, put, ended])] == []
    assert len([*told_twice([put, ended, ended])]) == 1
