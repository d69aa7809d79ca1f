"""The consumers of a history: real `cdc-tail` processes, each with a name of its own in the node's state folder.

A consumer that ends by itself is started again some times; each such end is kept with the step in which it was seen.
Knows the command line, and nothing of what a history consists of.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.helpers.cli import ROOT

COMMAND = (sys.executable, "-c", "from tailer.cli.app import run; run()")
BEGIN_SECONDS = 60
END_SECONDS = 60
ONCE_SECONDS = 900
SPARK_SECONDS = 1800
SPARK_PYTHON = ROOT / os.environ.get("OLDEST", ".venv-spark40") / "bin" / "python"
"""Of the environment that has `delta-spark` (the Makefile makes it)."""
_BEGINS_AT = re.compile(r"--from (\d+):(\d+)")
MOST_STARTS = 4
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "CDC_TAIL_DEBUG": "1"}


@dataclass(frozen=True)
class End:
    """A consumer that ended although nobody ended it, or with an error."""

    consumer: str
    step: int
    code: int
    text: str

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class Consumer:
    """One name. `kind`: rows, images, sqlite, postgresql, duckdb. `life`: caught-up, lagging, restarted, snapshot."""

    def __init__(
        self, name: str, kind: str, life: str, words: Sequence[str], work: Path, environment: Mapping[str, str]
    ) -> None:
        self.name, self.kind, self.life = name, kind, life
        self.ends: list[End] = []
        self.out = work / f"{name}.jsonl"
        self.errors = work / f"{name}.stderr"
        self.more: list[str] = []
        """Options that came later: what an error's remedy named."""
        self._words = [*words, "--consumer", name]
        self._environment = {**os.environ, **ENVIRONMENT, **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0

    @property
    def given_up(self) -> bool:
        return len(self.ends) >= MOST_STARTS

    @property
    def running(self) -> bool:
        return self._process is not None

    def put_aside(self) -> set[tuple[str, int, int]]:
        """Node, segment and offset of the entries that it has put into quarantine."""
        files = self.out.parent.rglob(f"quarantine/{self.name}.jsonl")
        entries = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return {(entry["node"], entry["segment"], entry["offset"]) for entry in entries}

    def start(self) -> None:
        with self.out.open("ab") as out, self.errors.open("ab") as errors:
            self._process = subprocess.Popen(self._command(), stdout=out, stderr=errors, env=self._environment)

    def look_after(self, step: int) -> End | None:
        """Whether it has ended by itself since; it runs again then, unless it has done so too often."""
        process = self._process
        if process is None or process.poll() is None:
            return None
        self._process = None
        return self._ended(step, process.returncode)

    def stop(self, step: int) -> End | None:
        """SIGTERM, and the end awaited; an end that was none of ours."""
        process, self._process = self._process, None
        if process is None:
            return None
        early = process.poll() is not None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        return self._ended(step, code) if early or code != 0 else None

    def await_begun(self, folders: Sequence[Path]) -> None:
        """Until it has a position in each of these state folders, or has ended."""
        deadline = time.monotonic() + BEGIN_SECONDS
        places = [folder / "consumers" / f"{self.name}.json" for folder in folders]
        while not all(place.exists() for place in places) and time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                return
            time.sleep(0.2)

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def once(self, step: int, *more: str) -> End | None:
        """All that is there now."""
        with self.out.open("ab") as out, self.errors.open("ab") as errors:
            command = [*self._command(), "--once", *more]
            try:
                code = subprocess.run(
                    command, stdout=out, stderr=errors, env=self._environment, timeout=ONCE_SECONDS, check=False
                ).returncode
            except subprocess.TimeoutExpired:
                code = -1
        return self._ended(step, code) if code != 0 else None

    def lines(self) -> list[str]:
        """Whole lines of standard output."""
        if not self.out.exists():
            return []
        whole, _, _ = self.out.read_text().rpartition("\n")
        return whole.splitlines()

    def said(self) -> str:
        """All of standard error since the last call."""
        if not self.errors.exists():
            return ""
        text = self.errors.read_text(errors="replace")
        new, self._read = text[self._read :], len(text)
        return new

    def _command(self) -> list[str]:
        return [*COMMAND, *self._words, *self.more]

    def _ended(self, step: int, code: int) -> End:
        end = End(self.name, step, code, self.said().strip()[-3000:])
        self.ends.append(end)
        return end


@dataclass(frozen=True)
class Source:
    """The log that consumers read: `path` as the command takes it, the servers (None: without), more options."""

    path: str
    servers: str | None
    more: tuple[str, ...] = ()

    @property
    def states(self) -> list[Path]:
        """The state folders of the nodes."""
        return [Path(part.rpartition("=")[2] + ".cdc_tail") for part in self.path.split(",")]

    def each(self) -> list[tuple[str, Source]]:
        """The log of each node by itself, with the node's name."""
        if "=" not in self.path:
            return [("local", self)]
        servers = dict(part.split("=", 1) for part in (self.servers or "").split(",") if part)
        parts = [(part.partition("=")[0], part) for part in self.path.split(",")]
        return [(node, Source(part, f"{node}={servers[node]}" if servers else None, self.more)) for node, part in parts]

    def words(self) -> list[str]:
        server = ["--server", self.servers] if self.servers else []
        return ["follow", self.path, *server, *self.more]


@dataclass(frozen=True)
class Targets:
    """Where tables are kept: a folder for files, and a PostgreSQL server's URL and password (None: no PostgreSQL)."""

    folder: Path
    postgresql: str | None
    password: str = ""

    def to(self, kind: str, name: str) -> str:
        if kind == "postgresql":
            return str(self.postgresql)
        return f"{kind}:{self.folder / name}.{kind}"


def made(name: str, kind: str, life: str, source: Source, targets: Targets, work: Path) -> Consumer:
    """A consumer of all captured tables."""
    words = source.words()
    if kind == "rows":
        words += ["--output", "json"]
    elif kind == "images":
        words += ["--image", "both", "--output", "json"]
    else:
        into = name + "_{keyspace}_{table}" if kind == "postgresql" else "{keyspace}_{table}"
        words += ["--image", "after", "--to", targets.to(kind, name), "--mode", "table", "--into", into]
    if life == "snapshot":
        words += ["--from", "snapshot", "--snapshot-settle", "2"]
    return Consumer(name, kind, life, words, work, {"PGPASSWORD": targets.password})


Typed = tuple[int, dict[str, tuple[int, int]], list[dict[str, object]], str]
"""Exit code, by node the position where reading began, rows, what was said."""


def typed_rows(source: Source, table: str) -> Typed:
    """All rows of one table in its own columns, of each node by itself. Where they cannot be in one form, an error
    names a position from which they are: from there on, then."""
    begins: dict[str, tuple[int, int]] = {}
    rows: list[dict[str, object]] = []
    for node, log in source.each():
        words = [*log.words(), "--once", "--typed", table, "--on-schema-change", "ignore", "--output", "json"]
        begins[node] = (0, 0)
        for _ in range(MOST_STARTS):
            segment, offset = begins[node]
            more = ["--from", f"{segment}:{offset}"] if segment else []
            ran = subprocess.run(
                [*COMMAND, *words, *more], capture_output=True, text=True, timeout=ONCE_SECONDS, check=False,
                env={**os.environ, **ENVIRONMENT},
            )  # fmt: skip
            named = _BEGINS_AT.search(ran.stderr) if ran.returncode == 3 else None
            if named is None:
                break
            begins[node] = (int(named[1]), int(named[2]))
        if ran.returncode != 0:
            return ran.returncode, begins, rows, ran.stderr.strip()[-3000:]
        rows += [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return 0, begins, rows, ""


def spark_rows(
    source: Source, images: Consumer, work: Path, what: str, tables: Sequence[str]
) -> list[dict[str, object]]:
    """Of each table and way its rows, or an error (`spark_tables.py`)."""
    folder = work / "spark"
    folder.mkdir(exist_ok=True)
    words = [source.path, str(images.out), str(folder), what, source.servers or "", *tables]
    with (work / "spark.stderr").open("ab") as errors:
        ran = subprocess.run(
            [str(SPARK_PYTHON), "-m", "tests.server.migrations.spark_tables", *words],
            stdout=subprocess.PIPE, stderr=errors, text=True, timeout=SPARK_SECONDS, check=True,
            env={**os.environ, **ENVIRONMENT},
        )  # fmt: skip
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
