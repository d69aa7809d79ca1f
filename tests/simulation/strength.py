"""How soon injected faults are found: `python -m tests.simulation.strength RESULTS [--drawn FIRST LAST] [NAME …]`.

Each is tried with histories from random seeds until one fails, or for ten minutes of CPU. Results are kept as JSON;
what has one is not tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

CPU_SECONDS: Final = 600
_SHARE: Final = {"node": 0.8, "service": 0.2}
"""Of the time, by who writes the log."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.strength", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--drawn", nargs=2, type=int, default=(0, 0), metavar=("FIRST", "LAST"))
    parser.add_argument("--cpu", type=float, default=CPU_SECONDS)
    given = parser.parse_args()
    first, last = given.drawn
    names = [*given.names, *map(str, range(first, last))]
    results: dict[str, Any] = json.loads(given.results.read_text()) if given.results.exists() else {}
    for name in names:
        if name not in results:
            results[name] = _tried(name, given.cpu)
            given.results.write_text(json.dumps(results, indent=1))
        print(name, results[name], flush=True)
    found = sum(results[name]["found"] is not None for name in names)
    print(f"{found} of {len(names)} found")
    return 0


def _tried(name: str, cpu: float) -> dict[str, Any]:
    spent, fault = 0.0, ""
    for source, share in _SHARE.items():
        command = [sys.executable, "-m", "tests.simulation", "--fault", name, "--first", "--histories", "100000"]
        command += ["--source", source, "--operations", "200", "--cpu", str(share * cpu), "--seed", "1000000"]
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        fault = next(iter(re.findall(r"^fault: (.*)", ran.stdout, re.MULTILINE)), fault)
        told = re.search(r"([0-9.]+) s of CPU", ran.stdout)
        spent += float(told[1]) if told else 0.0
        if ran.returncode:
            lines = (ran.stdout + ran.stderr).strip().splitlines()
            said = next((line for line in lines if line.startswith("seed ") and " steps, " not in line), lines[-1])
            return {"fault": fault, "found": said[:400], "source": source, "cpu": spent}
    return {"fault": fault, "found": None, "cpu": spent}


if __name__ == "__main__":
    sys.exit(main())
