"""What does a snapshot take, beside a plain paged SELECT of the same columns?

One real Cassandra server with a table of five columns, ten rows a partition. Read whole: by the driver alone, a page
after the other, each column with its WRITETIME and TTL; likewise by ranges of tokens, several at once, as `dsbulk`
does; by the reader of snapshots alone; and by `cdc-tail snapshot` into a state of images and data files on disk, with 1
to 3 readers. Then `--rows-per-second`. Each in a process of its own, in turns.

    python -m tests.benchmarks.snapshot --repeat 3 --keep                              # about five minutes
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.benchmarks.measured import ROOT, compile_ahead, environment
from tests.benchmarks.script import Begun, published, script_parser
from tests.helpers.jvm.program import running
from tests.server.harness import Node
from tests.server.library import available

NAME = "snapshot"
QUESTION = "What does a snapshot take, beside a plain paged SELECT of the same columns?"
TARGETS = {"snapshot_to_select": 0.8, "pace": 0.1}

TABLE: Final = "bench.events"
COLUMNS: Final = ("id", "ck", "a", "b", "c", "d", "e")
CREATE: Final = (
    "CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    f"CREATE TABLE {TABLE} (id int, ck int, a int, b text, c bigint, d double, e text, PRIMARY KEY (id, ck)) "
    "WITH cdc = true",
)
ROWS_A_PARTITION: Final = 10
AT_ONCE: Final = 256
RANGES: Final = 64
RANGES_AT_ONCE: Final = 4

_CONNECTED: Final = """
import time
from concurrent.futures import ThreadPoolExecutor
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT
from cassandra.query import SimpleStatement, tuple_factory
profile = ExecutionProfile(row_factory=tuple_factory)
cluster = Cluster([{host!r}], port={port}, protocol_version=4, execution_profiles={{EXEC_PROFILE_DEFAULT: profile}})
session = cluster.connect()
data = [part for name in "abcde" for part in (name, f"WRITETIME({{name}})", f"TTL({{name}})")]
"""
_SELECT: Final = """
query = "SELECT token(id), id, ck, " + ", ".join(data) + " FROM {table}"
begun, count = time.perf_counter(), 0
for row in session.execute(SimpleStatement(query, fetch_size=2000), timeout=None):
    count += 1
print(count, time.perf_counter() - begun)
"""
_PARALLEL: Final = """
query = "SELECT token(id), id, ck, " + ", ".join(data) + " FROM {table} WHERE token(id) > %s AND token(id) <= %s"
def read(number):
    low, high = (-2**63 + (at * 2**64) // {ranges} for at in (number, number + 1))
    bounds = (low, min(high, 2**63 - 1))
    return sum(1 for row in session.execute(SimpleStatement(query, fetch_size=2000), bounds, timeout=None))
begun = time.perf_counter()
with ThreadPoolExecutor({at_once}) as pool:
    count = sum(pool.map(read, range({ranges})))
print(count, time.perf_counter() - begun)
"""
_READ: Final = """
import time
from tailer.schema.server import Server, open_session
from tailer.schema.server_rows import raw
from tailer.snapshot.reading import TableReading
from tests.benchmarks.snapshot import plan
with open_session(Server({host!r}, {port})) as session:
    reading = TableReading(raw(session), plan(), "5.0.9", "LOCAL_QUORUM")
    begun = time.perf_counter()
    count = sum(piece.rows for piece in reading.pieces(-2**63, 2**63 - 1, 0, 500))
    print(count, time.perf_counter() - begun)
"""


def plan() -> Any:
    """The table made ready."""
    from tailer.rebuild import Table
    from tailer.rebuild.table import plan_of
    from tailer.schema.model import Column, TableDefinition

    types = ("int", "int", "int", "text", "bigint", "double", "text")
    kinds = ("partition_key", "clustering", *["regular"] * 5)
    columns = tuple(Column(*each, 0) for each in zip(COLUMNS, kinds, types, strict=True))
    return plan_of(Table.of(TableDefinition("1" * 32, *TABLE.split("."), columns, cdc=True)))


def fill(node: Node, rows: int) -> None:
    with node.session() as session:
        for statement in CREATE:
            session.execute(statement)
        insert = session.prepare(f"INSERT INTO {TABLE} ({', '.join(COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?)")
        for first in range(0, rows, AT_ONCE):
            some = range(first, min(first + AT_ONCE, rows))
            values = [(*divmod(at, ROWS_A_PARTITION), at % 997, f"some text {at}", at, at / 7, "more") for at in some]
            for waiting in [session.execute_async(insert, each) for each in values]:
                waiting.result()
    node.sync()


def _timed(words: Sequence[str]) -> tuple[str, float]:
    """What a process said, and its seconds of processor."""
    process = subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate()
    if process.returncode:
        raise RuntimeError(err.decode())
    usage = os.times()
    return (out or b"").decode() or err.decode(), usage.children_user + usage.children_system


def _by_program(node: Node, text: str) -> dict[str, float]:
    before = os.times()
    where = {"host": node.address, "port": node.cql_port, "table": TABLE}
    program = text.format(**where, ranges=RANGES, at_once=RANGES_AT_ONCE)
    said, after = _timed([sys.executable, "-c", program])
    rows, seconds = map(float, said.split())
    cpu = after - before.children_user - before.children_system
    return {"rows": rows, "rows_per_second": round(rows / seconds), "cpu_us_a_row": round(1e6 * cpu / rows, 1)}


def _by_snapshot(node: Node, *more: str) -> dict[str, float]:
    """`cdc-tail snapshot` into a state that is new; its own seconds, from before its readers connect."""
    from tailer.image_state.file import reading
    from tailer.image_state.snapshots import snapshots_in

    with tempfile.TemporaryDirectory(prefix="cdc-tail-snapshot-") as parent:
        state = Path(parent) / "images"
        words = ["snapshot", str(node.cdc_raw), "--server", f"{node.address}:{node.cql_port}", "--table", TABLE]
        words += ["--consumer", f"c{time.monotonic_ns()}", "--image-state", str(state), "--snapshot-settle", "0"]
        words += ["--to", f"files:{parent}/out", *more]
        before = os.times()
        _, after = _timed([sys.executable, "-c", "from tailer.cli.app import run; run()", *words])
        with reading(state) as seen:
            (made,) = snapshots_in(seen)
    cpu = after - before.children_user - before.children_system
    speed = round(made.rows / made.seconds)
    return {"rows": made.rows, "rows_per_second": speed, "cpu_us_a_row": round(1e6 * cpu / made.rows, 1)}


def _round(node: Node, pace: int) -> Iterator[tuple[str, dict[str, float]]]:
    yield "select", _by_program(node, _CONNECTED + _SELECT)
    yield "select by ranges", _by_program(node, _CONNECTED + _PARALLEL)
    yield "reader", _by_program(node, _READ)
    yield "snapshot, 1 reader", _by_snapshot(node, "--parallel", "1")
    yield "snapshot, 2 readers", _by_snapshot(node, "--parallel", "2")
    yield "snapshot, 3 readers", _by_snapshot(node, "--parallel", "3")
    yield "paced", _by_snapshot(node, "--rows-per-second", str(pace))


def run(repeat: int, rows: int, pace: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat)
    compile_ahead()
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="cdc-tail-bench-") as parent:
        folder = Path(parent) / "node"
        folder.mkdir()
        with running(Node(folder)) as node:
            fill(node, rows)
            for _ in range(repeat):
                for name, taken in _round(node, pace):
                    assert taken["rows"] == rows, (name, taken)
                    found.setdefault(name, []).append(taken)
    speeds = {name: median(each["rows_per_second"] for each in runs) for name, runs in found.items()}
    best = max(speeds[name] for name in speeds if name.startswith("snapshot"))
    ratios = {
        "snapshot_to_select": round(best / speeds["select"], 3),
        "snapshot_to_select_by_ranges": round(best / speeds["select by ranges"], 2),
        "pace": round(speeds["paced"] / pace - 1, 3),
    }
    met = {
        "snapshot_to_select": ratios["snapshot_to_select"] >= TARGETS["snapshot_to_select"],
        "pace": abs(ratios["pace"]) <= TARGETS["pace"],
    }
    return begun.result(rows=rows, pace=pace, speeds=speeds, ratios=ratios, met=met, runs=found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, repeat=3)
    parser.add_argument("--rows", type=int, default=800_000, help="of the table (default: %(default)s)")
    parser.add_argument("--pace", type=int, default=20_000, help="rows a second to keep (default: %(default)s)")
    if reason := available():
        sys.stderr.write(f"{NAME}: not measured: {reason}\n")
        return 0
    return published(parser, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
