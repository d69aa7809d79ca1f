"""What the benchmarks on one live server share: the server and the broker, live rows for some readers, the backlog."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.copied_log import copies
from tests.benchmarks.measured import define, unpacked
from tests.benchmarks.peers import debezium, live
from tests.benchmarks.peers.readers import Bench
from tests.helpers import kafka_broker
from tests.helpers.jvm.program import running
from tests.server import harness, library

KEYSPACE, TABLE = "peers", "live"
SETTINGS = {"commitlog_sync_period": "10ms", "commitlog_segment_size": "32MiB", "cdc_total_space": "8GiB"}
VERSIONS = {"cassandra": library.VERSION, "kafka": kafka_broker.VERSION, "debezium": debezium.VERSION}

Runs = dict[str, list[dict[str, Any]]]
"""By reader: what each round showed of it."""


def missing() -> str | None:
    """Why there can be no server, broker or connector here, or None."""
    for program in (harness, kafka_broker, debezium):
        if reason := program.available():
            return reason
    return None


@contextmanager
def servers(name: str, settings: Mapping[str, str] = SETTINGS, heap: str = "2g") -> Iterator[tuple[Bench, Any]]:
    """One server and one broker in a folder that goes with them, and a session with the server."""
    with ExitStack() as ends:
        parent = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix=f"cdc-tail-{name}-")))
        node = ends.enter_context(running(harness.Node(parent / "node", settings, heap=heap)))
        broker = ends.enter_context(running(kafka_broker.Broker(parent / "kafka")))
        yield Bench(node, broker, parent, KEYSPACE, TABLE), ends.enter_context(node.session())


def live_rows(
    bench: Bench, session: Any, repeat: int, rows: int, idle: float, readers: Sequence[Sequence[str]]
) -> Runs:
    """By who ran, alone or together: what each reader showed, a round after the other."""
    session.execute(
        f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    )
    session.execute(f"CREATE TABLE {KEYSPACE}.{TABLE} (seq int PRIMARY KEY, body text) WITH cdc = true")
    bench.make_topic(bench.topic)
    out = bench.parent / "sidecars.txt"
    with live.sidecars(bench, out):
        writer = live.Writer(session, bench)
        writer.write(1)
        ran = [
            ("alone" if len(names) == 1 else "together", live.run(bench, writer, names, rows, idle, seed))
            for seed in range(repeat)
            for names in readers
        ]
        where = live.places(bench, bench.parent)
    promised = live.read_sidecars(out)
    found: Runs = {}
    for how, each in ran:
        for name, told in live.delays(each, where, promised).items():
            found.setdefault(f"{name}, {how}", []).append(told)
    return found


class Backlog(NamedTuple):
    """Copies of the perf segment: their folder, the table's statements, how many rows."""

    folder: Path
    schema: Path
    rows: int


def make_backlog(bench: Bench, session: Any, perf: Path, table: str, count: int) -> Backlog:
    """The perf segment so many times; the server knows the table, and its topic is there."""
    plain = unpacked(perf, bench.parent / "perf")
    folder = bench.parent / "backlog" / "cdc_raw"
    copies(plain, folder, count)
    define(session, plain)
    bench.make_topic(f"{debezium.TOPICS}.{table}")
    rows = sum(bench.node.time(log, 1)[0][0] for log in folder.glob("CommitLog-*.log"))
    return Backlog(folder, plain / "schema.cql", rows)
