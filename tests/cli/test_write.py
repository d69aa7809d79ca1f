"""`cdc-tail write`: lines of JSON become rows; what is wrong with a line is said with its number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT, Result, run_cli

CQL = """
CREATE TYPE shop.place (street text, number int);
CREATE TABLE shop.orders (id bigint, line int, article text, price decimal, place frozen<place>, tags set<text>,
    PRIMARY KEY (id, line)) WITH cdc = true;
CREATE TABLE shop.quiet (id int PRIMARY KEY, v text);
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "shop.cql"
    path.write_text(CQL)
    return path


def write(folder: Path, schema: Path | None, lines: list[object], *options: str) -> Result:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    command = [sys.executable, "-c", "from tailer.cli.app import run; run()", "write", str(folder), *options]
    if schema is not None:
        command += ["--schema", str(schema)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, input=text.encode(), capture_output=True, env=env, timeout=60, check=False)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def rows(folder: Path, *options: str) -> list[dict[str, object]]:
    result = run_cli(["follow", folder / "cdc_raw", "--once", "--output", "json", *options])
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.lines]


def test_lines_become_rows(tmp_path: Path, schema: Path) -> None:
    folder = tmp_path / "log"
    place = {"street": "Oak St", "number": 4}
    result = write(
        folder,
        schema,
        [
            {"table": "shop.orders", "values": {"id": 1, "line": 2, "article": "tea", "price": 1.50, "place": place}},
            {"table": "shop.quiet", "values": {"id": 1, "v": "x"}},
            {"table": "shop.orders", "op": "update", "values": {"id": 1, "line": 2, "tags": ["a"]}, "write_ts": 9},
            {
                "table": "shop.orders",
                "op": "update",
                "values": {"id": 1, "line": 2},
                "deltas": {"tags": {"put": ["b"], "removed": ["a"]}},
                "attrs": {"n": 1.5},
            },
            {"table": "shop.orders", "op": "delete", "values": {"id": 1, "line": 2}},
            {"table": "shop.orders", "op": "delete_range", "values": {"id": 1}, "start": [2], "end": [4]},
            {"table": "shop.orders", "op": "delete_partition", "values": {"id": 1}},
        ],
        "--acks",
    )
    assert result.code == 0, result.err
    assert "7 lines written" in result.err
    assert len(result.lines) == 7
    assert all(":" in line for line in result.lines)
    got = rows(folder)
    assert [row["op"] for row in got] == [
        "insert",
        "update",
        "update",
        "delete_row",
        "delete_range",
        "delete_partition",
    ]
    assert got[0]["columns"] == {"article": "tea", "price": 1.5, "place": place}
    assert got[0]["partition_key"] == {"id": 1}
    assert got[0]["clustering"] == {"line": 2}
    assert (got[1]["write_ts"], got[1]["columns"]) == (9, {"tags": {"replaced": True, "put": ["a"]}})
    assert got[2]["columns"] == {"tags": {"replaced": False, "put": ["b"], "removed": ["a"]}}
    assert got[2]["attrs"] == {"n": 1.5}
    assert got[4]["range"] == {
        "start": {"line": 2},
        "start_inclusive": True,
        "end": {"line": 4},
        "end_inclusive": True,
    }


def test_transactions(tmp_path: Path, schema: Path) -> None:
    def insert(id: int, txn: str | None = None) -> dict[str, object]:
        values: dict[str, object] = {"id": id, "line": 1}
        return {"table": "shop.orders", "values": values} | ({} if txn is None else {"txn": txn})

    lines: list[object] = [
        {"op": "begin", "txn": "a"},
        insert(1, "a"),
        {"op": "begin", "txn": "b"},
        insert(2, "b"),
        {"op": "savepoint", "txn": "a", "name": "s"},
        insert(3, "a"),
        {"op": "rollback_to", "txn": "a", "name": "s"},
        insert(4),
        {"op": "rollback", "txn": "b"},
        {"op": "commit", "txn": "a"},
        {"op": "begin", "txn": "left open"},
        insert(5, "left open"),
    ]
    result = write(tmp_path / "log", schema, lines)
    assert result.code == 0, result.err
    got = rows(tmp_path / "log")
    assert [row["partition_key"] for row in got] == [{"id": 4}, {"id": 1}]
    assert got[0]["txn"] is None
    assert isinstance(got[1]["txn"], str)


def test_it_goes_on_in_a_log_that_is_there(tmp_path: Path, schema: Path) -> None:
    for number in (1, 2):
        line = {"table": "shop.orders", "values": {"id": number, "line": 1}}
        assert write(tmp_path / "log", schema, [line], "--sync", "periodic:5", "--compression", "lz4").code == 0
    assert [row["partition_key"] for row in rows(tmp_path / "log")] == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is no JSON"),
        ("[]", "line 2: expected a JSON object"),
        (
            {"table": "shop.lost", "values": {}},
            "line 2: a table that is not declared: expected shop.orders, shop.quiet",
        ),
        ({"table": "shop.orders", "values": {"id": 1}}, "line 2: shop.orders needs a value for line"),
        ({"table": "shop.orders", "values": {"id": "x", "line": 1}}, "line 2: a value for shop.orders, column id"),
        ({"table": "shop.orders", "op": "upsert", "values": {}}, "line 2: op: expected insert, update"),
        ({"table": "shop.orders", "colour": 1}, "line 2: the key colour"),
        (
            {"table": "shop.orders", "ttl": "soon", "values": {"id": 1, "line": 1}},
            "line 2: ttl: expected a whole number",
        ),
        ({"op": "commit", "txn": "x"}, "line 2: there is no open transaction x"),
    ],
)
def test_a_line_that_is_wrong(tmp_path: Path, schema: Path, line: object, message: str) -> None:
    good = {"table": "shop.orders", "values": {"id": 1, "line": 1}}
    result = write(tmp_path / "log", schema, [good, line, good])
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert len(rows(tmp_path / "log")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sync", "never"], "--sync: expected batch, group:MS or periodic:MS"),
        (["--on-cap", "panic", "--cap", "1g"], "--on-cap: expected block or drop_oldest"),
        (["--segment-size", "big"], "--segment-size: expected a size"),
        (["--compression", "gzip"], "compression"),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, schema: Path, options: list[str], message: str) -> None:
    result = write(tmp_path / "log", schema, [], *options)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_it_needs_a_schema(tmp_path: Path) -> None:
    result = write(tmp_path / "log", None, [])
    assert result.code == 2
    assert "--schema" in result.err


def test_recover_needs_none(tmp_path: Path, schema: Path) -> None:
    assert write(tmp_path / "log", schema, [{"table": "shop.orders", "values": {"id": 1, "line": 1}}]).code == 0
    result = write(tmp_path / "log", None, [], "--recover")
    assert (result.code, result.err) == (0, "")
    missing = write(tmp_path / "nothing", None, [], "--recover")
    assert missing.code == 2
