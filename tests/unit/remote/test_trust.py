"""Two clients of one node: what one of them gives, by mistake or on purpose, changes no row of the other one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.serve.clients import Client, Clients
from tests.helpers.cli import Result, run_cli
from tests.helpers.links import read_once, rows_of
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    Table,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.served import ServedNode, served

FIRST = 1_700_000_000_001
TABLE = simple_table("shop", "orders")
COUNT = 4
ANNA, BERT, BOSS = "token-of-anna-long-enough", "token-of-bert-long-enough", "token-of-boss-long-enough"
CLIENTS = Clients(
    {},
    [
        (ANNA.encode(), Client("anna", "a-")),
        (BERT.encode(), Client("bert", "b-")),
        (BOSS.encode(), Client("boss", "x-", defines_for_all=True)),
    ],
)


def written(path: Path, table: Table, *, created: bool) -> LogFolder:
    folder = LogFolder(path)
    for number in range(COUNT):
        writer = segment(table, number, created=created and number == 0)
        folder.put(writer, live(writer) if number == COUNT - 1 else completed(writer))
    return folder


def segment(table: Table, number: int, *, created: bool = False) -> SegmentWriter:
    create = [create_payload(table)] if created else []
    return segment_of(FIRST + number, [create, [insert_payload(table, number, f"secret-{number}", number)]])


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Its CREATE is in a segment that is gone."""
    return written(tmp_path / "cdc_raw", TABLE, created=False)


@pytest.fixture
def node(log: LogFolder) -> Iterator[ServedNode]:
    with served(log.path, clients=CLIENTS) as found:
        yield found


def cql(path: Path, **types: str) -> Path:
    """A file that defines the table, with other types than its own where given."""
    pk, ck, v = ({"pk": "int", "ck": "text", "v": "int"} | types).values()
    path.write_text(
        f"CREATE TABLE shop.orders (pk {pk}, ck {ck}, v {v}, PRIMARY KEY (pk, ck)) WITH ID = {TABLE.id} AND cdc = true;"
    )
    return path


def follow(node: ServedNode, token: str, *words: str | Path) -> Result:
    return run_cli(["follow", node.url, "--once", "--output", "json", *words], {"CDC_TAIL_TOKEN": token})


def columns(result: Result) -> list[dict[str, Any]]:
    return [row["clustering"] | row["columns"] for row in rows_of(result)]


RIGHT = [{"ck": f"secret-{number}", "v": number} for number in range(COUNT)]
WRONG = [{"ck": f"0x{f'secret-{number}'.encode().hex()}", "v": number} for number in range(COUNT)]
"""As a reader has them that takes `ck` for a blob."""


def test_a_file_of_one_reader_changes_no_row_of_another(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    old, right = cql(tmp_path / "old.cql", ck="blob"), cql(tmp_path / "right.cql")
    assert columns(follow(node, ANNA, "--consumer", "a-1", "--schema", old)) == WRONG
    # Nothing defines the table for anybody else.
    assert follow(node, BERT, "--consumer", "b-1").code == 3
    assert read_once(log.path, "--consumer", "beside").code == 3
    assert columns(follow(node, BERT, "--consumer", "b-2", "--schema", right)) == RIGHT
    assert columns(read_once(log.path, "--consumer", "beside-2", "--schema", right)) == RIGHT
    # Another consumer of the same client has its own too.
    assert columns(follow(node, ANNA, "--consumer", "a-2", "--schema", right)) == RIGHT


def test_a_consumer_goes_on_by_what_it_was_given(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    right = cql(tmp_path / "right.cql")
    until = f"{FIRST + 1}:0"
    first = columns(follow(node, BERT, "--consumer", "b-1", "--schema", right, "--until", until))
    # Without the file, and after a file of another client.
    follow(node, ANNA, "--consumer", "a-1", "--schema", cql(tmp_path / "old.cql", ck="blob"))
    rest = columns(follow(node, BERT, "--consumer", "b-1"))
    assert (first + rest, bool(first)) == (RIGHT, True)
    # So does a process on the node that takes the consumer over.
    last, added = segment(TABLE, COUNT - 1), segment(TABLE, COUNT)
    log.put(last, completed(last))
    log.put(added, live(added))
    assert columns(read_once(log.path, "--consumer", "b-1")) == [{"ck": f"secret-{COUNT}", "v": COUNT}]


def test_a_run_without_consumer_leaves_no_definition(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    old = cql(tmp_path / "old.cql", ck="blob")
    assert columns(follow(node, ANNA, "--schema", old)) == WRONG
    assert columns(follow(node, BOSS, "--schema", old)) == WRONG
    assert follow(node, BERT).code == follow(node, ANNA).code == 3
    assert b'"file ' not in (log.path.with_name("cdc_raw.cdc_tail") / "journal").read_bytes()


def test_a_client_with_the_right_gives_definitions_for_all(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    right = cql(tmp_path / "right.cql")
    assert columns(follow(node, BOSS, "--consumer", "x-1", "--schema", right)) == RIGHT
    assert columns(follow(node, BERT, "--consumer", "b-1")) == RIGHT
    assert columns(read_once(log.path, "--consumer", "beside")) == RIGHT


def test_the_node_sees_and_takes_back_what_one_reader_gave(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    until = f"{FIRST + 1}:0"
    old, right = cql(tmp_path / "old.cql", ck="blob"), cql(tmp_path / "right.cql")
    assert columns(follow(node, ANNA, "--consumer", "a-1", "--schema", old, "--until", until)) == WRONG[:1]
    words = ["schema", log.path, "--table", "shop.orders", "--source", "--output", "json"]
    assert run_cli(words).code == 3
    (table,) = map(json.loads, run_cli([*words, "--consumer", "a-1"]).lines)
    (source,) = table["sources"]
    assert source["source"] == "file old.cql"
    result = run_cli(["schema", "retract", str(source["record"]), log.path])
    assert (result.code, "shop.orders: " in result.out) == (0, True)
    assert columns(follow(node, ANNA, "--consumer", "a-1", "--schema", right)) == RIGHT[1:]


def retyped(node: ServedNode, token: str, asked_as: str = "", **more: Any) -> int:
    """The status of a request that makes `shop.orders.v` a float, behind the CREATE and the first row."""
    count = node.ask("GET", "/records?from=0", token=token).json["count"]
    delta = {
        "table": "columns",
        "keyspace": "shop",
        "clustering": ["orders", "v"],
        "cells": {"type": [1_700_000_000_000_500, "float"]},
    }
    record = {"kind": "schema", "at": [FIRST + 1, 0], "source": "file evil", "deltas": [delta], **more}
    asked: dict[str, Any] = {"expected": count, "records": [record], "consumer": asked_as}
    headers = {}
    if asked_as:
        version = node.ask("PUT", f"/consumers/{asked_as}", {"reader": "r"}, token=token).json["version"]
        headers = {"X-Cdc-Lease": str(version), "X-Cdc-Reader": "r"}
    return node.ask("POST", "/records", asked, headers, token=token).status


def test_a_record_made_by_hand_changes_no_row_of_another(tmp_path: Path) -> None:
    log = written(tmp_path / "cdc_raw", TABLE, created=True)
    with served(log.path, clients=CLIENTS) as node:
        assert columns(follow(node, BERT, "--consumer", "b-1")) == RIGHT
        assert retyped(node, ANNA) == 403
        assert retyped(node, ANNA, "a-1") == 403
        assert retyped(node, ANNA, "a-1", kind="own_schema", consumer="b-2") == 403
        assert retyped(node, ANNA, "a-1", kind="own_schema", consumer="a-1") == 200
        assert columns(follow(node, BERT, "--consumer", "b-2")) == RIGHT
        assert columns(read_once(log.path, "--consumer", "beside")) == RIGHT
        version = node.ask("GET", "/consumers/a-1", token=ANNA).json["version"]
        node.ask("PUT", "/consumers/a-1", {"reader": "r", "version": version, "gives_back": True}, token=ANNA)
        # Its own rows are as it wished them: 1, 2 and 3 as the bits of a float of IEEE 754, shown shortest.
        own = [row["v"] for row in columns(follow(node, ANNA, "--consumer", "a-1"))]
        assert own == pytest.approx([0.0, 2**-149, 2**-148, 3 * 2**-149], abs=5e-46, rel=0)


def test_a_new_name_each_day_with_its_own_schema_goes_on(log: LogFolder, tmp_path: Path) -> None:
    """Each registers, gives its definitions and is dropped: whatever there were, the next one has room, as has a
    consumer that stays, and rows are read by the definitions of that day."""
    clients = Clients({}, [(ANNA.encode(), Client("anna", "a-", 1000, journal_bytes=6000))])
    with served(log.path, clients=clients) as node:
        stays = cql(tmp_path / "stays.cql")
        assert len(columns(follow(node, ANNA, "--consumer", "a-stays", "--schema", stays))) == COUNT
        for day in range(12):
            schema = cql(tmp_path / f"{day}.cql", ck="text" if day % 2 else "blob")
            read = columns(follow(node, ANNA, "--consumer", f"a-{day}", "--schema", schema))
            assert read == (RIGHT if day % 2 else WRONG), day
            assert run_cli(["consumers", log.path, "drop", f"a-{day}"]).code == 0
            assert run_cli(["clean", log.path]).code == 0
        again = follow(node, ANNA, "--consumer", "a-stays", "--schema", stays)
        assert (again.code, again.lines) == (0, []), again.err
