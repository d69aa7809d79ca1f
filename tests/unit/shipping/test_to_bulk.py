"""Documents by a search engine's bulk API, against a stand-in made of its documented requests and answers.

The stand-in keeps documents as the documentation of `_bulk`, `version_type=external_gte` and `delete` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import SinkError, UsageError
from tailer.shipping import bulk_actions
from tests.helpers.data_files import outlet, place, write_files
from tests.helpers.shipping import ship
from tests.helpers.web_server import Reply, Request, Server, serving
from tests.unit.sinks.rows import batch, row

BULK = "elasticsearch-bulk"


class Engine:
    """`fails`: by id the statuses that an action gets first; `most`: bytes of a request."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], dict[str, Any]] = {}
        self.versions: dict[tuple[str, str], int] = {}
        self.fails: dict[str, list[int]] = {}
        self.most = 1 << 30
        self.sizes: list[int] = []

    def answer(self, request: Request) -> Reply:
        assert request.path == "/search/_bulk"
        assert request.headers["Content-Type"] == "application/x-ndjson"
        if len(request.body) > self.most:
            return Reply(413)
        assert request.body.endswith(b"\n")
        lines = iter(request.body.decode().split("\n")[:-1])
        items = [self._item(json.loads(line), lines) for line in lines]
        self.sizes.append(len(items))
        errors = any(item["status"] >= 300 for each in items for item in each.values())
        return Reply(200, json.dumps({"took": 3, "errors": errors, "items": items}).encode())

    def _item(self, action: dict[str, Any], lines: Iterator[str]) -> dict[str, Any]:
        ((what, where),) = action.items()
        document = json.loads(next(lines)) if what == "index" else None
        key = (where["_index"], where["_id"])
        told = {"_index": key[0], "_id": key[1]}
        if self.fails.get(key[1]):
            status = self.fails[key[1]].pop(0)
            error = {"type": "some_exception", "reason": "because"}
            return {what: {**told, "status": status, "error": error}}
        assert where["version_type"] == "external_gte"
        if where["version"] < self.versions.get(key, -1):
            error = {"type": "version_conflict_engine_exception", "reason": "current version is higher"}
            return {what: {**told, "status": 409, "error": error}}
        self.versions[key] = where["version"]
        if document is None:
            there = self.documents.pop(key, None) is not None
            return {what: {**told, "status": 200 if there else 404, "result": "deleted" if there else "not_found"}}
        created = key not in self.documents
        self.documents[key] = document
        return {what: {**told, "status": 201 if created else 200, "result": "created" if created else "updated"}}


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def server(engine: Engine) -> Iterator[Server]:
    with serving(engine.answer) as server:
        yield server


def write(folder: Path, *rows: tuple[Any, ...], **values: Any) -> Path:
    """One more file."""
    out = outlet(folder, **values)
    before = out.open()
    out.write(batch(*rows))
    out.commit(before, place(0 if before is None else int(before.offset[-3:-1].strip(":")) + 1))
    out.close()
    return folder


def send(folder: Path, server: Server, **values: Any) -> int:
    return ship(folder, f"{server.url}/search", format=BULK, **values)


def orders(id: int, **more: Any) -> tuple[Any, ...]:
    made = {"partition_key": f'{{"id":{id}}}', "columns": f'{{"total":{id}.50,"tags":["a"]}}', **more}
    return row(event_id=f"n1:1:{id}:0", **made)


def test_documents_of_rows(tmp_path: Path, engine: Engine, server: Server) -> None:
    write(tmp_path, orders(1), orders(2, op="update", columns='{"state":null}'), orders(3), orders(3, op="delete_row"))
    assert send(tmp_path, server) == 1
    assert set(engine.documents) == {("shop.orders", '{"id":1,"at":"a"}'), ("shop.orders", '{"id":2,"at":"a"}')}
    assert engine.documents["shop.orders", '{"id":1,"at":"a"}'] == {
        "id": 1, "at": "a", "total": 1.50, "tags": ["a"],
        "@change": {"op": "insert", "event_id": "n1:1:1:0", "partial": True},
    }  # fmt: skip
    assert engine.documents["shop.orders", '{"id":2,"at":"a"}']["state"] is None
    # Numbers are sent as they were written.
    assert b'"total":1.50' in server.requests[0].body


def test_what_comes_late_does_not_win(tmp_path: Path, engine: Engine, server: Server) -> None:
    write(
        tmp_path, orders(1, write_ts=20, columns='{"v":"new"}'), orders(2, write_ts=20, op="delete_row", columns=None)
    )
    write(
        tmp_path,
        orders(1, write_ts=19, columns='{"v":"old"}'),
        orders(2, write_ts=19),
        orders(1, write_ts=20, columns='{"v":"same"}'),
    )
    said: list[str] = []
    assert send(tmp_path, server, said=said) == 2
    assert {key[1]: document["v"] for key, document in engine.documents.items()} == {'{"id":1,"at":"a"}': "same"}
    assert said == ["2 changes were older than the documents that are there, which were left as they are"]


def test_items_that_fail_for_now_are_sent_again_alone(tmp_path: Path, engine: Engine, server: Server) -> None:
    write(tmp_path, *(orders(id) for id in range(5)))
    engine.fails = {'{"id":1,"at":"a"}': [429, 503], '{"id":3,"at":"a"}': [429]}
    assert send(tmp_path, server) == 1
    assert engine.sizes == [5, 2, 1]
    assert len(engine.documents) == 5


def test_an_item_that_is_refused_ends_the_run(tmp_path: Path, engine: Engine, server: Server) -> None:
    write(tmp_path, *(orders(id) for id in range(3)))
    engine.fails = {'{"id":1,"at":"a"}': [400]}
    with pytest.raises(SinkError, match=r"refused row n1:1:1:0: found 400 some_exception: because") as caught:
        send(tmp_path, server)
    assert caught.value.code == 7
    assert send(tmp_path, server) == 1
    assert len(engine.documents) == 3


def test_requests_have_a_bound(tmp_path: Path, engine: Engine, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_actions, "CHUNK_ACTIONS", 4)
    write(tmp_path, *(orders(id) for id in range(10)))
    assert send(tmp_path, server) == 1
    assert engine.sizes == [4, 4, 2]
    monkeypatch.setattr(bulk_actions, "CHUNK_BYTES", 500)
    write(tmp_path, *(orders(id) for id in range(10)))
    send(tmp_path, server)
    assert max(len(each.body) for each in server.requests[3:]) <= 500


def test_a_request_that_is_too_large_is_halved(tmp_path: Path, engine: Engine, server: Server) -> None:
    write(tmp_path, *(orders(id) for id in range(8)))
    engine.most = 700
    assert send(tmp_path, server) == 1
    assert len(engine.documents) == 8
    assert sum(engine.sizes) == 8
    write(tmp_path, orders(9, columns=json.dumps({"v": "x" * 700})))
    with pytest.raises(SinkError, match="row n1:1:9:0 is larger than"):
        send(tmp_path, server)


@pytest.mark.parametrize("op", ["delete_range", "truncate", "delete_partition"])
def test_what_no_action_says_is_refused_or_left_out(tmp_path: Path, engine: Engine, server: Server, op: str) -> None:
    write(tmp_path, orders(1), orders(2, op=op, clustering=None, columns=None), orders(3))
    with pytest.raises(SinkError, match=f"row n1:1:2:0 of shop.orders is a {op}.*--leave-out-ranges") as caught:
        send(tmp_path, server)
    assert caught.value.code == 7
    said: list[str] = []
    assert send(tmp_path, server, leave_out_ranges=True, said=said) == 1
    assert len(engine.documents) == 2
    assert said == ["warning: 1 deletes of ranges, partitions and tables were left out"]


def test_a_partition_of_one_row_is_deleted(tmp_path: Path, engine: Engine, server: Server) -> None:
    """In a table without clustering columns, which the index tells."""
    alone = {"table": "users", "table_id": "0a", "clustering": None}
    write(tmp_path, orders(1, **alone), orders(2, **alone), orders(1, op="delete_partition", columns=None, **alone))
    path = tmp_path / "n1" / "data-000000000001.idx.json"
    column = '{"name":"id","kind":"partition_key","type":"int","position":0}'
    known = f'"definition":{{"id":"0a","keyspace":"shop","table":"users","columns":[{column}]}}'
    path.write_text(path.read_text().replace('"definition":null', known))
    assert send(tmp_path, server) == 1
    assert list(engine.documents) == [("shop.users", '{"id":2}')]


def test_a_change_of_a_definition_is_no_document(tmp_path: Path, engine: Engine, server: Server) -> None:
    write(tmp_path, orders(1, op="schema", partition_key=None, clustering=None, write_ts=None), orders(2))
    assert send(tmp_path, server) == 1
    assert len(engine.documents) == 1


def test_a_drop_is_refused_or_left_out(tmp_path: Path, engine: Engine, server: Server) -> None:
    """The documents of the table would stay beside those of the next one with its name."""
    drop = {"op": "schema", "partition_key": None, "clustering": None, "columns": None}
    write(tmp_path, orders(1), orders(2, **drop), orders(3, table_id="01"))
    with pytest.raises(SinkError, match=r"row n1:1:2:0 of shop.orders is a drop.*--leave-out-ranges") as caught:
        send(tmp_path, server)
    assert caught.value.code == 7
    said: list[str] = []
    assert send(tmp_path, server, leave_out_ranges=True, said=said) == 1
    assert said == ["warning: 1 deletes of ranges, partitions and tables were left out"]


def test_a_long_key_is_a_digest(tmp_path: Path, engine: Engine, server: Server) -> None:
    write(tmp_path, orders(1, partition_key=json.dumps({"id": "é" * 400})))
    send(tmp_path, server)
    ((_, id),) = engine.documents
    assert id.startswith("sha256:")
    assert len(id) == 71


def test_a_timestamp_that_is_no_version(tmp_path: Path, server: Server) -> None:
    write(tmp_path, orders(1, write_ts=-1))
    with pytest.raises(SinkError, match="expected 0 or more, found -1"):
        send(tmp_path, server)


def test_names_of_indexes(tmp_path: Path, engine: Engine, server: Server) -> None:
    write(tmp_path, orders(1, keyspace="Shop"))
    send(tmp_path, server, index="cdc-{keyspace}-{table}")
    assert {index for index, _ in engine.documents} == {"cdc-shop-orders"}
    write(tmp_path, orders(2, table_id="01"), orders(2, table="ORDERS"))
    with pytest.raises(SinkError, match=r"two tables have the index 'shop.orders': found shop.orders and shop.ORDERS"):
        send(tmp_path, server)
    with pytest.raises(SinkError, match="no index may be called"):
        send(tmp_path, server, index="_{keyspace}{table}")
    for index in ("all", "{table}", "{keyspace}.{table}.{node}", "{"):
        with pytest.raises(UsageError, match=r"\{keyspace\} and \{table\}"):
            send(tmp_path, server, index=index)


def test_what_is_no_bulk_api_and_no_rows(tmp_path: Path, server: Server) -> None:
    write_files(tmp_path / "arrow", [1], format="arrow")
    with pytest.raises(UsageError, match=r"needs files of generic rows.*found arrow"):
        send(tmp_path / "arrow", server)
    write(tmp_path / "rows", orders(1))
    for body in (b"hello", b'{"items":[]}', b'{"took":1}'):
        server.answer = lambda request, body=body: Reply(200, body)
        with pytest.raises(SinkError, match=r"does not answer as a bulk API|answered 0 items to 1 actions"):
            send(tmp_path / "rows", server)
    with pytest.raises(UsageError, match="expected --format files, found elasticsearch-bulk"):
        ship(tmp_path / "rows", f"files:{tmp_path / 'two'}", format=BULK)
