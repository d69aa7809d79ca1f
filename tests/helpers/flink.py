"""Apache Flink from PyPI in an environment of its own, for it pins pyarrow, pandas and py4j: made once, in the cache.

`python -m tests.helpers.flink` makes it.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers.jvm.jars import Unavailable, cache

VERSION = "2.2.0"
MAKE_SECONDS = 900
RUN_SECONDS = 240

_RUN = Path(__file__).with_name("flink_query.py")


@functools.cache
def python() -> Path:
    """The environment's interpreter; raises Unavailable where there is none and PyPI has none."""
    folder = cache() / "flink" / f"{VERSION}-{sys.version_info.major}.{sys.version_info.minor}"
    made = folder / "made"
    if not made.exists():
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        _run([str(folder / "bin" / "pip"), "install", "--quiet", f"apache-flink=={VERSION}"])
        made.touch()
    return folder / "bin" / "python"


def available() -> str | None:
    """Why Flink cannot run here, or None."""
    try:
        python()
    except Unavailable as reason:
        return str(reason)
    return None


def query(columns: str, folder: Path, sql: str, **options: str) -> list[list[Any]]:
    """What Flink's `debezium-json` makes of the files of a folder: the rows that `sql` gives of the table `t`.

    Each begins with its kind (`+I`, `-U`, `+U`, `-D`). `columns`: of `t`, as Flink's DDL has them; `options`: of the
    format. AssertionError with what Flink said where it refuses.
    """
    job = json.dumps({"columns": columns, "path": folder.as_uri(), "sql": sql, "options": options})
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FLINK_HOME")}
    command = [str(python()), str(_RUN), job]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, env=environment)
    assert done.returncode == 0, done.stderr[-20_000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"no environment for Flink: {error}") from None
    if done.returncode:
        raise Unavailable(f"no environment for Flink: {done.stderr.strip()[-400:]}")


if __name__ == "__main__":
    print(python())
