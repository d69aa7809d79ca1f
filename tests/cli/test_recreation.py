"""What is dropped and made again under its name, through the command: rows, typed rows, row images, a kept table.

Each case is a log in steps, written by hand. It is read after each step, at once, and as two nodes of which one is late.
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
from uuid import UUID

import pytest

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
    """`steps`: the entries of each segment. `rows`: what each change sets. `now`: what SELECT gives at the end. `typed`:
    columns that have another name in typed rows, by `pk` and name. The clustering key `ck` is always "a"."""

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


def extend(log: LogFolder, case: Case, upto: int) -> None:
    for number, step in enumerate(case.steps[:upto]):
        writer = segment_of(FIRST + number, [list(step)])
        log.put(writer, completed(writer))


Read = Callable[[Path, str], Result]


def in_steps(tmp_path: Path, case: Case, how: str, read: Callable[[str], Result]) -> list[str]:
    """The lines of all runs. `how`: "each" after each step, "once" at the end, "late" as two nodes."""
    one, two = LogFolder(tmp_path / "n1" / "cdc_raw"), LogFolder(tmp_path / "n2" / "cdc_raw")
    last, lines = len(case.steps), list[str]()
    stands = {"each": [(n, 0) for n in range(1, last + 1)], "once": [(last, 0)]}
    stands["late"] = [(1, 1), (last, 1), (last, last)]
    for first, second in stands[how]:
        extend(one, case, first)
        extend(two, case, second)
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
        wanted = [(op, pk, {CASES[name].typed.get((pk, key), key): v for key, v in row.items()}) for op, pk, row in wanted]
    assert found == wanted
