"""The typed form through the Python interface and the command line, also while the table's definition changes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tailer
from tests.conftest import FreshFolder
from tests.helpers.cli import ROOT, run_cli
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    LogFolder,
    Mutation,
    Row,
    SegmentWriter,
    Table,
    Update,
    add_column,
    create_table,
    drop_table,
    encode_mutation,
    i32,
    insert,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.sets import Place

PLACE = Place("50-cases")
TABLE = simple_table("ks", "t")
ADDED = Column("w", "regular", "int")
NEWER = replace(TABLE, columns=(*TABLE.columns, ADDED))
SEGMENT = 1_700_000_000_001


def both(pk: int, v: int, w: int) -> Mutation:
    """INSERT of both columns."""
    cells = tuple((name, Cell(i32(value), TS, like_row=1)) for name, value in (("v", v), ("w", w)))
    return (Update(NEWER, i32(pk), (Row((b"a",), Liveness(TS), None, cells),)),)


class Log:
    """A segment that grows by one section after another."""

    def __init__(self, path: Path, *first: Mutation) -> None:
        self.folder = LogFolder(path)
        self.writer: SegmentWriter = segment_of(SEGMENT, [list(map(encode_mutation, first))])
        self._put()

    def grow(self, *mutations: Mutation) -> None:
        self.writer.section(map(encode_mutation, mutations))
        self._put()

    def _put(self) -> None:
        self.folder.put(self.writer, live(self.writer))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "cdc_raw", create_table(TABLE, TS), insert(TABLE, 1, "a", 10))


def rows(batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def test_read_gives_the_table_s_own_columns(log: Log) -> None:
    (row,) = rows(tailer.open(log.folder.path, table="ks.t").read())
    assert {name: value for name, value in row.items() if value is not None} == {
        "pk": 1, "ck": "a", "v": 10, "_op": "insert", "_set": ["v"], "_table_id": str(TABLE.id), "_is_static": False,
        "_write_ts": TS, "_token": -4069959284402364209, "_node": "local", "_segment": SEGMENT,
        "_offset": row["_offset"], "_row": 0, "_event_id": f"local:{SEGMENT}:{row['_offset']}:0",
    }  # fmt: skip
    assert list(row)[:3] == ["pk", "ck", "v"]


def test_a_column_added_later_stops_the_run_before_its_first_row(log: Log) -> None:
    batches = tailer.open(log.folder.path, table="ks.t").follow()
    assert [row["v"] for row in next(batches).to_pylist()] == [10]
    log.grow(add_column(TABLE, ADDED, TS + 1), insert(TABLE, 2, "a", 20), both(3, 30, 33), insert(TABLE, 4, "a", 40))
    assert [row["v"] for row in next(batches).to_pylist()] == [20]
    with pytest.raises(tailer.DefinitionError, match=r'ks\.t has a column "w" of type int.*Start again') as stopped:
        next(batches)
    assert stopped.value.at is not None
    assert stopped.value.at.segment == SEGMENT
    again = rows(tailer.open(log.folder.path, table="ks.t").read())
    assert [(row["v"], row["w"], row["_set"]) for row in again] == [
        (10, None, ["v"]), (20, None, ["v"]), (30, 33, ["v", "w"]), (40, None, ["v"]),
    ]  # fmt: skip


def test_or_it_is_left_out_and_counted(log: Log) -> None:
    opened = tailer.open(log.folder.path, table="ks.t", on_schema_change="ignore")
    batches = opened.follow(once=True)
    found = next(batches).to_pylist()
    log.grow(add_column(TABLE, ADDED, TS + 1), both(3, 30, 33), both(4, 40, 44))
    found += rows(batches)
    assert [(row["v"], row["_set"]) for row in found] == [(10, ["v"]), (30, ["v"]), (40, ["v"])]
    assert "w" not in found[0]
    assert [notice for notice in opened.notices if "2 values" in notice and '"w"' in notice]


def test_a_table_dropped_since_keeps_its_form(log: Log) -> None:
    log.grow(drop_table(TABLE, TS + 5))
    assert [(row["v"], row["_op"]) for row in rows(tailer.open(log.folder.path, table="ks.t").read())] == [
        (10, "insert")
    ]


def test_a_table_of_the_same_name_with_another_key_is_told_apart(tmp_path: Path) -> None:
    other = Table(simple_table("ks", "t", 2).id, "ks", "t", (Column("k", "partition_key", "text", 0), TABLE.columns[2]))
    row = Row((), Liveness(TS + 9), None, (("v", Cell(i32(5), TS + 9, like_row=1)),))
    log = Log(
        tmp_path / "cdc_raw",
        create_table(TABLE, TS),
        insert(TABLE, 1, "a", 10),
        drop_table(TABLE, TS + 5),
        create_table(other, TS + 8),
        (Update(other, b"x", (row,)),),
    )
    with pytest.raises(tailer.DefinitionError, match="another key") as stopped:
        rows(tailer.open(log.folder.path, table="ks.t").read())
    behind = f"{SEGMENT}:{stopped.value.at.offset + 1}"  # type: ignore[union-attr]
    assert [(row["k"], row["v"]) for row in rows(tailer.open(log.folder.path, table="ks.t").read(behind))] == [("x", 5)]


def test_of_several_nodes_the_position_is_one_nodes(tmp_path: Path) -> None:
    """For another one's log it is none: the remedy names the node, and works for it by itself."""
    other = Table(simple_table("ks", "t", 2).id, "ks", "t", (Column("k", "partition_key", "text", 0), TABLE.columns[2]))
    row = Row((), Liveness(TS + 9), None, (("v", Cell(i32(5), TS + 9, like_row=1)),))
    lives = create_table(TABLE, TS), insert(TABLE, 1, "a", 10), drop_table(TABLE, TS + 5)
    for node in ("n1", "n2"):
        Log(tmp_path / node, *lives, create_table(other, TS + 8), (Update(other, b"x", (row,)),))
    both = ",".join(f"{node}={tmp_path / node}" for node in ("n1", "n2"))
    words = ["--typed", "ks.t", "--once", "--output", "json"]
    found = run_cli(["follow", both, *words])
    assert found.code == 3
    node, _, behind = found.err.partition("read node ")[2].partition(" by itself, and ")
    begin = behind.partition("--from ")[2].partition(" ")[0]
    alone = run_cli(["follow", f"{node}={tmp_path / node}", *words, "--from", begin])
    assert (alone.code, alone.out.count('"k":"x"')) == (0, 1)


def test_the_remedy_leads_behind_all_earlier_tables(tmp_path: Path) -> None:
    """Three tables of one name with three keys: the position of the last one is named, and rows come from there on."""
    lives = [
        Table(simple_table("ks", "t", number).id, "ks", "t", (Column("k", "partition_key", type_, 0), TABLE.columns[2]))
        for number, type_ in enumerate(("int", "blob", "text"), 1)
    ]
    mutations: list[Any] = []
    for number, life in enumerate(lives):
        row = Row((), Liveness(TS + 9), None, (("v", Cell(i32(number), TS + 9, like_row=1)),))
        mutations += [create_table(life, TS + 10 * number), (Update(life, b"abcd", (row,)),)]
        if life is not lives[-1]:
            mutations.append(drop_table(life, TS + 10 * number + 5))
    log = Log(tmp_path / "cdc_raw", *mutations)
    with pytest.raises(tailer.DefinitionError, match="another key") as stopped:
        rows(tailer.open(log.folder.path, table="ks.t").read())
    begin = stopped.value.remedy.partition("--from ")[2].partition(" ")[0]
    assert [(row["k"], row["v"]) for row in rows(tailer.open(log.folder.path, table="ks.t").read(begin))] == [
        ("abcd", 2)
    ]


def test_a_value_out_of_range_stops_or_goes_into_quarantine(tmp_path: Path) -> None:
    table = replace(TABLE, columns=(*TABLE.columns[:2], Column("d", "regular", "decimal")))

    def put(pk: int, value: str) -> Mutation:
        cells = (("d", Cell(bytes.fromhex(value), TS, like_row=1)),)
        return (Update(table, i32(pk), (Row((b"a",), Liveness(TS), None, cells),)),)

    large = "ffffff0001"
    log = Log(tmp_path / "cdc_raw", create_table(table, TS), put(1, "0000000005"), put(2, large), put(3, ""))
    with pytest.raises(tailer.DefinitionError, match="does not fit 18 of 38 digits"):
        rows(tailer.open(log.folder.path, table="ks.t").read())
    kept = rows(tailer.open(log.folder.path, table="ks.t", on_error="quarantine").read())
    assert [(row["pk"], row["d"], row["_set"]) for row in kept] == [(1, 5, ["d"]), (3, None, ["d"])]
    text = rows(tailer.open(log.folder.path, table="ks.t", decimals="string").read())
    assert [row["d"] for row in text] == ["5", "1E+256", None]
    shown = run_cli(["follow", log.folder.path, "--once", "--typed", "ks.t", "--output", "pretty"])
    assert (shown.code, [line.split()[-1] for line in shown.lines[1:]]) == (0, ["d=5", "d=1E+256", "d=null"])


def test_wrong_use_is_told(log: Log) -> None:
    for options, words in (
        ({"table": "t"}, "one keyspace.table"),
        ({"table": "ks.*"}, "one keyspace.table"),
        ({"table": "ks.t", "tables": ["shop.*"]}, "not among the tables"),
        ({"table": "ks.t", "schema_changes": True}, "no typed form"),
        ({"table": "ks.t", "on_schema_change": "merge"}, "fail or ignore"),
        ({"table": "ks.t", "decimals": "float"}, "decimal or string"),
    ):
        with pytest.raises(tailer.UsageError, match=words):
            tailer.open(log.folder.path, **options)  # type: ignore[arg-type]
    with pytest.raises(tailer.DefinitionError, match=r"no definition for table ks\.nowhere"):
        rows(tailer.open(log.folder.path, table="ks.nowhere").read())


@pytest.mark.slow
@pytest.mark.parametrize("table", ["cdc.coll_types", "cdc.udt", "cdc.range3", "cdc.counters", "cdc.ttl"])
def test_json_lines_and_arrow_are_the_same_rows(table: str, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder(PLACE)
    options = ["--once", "--stopped", "--typed", table, "--decimals", "string"]
    lines = run_cli(["follow", folder, *options])
    assert lines.code == 0, lines.err
    program = "from tailer.cli.app import run; run()"
    found = subprocess.run(
        [sys.executable, "-c", program, "follow", folder, *options, "--output", "arrow"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    table_of = pa.ipc.open_stream(io.BytesIO(found.stdout)).read_all()
    printed = [json.loads(line) for line in lines.lines]
    assert len(printed) == table_of.num_rows > 0
    assert [list(row) for row in printed] == [table_of.schema.names] * len(printed)
    assert [row["_event_id"] for row in printed] == table_of.column("_event_id").to_pylist()
    for name in ("_deltas", "_range", "_cells"):
        texts = table_of.column(name).to_pylist()
        assert [row[name] for row in printed] == [text and json.loads(text) for text in texts]


def test_the_typed_form_is_what_the_plain_one_gives_without_numba(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailer.rows import choice

    with_it = rows(tailer.open(log.folder.path, table="ks.t").read())
    monkeypatch.setattr(choice, "twin_now", lambda module, enough: None)
    assert rows(tailer.open(log.folder.path, table="ks.t").read()) == with_it
    monkeypatch.setattr(choice, "twin_now", lambda module, enough: import_module(module))
    assert rows(tailer.open(log.folder.path, table="ks.t").read()) == with_it
