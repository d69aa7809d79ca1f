"""How do Debezium's connector, Cassandra's own reader and cdc-tail do side by side on one live server?

One real Cassandra server with CDC (`tests/server`) and one real Kafka broker. Three questions, each for all readers:
how long is a row on its way and what does waiting cost (`live.py`), how fast is a backlog read (`backlog.py`), which
kinds of change are lost (`losses.py`). Debezium is tuned for speed (`debezium.py` says how). Spark beside Parquet is a
benchmark of its own, `spark_parquet.py`.

    python -m tests.benchmarks.peers events-32mib.tar.xz --keep
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.measured import compile_ahead, medians
from tests.benchmarks.peers import backlog, debezium, losses
from tests.benchmarks.peers.figures import figures
from tests.benchmarks.peers.readers import Bench
from tests.benchmarks.peers.runs import VERSIONS, Runs, live_rows, make_backlog, missing, servers
from tests.benchmarks.script import Begun, perf_parser, publish

NAME = "peers"
QUESTION = "How do Debezium's connector, Cassandra's own reader and cdc-tail do side by side on one live server?"
TARGETS = {"p50_to_debezium": 1.0, "lost": 0}
MEASURED = (
    "delay: from the first sidecar that vouches for the row (inotify, a process of its own) to the row in a consumer "
    "in Python, by a pipe, in the same process, by Kafka; rows come one at a time, 20 to 60 ms apart, with "
    "commitlog_sync_period 10 ms. CPU: percent of a core"
)
ALONE = (("follow",), ("python",), ("debezium",))
TOGETHER = ("follow", "python", "debezium")


def run(perf: Path, table: str, repeat: int, rows: int, idle: float, count: int, changes: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compile_ahead()
    with servers(NAME) as (bench, session):
        delays = live_rows(bench, session, repeat, rows, idle, (*ALONE, TOGETHER))
        taken = _backlog(bench, session, perf, table, repeat, count) if count else {}
        lost = losses.losses(bench, session, changes)
    return begun.result(
        measured=MEASURED,
        versions=VERSIONS,
        debezium_settings={"live": debezium.TUNED, "backlog": debezium.FOR_A_BACKLOG},
        rows=rows,
        live={name: medians(runs) for name, runs in delays.items()},
        losses=lost,
        figures=list(figures(delays, taken, lost)),
        runs={"live": delays, "backlog": taken},
    )


def _backlog(bench: Bench, session: Any, perf: Path, table: str, repeat: int, count: int) -> Runs:
    """By reader: what it took, a round after the other."""
    made = make_backlog(bench, session, perf, table, count)
    readings = backlog.readings(bench, made.folder, made.schema, table, made.rows)
    found: Runs = {name: [] for name in readings}
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
