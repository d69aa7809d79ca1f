"""A log that grows on and on beside a test, as a server's does that nobody asks whether anybody reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.log_writer import create_payload, insert_payload
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.logs.model import Table

FIRST_SEGMENT = 1_700_000_000_001
GAP_SECONDS = 0.02
IN_SEGMENT = 100
KEYS = 7


class Steady:
    """Its folder, and how many rows are promised by now: `v` counts them from 0, in `KEYS` partition keys in turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = 0

    def await_rows(self, count: int) -> None:
        """Returns when so many more are there."""
        until = self.rows + count
        while self.rows < until:
            time.sleep(GAP_SECONDS)


@contextmanager
def steady_log(parent: Path, table: Table) -> Iterator[Steady]:
    """It grows as long as the block lasts; behind it the last segment is finished."""
    log = GrowingLog(parent, FIRST_SEGMENT)
    found, stop = Steady(log.folder), threading.Event()

    def write() -> None:
        log.section([create_payload(table)])
        log.publish()
        while not stop.wait(GAP_SECONDS):
            if found.rows and not found.rows % IN_SEGMENT:
                log.roll_over()
            log.section([insert_payload(table, found.rows % KEYS, f"c{found.rows}", found.rows)])
            log.publish()
            found.rows += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()
        log.finish()
