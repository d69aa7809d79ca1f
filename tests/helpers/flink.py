"""Apache Flink from PyPI in an environment of its own, for it pins pyarrow, pandas and py4j: made once, in the cache.

`python -m tests.helpers.flink` makes it.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.helpers.jvm.jars import Unavailable, cache, lacking

VERSION = "2.2.0"
MAKE_SECONDS = 900
RUN_SECONDS = 600
QUERY_SECONDS = 20
"""Besides, for each query."""

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
    return lacking(python)


class Query(NamedTuple):
    """A table `t` over the files of a folder, with these columns (as Flink's DDL has them) and options of the format
    `debezium-json`; what is asked of it, and under which settings of Flink's."""

    columns: str
    folder: Path
    sql: str
    options: Mapping[str, str] = MappingProxyType({})
    settings: Mapping[str, str] = MappingProxyType({})


def ask(queries: Sequence[Query]) -> list[list[list[Any]] | str]:
    """What Flink makes of each: rows that begin with their kind (`+I`, `-U`, `+U`, `-D`), or what it said instead.

    One process for all: it takes longer to start than most queries.
    """
    jobs = [
        {
            **query._asdict(), "folder": query.folder.as_uri(), "options": dict(query.options),
            "settings": dict(query.settings),
        }
        for query in queries
    ]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FLINK_HOME")}
    command = [str(python()), str(_RUN), json.dumps(jobs)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=RUN_SECONDS + QUERY_SECONDS * len(queries), env=environment
    )
    assert done.returncode == 0, done.stderr[-20_000:]
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == len(queries), done.stdout[-20_000:]
    return [answer.get("error", answer["rows"]) for answer in answers]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"no environment for Flink: {error}") from None
    if done.returncode:
        raise Unavailable(f"no environment for Flink: {done.stderr.strip()[-400:]}")


if __name__ == "__main__":
    print(python())
