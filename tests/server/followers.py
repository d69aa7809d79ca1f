"""What reads the live log beside the server: each gives rows in the form of `--output json`.

A follower starts on an empty log, lives through the whole run, is paused and resumed where the run says so (one that
does not do that ignores it), and is stopped at the end. What goes wrong it collects, so that the run goes on for the
others.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import pyarrow.parquet

END_SECONDS = 60
JSON_COLUMNS = {"partition_key", "clustering", "columns", "range", "cells", "attrs"}


class LogFollower(Protocol):
    """Reads `cdc_raw` from `start` to `stop`. `failures`: everything that must not have happened."""

    name: str
    failures: list[str]

    def start(self, cdc_raw: Path, work: Path) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def rows(self) -> list[str]:
        """All rows given so far, whole lines."""
        ...

    def stop(self) -> None: ...


class CommandFollower:
    """`cdc-tail follow --consumer` in a process of its own; with `interrupted`, ended by SIGTERM at each pause."""

    def __init__(self, name: str, *, interrupted: bool) -> None:
        self.name = name
        self.failures: list[str] = []
        self._interrupted = interrupted
        self._process: subprocess.Popen[bytes] | None = None
        self._how: Mapping[str, Any] = {}
        """What `subprocess` is given besides, where the process is somebody else's."""

        self._given: list[str] = []
        self._taken = 0

    @property
    def running(self) -> bool:
        self._look_after()
        return self._process is not None

    def start(self, cdc_raw: Path, work: Path) -> None:
        self._command = [sys.executable, "-c", "from tailer.cli.app import run; run()", *self.arguments(cdc_raw, work)]
        self._out = work / f"{self.name}.jsonl"
        self._errors = work / f"{self.name}.stderr"
        self._run()

    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        return ["follow", str(cdc_raw), "--output", "json", "--consumer", self.name]

    def pause(self) -> None:
        if self._interrupted:
            self._end()

    def resume(self) -> None:
        if self._interrupted:
            self._run()

    def rows(self) -> list[str]:
        self._look_after()
        with self._out.open("rb") as out:
            out.seek(self._taken)
            whole, newline, _ = out.read().rpartition(b"\n")
        self._taken += len(whole + newline)
        self._given += (whole + newline).decode().splitlines()
        return list(self._given)

    def stop(self) -> None:
        self._end()

    def read_out(self) -> None:
        """Stops, and reads what is left of a log that nobody writes any more."""
        self._end()
        with self._out.open("ab") as out, self._errors.open("ab") as errors:
            command = [*self._command, "--once", "--stopped"]
            code = subprocess.run(command, stdout=out, stderr=errors, check=False, timeout=END_SECONDS).returncode
        if code != 0:
            self._failed("by itself", code)

    def _look_after(self) -> None:
        process = self._process
        if process is not None and process.poll() is not None:
            self._end()

    def _run(self) -> None:
        with self._out.open("ab") as out, self._errors.open("ab") as errors:
            self._process = subprocess.Popen(self._command, stdout=out, stderr=errors, **self._how)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _await_handler(process)
        by_itself = process.poll() is not None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        if by_itself or code != 0:
            how = "by itself" if by_itself else "after SIGTERM"
            self._failed(how, code)

    def _failed(self, how: str, code: int) -> None:
        self.failures.append(f"ended {how} with {code}: {self._errors.read_text(errors='replace')[-4000:]}")


def _await_handler(process: subprocess.Popen[bytes]) -> None:
    """Until a process handles SIGTERM: beside several servers, Python may take long to start."""
    status = Path(f"/proc/{process.pid}/status")
    deadline = time.monotonic() + END_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        caught = next((line for line in status.read_text().splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
        if int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.05)


class SparkFollower(CommandFollower):
    """`cdc-tail stream --to parquet`: a Spark query. Its rows are those of the files that the query has committed."""

    def __init__(self, name: str) -> None:
        super().__init__(name, interrupted=False)

    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        self._folder = work / self.name
        return ["stream", str(cdc_raw), "--to", "parquet", "--path", str(self._folder), "--consumer", self.name]

    def rows(self) -> list[str]:
        self._look_after()
        lines: list[str] = []
        for file in self._committed():
            table = pyarrow.parquet.ParquetFile(file).read()
            lines += [_line(row) for row in table.to_pylist()]
        return lines

    def _committed(self) -> list[Path]:
        """By micro-batch, then by partition, as Spark's own log of the sink tells."""
        found: dict[str, int] = {}
        for log in (self._folder / "_spark_metadata").glob("[0-9]*"):
            number, _, _ = log.name.partition(".")
            for line in log.read_text().splitlines()[1:]:
                path = unquote(urlparse(json.loads(line)["path"]).path)
                # A compacted log repeats the files of earlier batches under its own number.
                found[path] = min(int(number), found.get(path, int(number)))
        return [Path(path) for path in sorted(found, key=lambda path: (found[path], Path(path).name))]


def _line(row: dict[str, object]) -> str:
    """The row as `--output json` writes it."""
    texts = [
        f"{json.dumps(name)}:{value}"
        if name in JSON_COLUMNS and value is not None
        else f"{json.dumps(name)}:{json.dumps(value, ensure_ascii=False)}"
        for name, value in row.items()
    ]
    return "{" + ",".join(texts) + "}"
