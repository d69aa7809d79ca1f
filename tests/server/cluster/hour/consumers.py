"""The consumers of the hour: `cdc-tail follow` of all nodes, each a process of its own.

Two keep tables (SQLite, PostgreSQL) and are kept up; one writes row images into data files and lags by minutes; one
writes the logs' rows into data files, for the checks. A consumer that ends by itself is a failure; it is started again,
as a service manager would. Knows no workload.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.cli import ROOT, program
from tests.server.cluster.cluster import Cluster
from tests.server.cluster.hour.tables import KEYSPACE

STOP_SECONDS = 90.0
RESTART_SECONDS = 10.0
TAIL = 1500
INTO = "{keyspace}_{table}"


@dataclass(frozen=True)
class Ended:
    """A consumer that ended though nobody stopped it, or that did not end well when it was stopped."""

    consumer: str
    at: float
    code: int
    errors: str


class Consumer:
    """One process; `kills`: how often it was killed. For several threads."""

    def __init__(self, name: str, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.kills = 0
        self.ends: list[Ended] = []
        self._command = program(words)
        self._errors = folder / f"{name}.stderr"
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._next_start = 0.0
        self._mark = 0

    @property
    def running(self) -> bool:
        with self._lock:
            return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        with self._lock:
            if self._process is not None:
                return
            with self._errors.open("ab") as errors:
                errors.write(f"--- {time.strftime('%H:%M:%S')} started\n".encode())
                errors.flush()
                self._mark = errors.tell()
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    env=self._environment,
                    start_new_session=True,
                )

    def kill(self) -> bool:
        """`kill -9` of all its processes, then started again; False if it did not run."""
        with self._lock:
            if not self.running:
                return False
            process, self._process = self._process, None
            assert process is not None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.kills += 1
            self.start()
            return True

    def stop(self) -> None:
        """SIGTERM; it has to end with 0."""
        with self._lock:
            self.look_after(restart=False)
            process, self._process = self._process, None
            if process is None:
                return
            process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
            if code != 0:
                self._note(code)

    def look_after(self, *, restart: bool = True) -> None:
        """Notes an end that nobody asked for, and starts the consumer again some seconds later."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                process, self._process = self._process, None
                self._note(process.returncode)
                self._next_start = time.monotonic() + RESTART_SECONDS if restart else 0.0
            if restart and self._next_start and time.monotonic() >= self._next_start:
                self._next_start = 0.0
                self.start()

    def rest(self) -> None:
        """Stopped until `start`; it is not started again meanwhile."""
        with self._lock:
            self.stop()
            self._next_start = 0.0

    def _note(self, code: int) -> None:
        with self._errors.open("rb") as errors:
            errors.seek(self._mark)
            told = errors.read().decode(errors="replace")
        self.ends.append(Ended(self.name, time.time(), code, told[-TAIL:]))


class Consumers:
    """All of them. `database`: the PostgreSQL database's URL and its password."""

    def __init__(self, folder: Path, cluster: Cluster, database: tuple[str, str], snapshot_settle: float) -> None:
        logs = ",".join(f"{node.name}={node.cdc_raw}" for node in cluster.nodes.values())
        servers = ",".join(f"{node.name}={node.address}:{node.cql_port}" for node in cluster.nodes.values())
        common = ["follow", logs, "--table", f"{KEYSPACE}.*", "--server", servers]
        images = ["--image", "both", "--from", "snapshot", "--snapshot-settle", str(int(snapshot_settle))]
        kept = [*images, "--mode", "table", "--into", INTO]

        def made(name: str, words: Sequence[str], **environment: str) -> Consumer:
            return Consumer(name, [*common, "--consumer", name, *words], folder, environment)

        self.sqlite = made("sqlite", [*kept, "--to", f"sqlite:{folder / 'kept.db'}"])
        self.postgresql = made("postgresql", [*kept, "--to", database[0]], PGPASSWORD=database[1])
        self.lagging = made("lagging", [*images, "--to", f"files:{folder / 'images'}", "--roll-seconds", "5"])
        self.rows = made("rows", ["--schema-changes", "--to", f"files:{folder / 'rows'}", "--roll-seconds", "5"])

    @property
    def all(self) -> list[Consumer]:
        return [self.sqlite, self.postgresql, self.lagging, self.rows]

    def start(self) -> None:
        for consumer in self.all:
            consumer.start()

    def look_after(self) -> None:
        for consumer in self.all:
            consumer.look_after()

    def stop(self) -> None:
        for consumer in self.all:
            consumer.rest()

    def ends(self) -> list[Ended]:
        return sorted((end for consumer in self.all for end in consumer.ends), key=lambda end: end.at)
