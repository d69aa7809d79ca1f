"""Runs the command line as a user does: in this process, where that is enough, or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Result:
    """Exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Lines of standard output, cut at the line feed alone: JSON text may hold other separators raw."""
        return self.out.removesuffix("\n").split("\n") if self.out else []


def run_cli(arguments: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Result:
    """Run in this process: fast, and every warning is an error."""
    from tailer.cli.app import main

    out, err = io.BytesIO(), io.BytesIO()
    kept, environment = (sys.stdout, sys.stderr), dict(os.environ)
    sys.stdout, sys.stderr = _writer(out), _writer(err)
    os.environ.update(env or {})
    try:
        code = main([str(argument) for argument in arguments])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        # detach: the wrappers must not close the buffers when they go
        sys.stdout.detach()
        sys.stderr.detach()
        sys.stdout, sys.stderr = kept
        os.environ.clear()
        os.environ.update(environment)
    return Result(code, out.getvalue().decode(), err.getvalue().decode())


def program(arguments: Sequence[str | Path], before: str = "") -> list[str]:
    """The words of a process of its own that runs the command as the console script does. `before`: Python that is run
    first."""
    return [sys.executable, "-c", f"{before}\nfrom tailer.cli.app import run; run()", *map(str, arguments)]


def run_process(
    arguments: Sequence[str | Path], env: Mapping[str, str] | None = None, timeout: float = 120, before: str = ""
) -> Result:
    """Run in a process of its own; see `program`."""
    done = subprocess.run(
        program(arguments, before),
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def _writer(buffer: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(buffer, encoding="utf-8", newline="\n", write_through=True)
