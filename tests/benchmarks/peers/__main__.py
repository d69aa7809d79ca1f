"""How do Debezium's connector, Cassandra's own reader and cdc-tail do side by side on one live server?

One real Cassandra server with CDC (`tests/server`) and one real Kafka broker. Three questions, each for all readers:
how long is a row on its way and what does waiting cost (`live.py`), how fast is a backlog read (`backlog.py`), which
kinds of change are lost (`losses.py`). Debezium is tuned for speed (`debezium.py` says how). Spark beside Parquet is a
benchmark of its own, `spark_parquet.py`.

    python -m tests.benchmarks.peers events-32mib.tar.xz --keep
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.benchmarks.copied_log import copies
from tests.benchmarks.measured import compile_ahead, define, medians, unpacked
from tests.benchmarks.peers import backlog, debezium, live, losses
from tests.benchmarks.peers.figures import figures
from tests.benchmarks.peers.readers import Bench
from tests.benchmarks.script import Begun, perf_parser, publish
from tests.helpers import kafka_broker
from tests.server import harness, library

NAME = "peers"
QUESTION = "How do Debezium's connector, Cassandra's own reader and cdc-tail do side by side on one live server?"
TARGETS = {"p50_to_debezium": 1.0, "lost": 0}
MEASURED = (
    "delay: from the first sidecar that vouches for the row (inotify, a process of its own) to the row in a consumer "
    "in Python, by a pipe, in the same process, by Kafka; rows come one at a time, 20 to 60 ms apart, with "
    "commitlog_sync_period 10 ms. CPU: percent of a core"
)
KEYSPACE, TABLE = "peers", "live"
ALONE = (("follow",), ("python",), ("debezium",))
TOGETHER = ("follow", "python", "debezium")
SETTINGS = {"commitlog_sync_period": "10ms", "commitlog_segment_size": "32MiB", "cdc_total_space": "8GiB"}


def missing() -> str | None:
    """Why this cannot be measured here, or None."""
    for program in (harness, kafka_broker, debezium):
        if reason := program.available():
            return reason
    return None


def run(perf: Path, table: str, repeat: int, rows: int, idle: float, count: int, changes: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compile_ahead()
    with ExitStack() as ends:
        parent = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="cdc-tail-peers-")))
        node = harness.Node(parent / "node", SETTINGS, heap="2g")
        broker = kafka_broker.Broker(parent / "kafka")
        for program in (node, broker):
            ends.callback(program.kill)
            program.start()
        bench = Bench(node, broker, parent, KEYSPACE, TABLE)
        session = ends.enter_context(node.session())
        delays = _live(bench, session, repeat, rows, idle)
        taken = _backlog(bench, session, perf, table, repeat, count) if count else {}
        lost = losses.losses(bench, session, changes)
    return begun.result(
        measured=MEASURED,
        versions={"cassandra": library.VERSION, "kafka": kafka_broker.VERSION, "debezium": debezium.VERSION},
        debezium_settings={"live": debezium.TUNED, "backlog": debezium.FOR_A_BACKLOG},
        rows=rows,
        live={name: medians(runs) for name, runs in delays.items()},
        losses=lost,
        figures=list(figures(delays, taken, lost)),
        runs={"live": delays, "backlog": taken},
    )


def _live(bench: Bench, session: Any, repeat: int, rows: int, idle: float) -> dict[str, list[dict[str, Any]]]:
    """By who ran: what each reader showed, a round after the other."""
    session.execute(
        f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    )
    session.execute(f"CREATE TABLE {KEYSPACE}.{TABLE} (seq int PRIMARY KEY, body text) WITH cdc = true")
    bench.make_topic()
    out = bench.parent / "sidecars.txt"
    with live.sidecars(bench, out):
        writer = live.Writer(session, bench)
        writer.write(1)
        ran = [
            ("alone" if len(names) == 1 else "together", live.run(bench, writer, names, rows, idle, seed))
            for seed in range(repeat)
            for names in (*ALONE, TOGETHER)
        ]
        where = live.places(bench, bench.parent)
    promised = live.read_sidecars(out)
    found: dict[str, list[dict[str, Any]]] = {}
    for how, each in ran:
        for name, told in live.delays(each, where, promised).items():
            found.setdefault(f"{name}, {how}", []).append(told)
    return found


def _backlog(
    bench: Bench, session: Any, perf: Path, table: str, repeat: int, count: int
) -> dict[str, list[dict[str, Any]]]:
    """By reader: what it took, a round after the other."""
    plain = unpacked(perf, bench.parent / "perf")
    folder = bench.parent / "backlog" / "cdc_raw"
    copies(plain, folder, count)
    define(session, plain)
    bench.make_topic(table)
    expected = sum(bench.node.time(log, 1)[0][0] for log in folder.glob("CommitLog-*.log"))
    readings = backlog.readings(bench, folder, plain / "schema.cql", table, expected)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in readings}
    for _ in range(repeat):
        for name, read in readings.items():
            found[name].append(read().told())
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = perf_parser(NAME, QUESTION, 3)
    parser.add_argument("--rows", type=int, default=300, help="live rows of each run (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=10.0, help="idle seconds of each run (default: %(default)s)")
    parser.add_argument("--copies", type=int, default=4, help="segments of the backlog; 0: none (default: %(default)s)")
    parser.add_argument("--changes", type=int, default=100, help="of each kind (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    if reason := missing():
        sys.stderr.write(f"{NAME}: not measured: {reason}\n")
        return 0
    made = run(chosen.perf, chosen.table, chosen.repeat, chosen.rows, chosen.idle, chosen.copies, chosen.changes)
    publish(made, chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
