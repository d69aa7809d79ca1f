"""What a task has to say that is no error: a line in its executor's log. Knows nothing else."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Say it. The executor's log is the standard error of its Python."""
    sys.stderr.write(f"cdc_tail: {line}\n")
