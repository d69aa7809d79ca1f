"""What every result says beside its numbers: versions, machine, load; and how a result is summed up and kept."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[2]
PACKAGES = ("cdc-tail", "numpy", "msgspec", "inotify-simple", "typer", "psutil")


def facts() -> dict[str, Any]:
    """Where and with what something was measured. Load: of the last minute, five, fifteen, when this is called."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "cpu": _cpu(),
            "kernel": platform.release(),
            "load": [round(load, 2) for load in os.getloadavg()],
        },
    }


def commit() -> str | None:
    """The commit checked out, with `+` if files were changed since; None outside a clone."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """In milliseconds. p99 is the smallest value that 99 % of the values do not exceed."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    values = {
        "p50": statistics.median(ordered),
        "p90": ordered[min(last, -(-len(ordered) * 90 // 100) - 1)],
        "p99": ordered[min(last, -(-len(ordered) * 99 // 100) - 1)],
        "max": ordered[-1],
    }
    return {name: round(value * 1000, 3) for name, value in values.items()}


def medians(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The median over the runs of every number in them, in the same shape."""
    merged: dict[str, Any] = {}
    for key, value in runs[0].items():
        if isinstance(value, Mapping):
            merged[key] = medians([run[key] for run in runs])
        elif isinstance(value, int | float):
            merged[key] = round(statistics.median(run[key] for run in runs), 4)
    return merged


def publish(result: Mapping[str, Any], keep: bool) -> None:
    """Print the result, and with `keep` store it as `results/NAME.json`."""
    text = json.dumps(result, indent=1) + "\n"
    sys.stdout.write(text)
    if keep:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{result['name']}.json").write_text(text)


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
