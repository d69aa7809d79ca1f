"""A process that may open only so many files more."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def few_files(left: int) -> Iterator[None]:
    """As long as this lasts, this process may open `left` files more, and no others."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    newest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    held: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (newest + 1 + left, hard))
        _fill(held)
        for _ in range(left):
            os.close(held.pop())
        yield
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _fill(held: list[int]) -> None:
    while True:
        try:
            held.append(os.open("/", os.O_PATH))
        except OSError:
            return
