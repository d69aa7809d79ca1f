"""What a server's response is compared with: every schema change that the log shows, also ahead of the position."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.tail.node_log import node_log
from tailer.tail.open import tail_parts
from tailer.tail.tail import Tail
from tests.helpers.asked_server import AskedServer
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    LogFolder,
    Mutation,
    Row,
    Table,
    Update,
    add_column,
    completed,
    create_table,
    encode_mutation,
    i32,
    insert,
    live,
    segment_of,
    simple_table,
)

FIRST = 1_700_000_000_001
T = simple_table("ks", "t")
X, W = Column("x", "regular", "int"), Column("w", "regular", "int")
WITH_X = replace(T, columns=(*T.columns, X))
WITH_BOTH = replace(T, columns=(*T.columns, W, X))


def row(table: Table, pk: int, ts: int, **values: int) -> Mutation:
    cells = tuple((name, Cell(i32(value), ts, like_row=1)) for name, value in sorted(values.items()))
    return (Update(table, i32(pk), (Row((b"a",), Liveness(ts), None, cells),)),)


def segment(log: LogFolder, id: int, *mutations: Mutation, done: bool = True) -> None:
    made = segment_of(id, [[encode_mutation(each)] for each in mutations])
    log.put(made, completed(made) if done else live(made))


def test_a_change_in_a_segment_that_came_after_the_last_look_counts_from_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log lost the ALTER that adds x; the server is asked for it while w has been added in a newer segment."""
    log, server = LogFolder(tmp_path / "cdc_raw"), AskedServer(monkeypatch)
    segment(log, FIRST, create_table(T, TS), row(WITH_X, 1, TS + 10, v=1, x=1))
    server.knows(T)
    options = TailOptions(server="db", settle_seconds=0)
    with Tail(tail_parts(node_log(log.path, options), options)) as tail:
        step = tail.step(1 << 20)
        segment(log, FIRST + 1, add_column(WITH_BOTH, W, TS + 20), row(WITH_BOTH, 2, TS + 30, v=2, w=2, x=2))
        server.knows(WITH_BOTH, ts=TS + 20)
        lines = [line for task in step.tasks for batch in tail.read(task) for line in batch.json_lines().splitlines()]
        known = tail.parts.definitions.history.as_of(Position(FIRST, 10_000))[T.id.hex]
    assert [json.loads(line)["columns"] for line in lines] == [{"v": 1, "x": 1}]
    assert sorted(each.name for each in known.columns if not each.dropped) == ["ck", "pk", "v", "x"]


@pytest.mark.parametrize("server", [True, False])
def test_a_definition_that_cannot_be_decoded_ends_the_run_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: bool
) -> None:
    """A start with a server reads ahead: what stands before the bad definition comes first."""
    log, asked = LogFolder(tmp_path / "cdc_raw"), AskedServer(monkeypatch)
    asked.knows(T)
    more = ("--server", "db") if server else ()
    segment(log, FIRST, create_table(T, TS), insert(T, 1, "a", 1, TS + 1), done=False)
    assert run_cli(["follow", log.path, "--once", "--consumer", "c", *more]).code == 0
    segment(log, FIRST, create_table(T, TS), insert(T, 1, "a", 1, TS + 1), insert(T, 2, "a", 2, TS + 2))
    columns, tables = add_column(WITH_X, X, TS + 10)
    (cells,) = columns.unfiltereds
    assert isinstance(cells, Row)
    bad = replace(
        cells, cells=tuple((n, replace(c, value=b"\xff\xfe") if n == "position" else c) for n, c in cells.cells)
    )
    for id in range(FIRST + 1, FIRST + 40):
        segment(log, id, insert(T, id - FIRST + 10, "a", 3, TS + 3))
    segment(log, FIRST + 40, (replace(columns, unfiltereds=(bad,)), tables), insert(T, 9, "a", 9, TS + 20))
    result = run_cli(["follow", log.path, "--once", "--consumer", "c", *more])
    assert result.code == 3, result.err
    assert f"{FIRST + 40}:" in result.err
    keys = [json.loads(line)["partition_key"]["pk"] for line in result.lines]
    assert keys == [2, *range(11, 50)]
