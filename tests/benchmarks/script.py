"""A benchmark as a script: its options, what every result says beside its numbers, and where results are kept."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.benchmarks.measured import CORES, ROOT

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("cdc-tail", "numpy", "pyarrow", "numba", "cramjam", "msgspec", "inotify-simple", "typer", "psutil")


class Begun:
    """A measurement, made before its first round: what it asks, where, and in how many rounds. `read`: the log that was
    given."""

    def __init__(
        self, name: str, question: str, targets: Mapping[str, Any], repeat: int, read: Path | None = None
    ) -> None:
        self._before = {"name": name, "question": question, **_facts()}
        self._asked = {**({} if read is None else {"read": read.name}), "repeat": repeat, "targets": targets}

    def result(self, **more: Any) -> dict[str, Any]:
        """What a script prints and keeps."""
        return {**self._before, "load_after": [round(load, 2) for load in os.getloadavg()], **self._asked, **more}


def script_parser(name: str, question: str, repeat: int | None = None) -> argparse.ArgumentParser:
    """The options of a script; `repeat` rounds unless told, where it has such."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.benchmarks.{name}", description=question)
    if repeat is not None:
        parser.add_argument("--repeat", type=int, default=repeat, help="rounds (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="store the result in tests/benchmarks/results/")
    return parser


def perf_parser(name: str, question: str, repeat: int) -> argparse.ArgumentParser:
    """Those of a script that reads the perf segment, and which one."""
    parser = script_parser(name, question, repeat)
    parser.add_argument("perf", type=Path, help="archive (.tar.xz) or folder with the segment, its sidecar, schema.cql")
    parser.add_argument("--table", default="perf.events", help="its table, for the typed form (default: %(default)s)")
    return parser


def publish(result: Mapping[str, Any], keep: bool) -> None:
    """Print the result, and with `keep` store it as `results/NAME.json`."""
    text = json.dumps(result, indent=1) + "\n"
    sys.stdout.write(text)
    if keep:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{result['name']}.json").write_text(text)


def published(
    parser: argparse.ArgumentParser, run: Callable[..., Mapping[str, Any]], words: Sequence[str] | None
) -> int:
    """A script whose `run` takes its words as they are called."""
    chosen = vars(parser.parse_args(words))
    keep = chosen.pop("keep")
    publish(run(**chosen), keep)
    return 0


def _facts() -> dict[str, Any]:
    """Where and with what something was measured. Load: of the last minute, five, fifteen, when this is called."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": {
            "cores": len(CORES),
            "cpu": _cpu(),
            "kernel": platform.release(),
            "load": [round(load, 2) for load in os.getloadavg()],
        },
    }


def _commit() -> str | None:
    """The commit checked out, with `+` if files were changed since; None outside a clone."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)
