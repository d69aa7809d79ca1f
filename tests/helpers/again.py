"""Work that is done again and again beside a test, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def again(work: Callable[[], None], seconds: float, name: str) -> Iterator[None]:
    """As long as the block lasts, with so many seconds in between. What it fails with is raised at the block's end."""
    ended, failures = threading.Event(), list[Exception]()

    def run() -> None:
        try:
            while not ended.wait(seconds):
                work()
        except Exception as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, name=name)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]
