"""What is dropped and made again under its name, through the command: rows, typed rows, row images, a kept table.

Each case is a log in steps, written by hand. It is read after each step, at once, and as two nodes, one of them late.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tailer.state.log_folder import state_folder
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Complex,
    Deletion,
    Liveness,
    LogFolder,
    Row,
    Table,
    Update,
    add_column,
    completed,
    create_payload,
    create_type,
    drop_column,
    encode_mutation,
    i32,
    segment_of,
    simple_table,
    system_id,
)
from tests.helpers.logs.schema import COLUMNS, DROPPED_COLUMNS, KEYSPACES, TABLES, TYPES

FIRST = 1_700_000_000_001
SECOND = 1_000_000
PLAIN = simple_table("ks", "t")
OTHER_ID = replace(PLAIN, id=simple_table("ks", "t", 2).id)
W = Column("w", "regular", "int")
W_BLOB = Column("w", "regular", "blob")
WIDE = replace(PLAIN, columns=(*PLAIN.columns, W))
BLOB = replace(PLAIN, columns=(*PLAIN.columns, W_BLOB))
P = Column("p", "regular", "frozen<point>")
Q = Column("q", "regular", "frozen<point>")
OLD_TYPE = replace(PLAIN, columns=(*PLAIN.columns, P))
NEW_TYPE = replace(PLAIN, columns=(*PLAIN.columns, Q))
LOCAL = Table(
    system_id("system", "local"),
    "system",
    "local",
    (Column("key", "partition_key", "text", 0), Column("truncated_at", "regular", "map<uuid, blob>")),
    cdc=False,
)

Now = dict[int, dict[str, Any]]
"""The live rows, by `pk`."""


def at(second: int) -> int:
    return TS + second * SECOND


def put(table: Table, pk: int, second: int, **values: int | bytes) -> bytes:
    cells = tuple((n, Cell(v if isinstance(v, bytes) else i32(v), at(second))) for n, v in values.items())
    return encode_mutation((Update(table, i32(pk), (Row((b"a",), Liveness(at(second)), None, cells),)),))


def drop_keyspace(second: int) -> bytes:
    gone = Deletion(at(second), at(second) // SECOND)
    tables = (KEYSPACES, TABLES, COLUMNS, DROPPED_COLUMNS, TYPES)
    return encode_mutation(tuple(Update(each, b"ks", deletion=gone) for each in tables))


def drop_type(second: int) -> bytes:
    gone = Deletion(at(second), at(second) // SECOND)
    return encode_mutation((Update(TYPES, b"ks", (Row((b"point",), deletion=gone),)),))


def truncate(table: Table, number: int, second: int) -> bytes:
    """What the server writes behind TRUNCATE: all before this segment is void."""
    record = struct.pack(">qiq", FIRST + number, 0, at(second) // 1000)
    cell = Cell(record, at(second), path=table.id.bytes)
    row = Row((), None, None, (("truncated_at", Complex((cell,))),))
    return encode_mutation((Update(LOCAL, b"local", (row,)),))


def new(table: Table, second: int) -> bytes:
    return create_payload(table, at(second))


@dataclass(frozen=True)
class Case:
    """`steps`: the entries of each segment. `rows`: what each change sets. `now`: what SELECT gives at the end.
    `typed`: columns that have another name in typed rows, by `pk` and name. The key column `ck` is always "a"."""

    steps: Sequence[Sequence[bytes]]
    rows: Sequence[tuple[str, int | None, dict[str, Any]]]
    now: Now
    typed: Mapping[tuple[int, str], str] = field(default_factory=dict)


def ins(pk: int, **values: Any) -> tuple[str, int, dict[str, Any]]:
    return "insert", pk, values


def up(*rows: tuple[int, int]) -> list[tuple[str, int | None, dict[str, Any]]]:
    return [ins(pk, v=v) for pk, v in rows]


CASES = {
    "keyspace, same id": Case(
        [[new(PLAIN, 0), put(PLAIN, 1, 1, v=1)], [drop_keyspace(10)], [new(PLAIN, 20), put(PLAIN, 2, 21, v=2)]],
        up((1, 1), (2, 2)),
        {2: {"v": 2}},
    ),
    "keyspace, other id": Case(
        [[new(PLAIN, 0), put(PLAIN, 1, 1, v=1)], [drop_keyspace(10)], [new(OTHER_ID, 20), put(OTHER_ID, 2, 21, v=2)]],
        up((1, 1), (2, 2)),
        {2: {"v": 2}},
    ),
    "type": Case(
        [
            [
                encode_mutation(create_type("ks", "point", {"x": "int"}, at(-1))),
                new(OLD_TYPE, 0),
                put(OLD_TYPE, 1, 1, v=1, p=i32(4) + i32(7)),
            ],
            [encode_mutation(drop_column(OLD_TYPE, P, at(10))), drop_type(11)],
            [
                encode_mutation(create_type("ks", "point", {"y": "text", "z": "int"}, at(12))),
                encode_mutation(add_column(PLAIN, Q, at(13))),
                put(NEW_TYPE, 2, 21, v=2, q=i32(2) + b"hi" + i32(4) + i32(9)),
            ],
        ],
        [ins(1, v=1, p={"x": 7}), ins(2, v=2, q={"y": "hi", "z": 9})],
        {1: {"v": 1, "q": None}, 2: {"v": 2, "q": {"y": "hi", "z": 9}}},
    ),
    "column, same type": Case(
        [
            [new(WIDE, 0), put(WIDE, 1, 1, v=1, w=5)],
            [encode_mutation(drop_column(WIDE, W, at(10)))],
            [encode_mutation(add_column(PLAIN, W, at(20))), put(WIDE, 2, 21, v=2, w=6)],
        ],
        [ins(1, v=1, w=5), ins(2, v=2, w=6)],
        {1: {"v": 1, "w": None}, 2: {"v": 2, "w": 6}},
    ),
    "column, other type": Case(
        [
            [new(WIDE, 0), put(WIDE, 1, 1, v=1, w=5)],
            [encode_mutation(drop_column(WIDE, W, at(10)))],
            [encode_mutation(add_column(PLAIN, W_BLOB, at(20))), put(BLOB, 2, 21, v=2, w=b"\xab")],
        ],
        [ins(1, v=1, w=5), ins(2, v=2, w="0xab")],
        {1: {"v": 1, "w": None}, 2: {"v": 2, "w": "0xab"}},
        {(1, "w"): "w_dropped_int"},
    ),
    "TRUNCATE before": Case(
        [
            [new(PLAIN, 0), put(PLAIN, 1, 1, v=1)],
            [truncate(PLAIN, 1, 5), put(PLAIN, 3, 6, v=3), drop_keyspace(10)],
            [new(PLAIN, 20), put(PLAIN, 2, 21, v=2)],
        ],
        [*up((1, 1)), ("truncate", None, {}), *up((3, 3), (2, 2))],
        {2: {"v": 2}},
    ),
    "TRUNCATE after": Case(
        [
            [new(PLAIN, 0), put(PLAIN, 1, 1, v=1)],
            [drop_keyspace(10), new(PLAIN, 20), put(PLAIN, 2, 21, v=2)],
            [truncate(PLAIN, 2, 25), put(PLAIN, 3, 26, v=3)],
        ],
        [*up((1, 1), (2, 2)), ("truncate", None, {}), *up((3, 3))],
        {3: {"v": 3}},
    ),
}


def values(row: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}


def of_kept(value: Any) -> Any:
    """A value of SQLite's as JSON has it."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value


def put_steps(log: LogFolder, steps: Sequence[Sequence[bytes]], first: int = FIRST) -> None:
    for number, step in enumerate(steps):
        writer = segment_of(first + number, [list(step)])
        log.put(writer, completed(writer))


def in_steps(tmp_path: Path, case: Case, how: str, read: Callable[[str], Result]) -> list[str]:
    """The lines of all runs. `how`: "each" after each step, "once" at the end, "late" as two nodes."""
    one, two = LogFolder(tmp_path / "n1" / "cdc_raw"), LogFolder(tmp_path / "n2" / "cdc_raw")
    last, lines = len(case.steps), list[str]()
    stands = {"each": [(n, 0) for n in range(1, last + 1)], "once": [(last, 0)]}
    stands["late"] = [(1, 1), (last, 1), (last, last)]
    for first, second in stands[how]:
        put_steps(one, case.steps[:first])
        put_steps(two, case.steps[:second])
        place = f"n1={one.path},n2={two.path}" if second else f"n1={one.path}"
        result = read(place)
        # A kept table tells what was done to it.
        told = [line for line in result.err.splitlines() if not line.startswith("cdc-tail: table t of ")]
        assert (result.code, told) == (0, []), result.err
        lines += result.lines
    return lines


@pytest.mark.parametrize("how", ["each", "once"])
@pytest.mark.parametrize("name", CASES)
def test_rows(tmp_path: Path, name: str, how: str) -> None:
    words = ["--once", "--output", "json", "--consumer", "c"]
    lines = in_steps(tmp_path, CASES[name], how, lambda place: run_cli(["follow", place, *words]))
    found = [json.loads(line) for line in lines]
    told = [(row["op"], row["partition_key"] and row["partition_key"]["pk"], row["columns"] or {}) for row in found]
    assert told == CASES[name].rows


@pytest.mark.parametrize("how", ["each", "once", "late"])
@pytest.mark.parametrize("name", CASES)
def test_images(tmp_path: Path, name: str, how: str) -> None:
    words = ["--once", "--output", "json", "--consumer", "c", "--image", "after"]
    lines = in_steps(tmp_path, CASES[name], how, lambda place: run_cli(["follow", place, *words]))
    now: Now = {}
    for image in map(json.loads, lines):
        # A TRUNCATE has an image for each node, and one for each row that goes.
        if image["op"] == "drop":
            now.clear()
        elif image["partition_key"] is not None:
            now.pop(image["partition_key"]["pk"], None)
            if image["after"] is not None:
                now[image["partition_key"]["pk"]] = image["after"]
    # A column that was only added is absent from rows that have not changed since.
    wanted = CASES[name].now
    assert {pk: {key: row.get(key) for key in wanted.get(pk, row)} for pk, row in now.items()} == wanted


@pytest.mark.parametrize("how", ["each", "once", "late"])
@pytest.mark.parametrize("name", CASES)
def test_a_kept_table(tmp_path: Path, name: str, how: str) -> None:
    to = ["--image", "after", "--to", f"sqlite:{tmp_path / 'kept.db'}", "--mode", "table", "--into", "t"]
    read = ["--once", "--consumer", "c", *to]
    in_steps(tmp_path, CASES[name], how, lambda place: run_cli(["follow", place, *read]))
    with closing(sqlite3.connect(tmp_path / "kept.db")) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute("SELECT * FROM t")]
    wanted = CASES[name].now
    assert {row["pk"]: {key: of_kept(row[key]) for key in wanted.get(row["pk"], row)} for row in rows} == wanted


@pytest.mark.parametrize("how", ["each", "once"])
@pytest.mark.parametrize("name", CASES)
def test_typed(tmp_path: Path, name: str, how: str) -> None:
    words = ["--once", "--output", "json", "--consumer", "c", "--typed", "ks.t"]
    lines = in_steps(tmp_path, CASES[name], how, lambda place: run_cli(["follow", place, *words]))
    found = [(row["_op"], row["pk"], values(row, row.get("_set") or ())) for row in map(json.loads, lines)]
    wanted = CASES[name].rows
    if how == "once":
        # One run has columns for both: the earlier one of another type under a name of its own.
        wanted = [
            (op, pk, {CASES[name].typed.get((pk, key), key): v for key, v in row.items()}) for op, pk, row in wanted
        ]
    assert found == wanted


KEYSPACE = CASES["keyspace, same id"].steps


def follow(log: LogFolder, *more: str, consumer: str = "c") -> Result:
    return run_cli(["follow", f"n1={log.path}", "--once", "--output", "json", "--consumer", consumer, *more])


PATHS: dict[str, tuple[str, ...]] = {"rows": (), "typed": ("--typed", "ks.t"), "images": ("--image", "after")}


def told(result: Result) -> list[tuple[str, int | None, bool | None]]:
    """Of each line what it does, the partition key, and whether an image is complete."""
    found = []
    for row in map(json.loads, result.lines):
        key = row.get("pk") or (row.get("partition_key") or {}).get("pk")
        found.append((row.get("op") or row.get("_op"), key, row.get("complete")))
    return found


def of_path(path: str, *rows: int) -> list[tuple[str, int | None, bool | None]]:
    """The inserts of these keys; an image each, which is complete."""
    return [("insert", pk, True if path == "images" else None) for pk in rows]


@pytest.mark.parametrize("path", PATHS)
def test_the_name_of_a_dropped_consumer(tmp_path: Path, path: str) -> None:
    """It begins anew. Images go on from their state, if that is not removed too: what it may lack is not complete."""
    log = LogFolder(tmp_path / "cdc_raw")
    put_steps(log, KEYSPACE[:1])
    assert told(follow(log, *PATHS[path])) == of_path(path, 1)
    put_steps(log, KEYSPACE)
    assert run_cli(["consumers", log.path, "drop", "c"]).code == 0
    if path == "images":
        assert told(follow(log, *PATHS[path])) == [("drop", None, False), ("insert", 2, True)]
        assert run_cli(["consumers", log.path, "drop", "c"]).code == 0
        shutil.rmtree(state_folder(log.path) / "images" / "c")
        assert told(follow(log, *PATHS[path])) == [("insert", 1, True), ("drop", None, True), ("insert", 2, True)]
    else:
        assert told(follow(log, *PATHS[path])) == of_path(path, 1, 2)
    assert told(follow(log, *PATHS[path])) == []


@pytest.mark.parametrize("path", PATHS)
def test_the_name_of_a_node_for_another_log(tmp_path: Path, path: str) -> None:
    """In a state of its own for both: what was between them is a loss."""
    log, other = LogFolder(tmp_path / "a" / "cdc_raw"), LogFolder(tmp_path / "b" / "cdc_raw")
    state = ["--state", str(tmp_path / "state")]
    put_steps(log, KEYSPACE[:1])
    put_steps(other, KEYSPACE, FIRST + 1000)
    assert told(follow(log, *PATHS[path], *state)) == of_path(path, 1)
    result = follow(other, *PATHS[path], *state)
    assert (result.code, result.out) == (5, "")
    assert f"segment {FIRST} was read and is gone" in result.err
    # Beside each log it is another state.
    assert told(follow(other, *PATHS[path])) == (
        [("insert", 1, True), ("drop", None, True), ("insert", 2, True)] if path == "images" else of_path(path, 1, 2)
    )


def test_a_state_of_images_that_was_deleted(tmp_path: Path) -> None:
    """Refused; the remedy of the sentence begins anew. The state that the refused run made knows of a consumer that was
    elsewhere before: what is older than the CREATE that is read next is not complete."""
    log = LogFolder(tmp_path / "cdc_raw")
    put_steps(log, KEYSPACE[:1])
    assert told(follow(log, *PATHS["images"])) == of_path("images", 1)
    shutil.rmtree(state_folder(log.path) / "images" / "c")
    put_steps(log, KEYSPACE)
    result = follow(log, *PATHS["images"])
    assert (result.code, result.out) == (6, "")
    assert "keeps no position of this consumer" in result.err
    assert "begin anew: drop this one." in result.err
    assert run_cli(["consumers", log.path, "drop", "c"]).code == 0
    images = told(follow(log, *PATHS["images"]))
    assert ([key for _, key, _ in images], images[-1]) == ([1, None, 2], ("insert", 2, True))


@pytest.mark.parametrize("path", PATHS)
def test_a_loss_before_it(tmp_path: Path, path: str) -> None:
    """The table of now is known whole: its CREATE was read. Of the one before that may not be all."""
    log = LogFolder(tmp_path / "cdc_raw")
    put_steps(log, KEYSPACE[:1])
    assert told(follow(log, *PATHS[path])) == of_path(path, 1)
    for file in list(log.path.iterdir()):
        file.unlink()
    put_steps(log, [[*KEYSPACE[1], *KEYSPACE[2]]], FIRST + 2)
    lost = follow(log, *PATHS[path])
    assert (lost.code, lost.out) == (5, "")
    accepted = follow(log, *PATHS[path], "--accept-loss")
    assert (accepted.code, "Changes are lost" in accepted.err) == (0, True)
    begins = [("drop", None, False)] if path == "images" else []
    assert told(accepted) == [*begins, *of_path(path, 2)]


@pytest.mark.parametrize("again", [PLAIN, BLOB], ids=["same columns", "other type"])
def test_an_entry_in_quarantine_from_before_it(tmp_path: Path, again: Table) -> None:
    """Its table was created in a segment that is gone. What --schema says counts, though the id has another life."""
    old = PLAIN if again is PLAIN else WIDE
    row = {"v": 1} if again is PLAIN else {"v": 1, "w": 5}
    log, schema = LogFolder(tmp_path / "cdc_raw"), tmp_path / "schema.cql"
    schema.write_text(
        f"CREATE TABLE ks.t (pk int, ck text, v int, {'' if again is PLAIN else 'w int, '}PRIMARY KEY (pk, ck)) "
        f"WITH ID = {PLAIN.id} AND cdc = true AND CLUSTERING ORDER BY (ck ASC);"
    )
    steps = [[put(old, 1, 1, **row)], [drop_keyspace(10), new(again, 20), put(again, 2, 21, v=2)]]
    aside = ["--on-error", "quarantine"]
    put_steps(log, steps[:1])
    assert told(follow(log, *aside)) == []
    assert told(follow(log, *aside, "--image", "after", consumer="images")) == []
    put_steps(log, steps)
    assert told(follow(log, *aside)) == of_path("rows", 2)
    # The image's state saw neither the DROP nor what went before it whole.
    assert told(follow(log, *aside, "--image", "after", consumer="images")) == [("upsert", 2, False)]
    words = ["quarantine", log.path, "replay", "--consumer", "c", "--output", "json", "--schema", schema]
    result = run_cli(words)
    assert [json.loads(line)["columns"] for line in result.lines] == [row], result.err
    assert run_cli(words).lines == []
