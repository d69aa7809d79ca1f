"""The process that writes the log of a soak, and what its rows are.

    python -m tests.spark.soak.workload PARENT      # writes PARENT/cdc_raw until its standard input ends

Prints how many rows it wrote. Row `n` of the workload is a function of `n`: what arrives is compared with that, and
with nothing that was decoded.
"""

from __future__ import annotations

import random
import select
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Self

from tests.helpers.cli import ROOT
from tests.helpers.log_writer import TS, create_payload, insert_payload, simple_table
from tests.helpers.logs.growing import GrowingLog

FIRST_SEGMENT = 1_700_000_000_001
TABLE = simple_table("soak", "rows")
GAP_SECONDS = (0.005, 0.04)
SECTIONS = 150
"""Of one segment."""


class Row(NamedTuple):
    """A change row of the workload as the generic form has it."""

    partition_key: str
    clustering: str
    columns: str
    write_ts: int


def row(number: int) -> Row:
    return Row(
        f'{{"pk":{number % 13}}}', f'{{"ck":"row {number:08}"}}', f'{{"v":{number * 7 % 1_000_003}}}', TS + number
    )


def mutation(number: int) -> bytes:
    """The same row as the log has it."""
    return insert_payload(TABLE, number % 13, f"row {number:08}", number * 7 % 1_000_003, TS + number)


def write(parent: Path, seed: int) -> int:
    """Write rows until standard input ends; how many."""
    log, chance, count = GrowingLog(parent, FIRST_SEGMENT), random.Random(seed), 0
    log.section([create_payload(TABLE)])
    log.publish()
    while True:
        for _ in range(SECTIONS):
            rows = chance.choice((0, 1, 1, 1, 2, 3, 8))
            log.section(map(mutation, range(count, count + rows)))
            count += rows
            log.publish()
            if select.select([sys.stdin], [], [], chance.uniform(*GAP_SECONDS))[0]:
                log.finish()
                return count
        log.roll_over()


class Writer:
    """That process."""

    def __init__(self, parent: Path) -> None:
        self.folder = parent / "cdc_raw"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.soak.workload", str(parent)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def stop(self) -> int:
        """How many rows there are; all of them are promised, and the last segment is finished."""
        told = self._process.communicate("", timeout=60)[0]
        assert self._process.returncode == 0
        return int(told)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    sys.stdout.write(f"{write(Path(sys.argv[1]), seed=9)}\n")
