"""Makes a state folder to be kept, with a checkpoint: `python -m tests.install.keep_state FOLDER`.

Run once with each version whose forms differ from those before; what it made stands in `tests/install/kept/`, and every
later version must go on from there. The log that belongs to it is made by hand, the same each time.
"""

from __future__ import annotations

import json
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

from tailer.retention.clean import clean
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.spark.engine import Engine

FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")
UNKNOWN = simple_table("ks", "unknown", 2)

QUERY = {"onError": "quarantine"}
KEEPING = ("--once", "--output", "json", "--on-error", "quarantine")


def row(number: int) -> bytes:
    return insert_payload(TABLE, number, "a", number)


class Log:
    """Three segments: the definition and row 1; row 2 and an entry of a table that nobody knows; row 3, still open."""

    def __init__(self, path: Path) -> None:
        self.folder = LogFolder(path)
        self.first = segment_of(FIRST, [[create_payload(TABLE)], [row(1)]])
        self.second = segment_of(FIRST + 1, [[row(2)], [insert_payload(UNKNOWN, 9, "z", 9)]])
        self.third = segment_of(FIRST + 2, [[row(3)]])

    def finish(self, *numbers: int) -> None:
        """Put finished segments there: 1, 2."""
        for number in numbers:
            writer = (self.first, self.second)[number - 1]
            self.folder.put(writer, completed(writer))

    def grow(self, *numbers: int) -> None:
        """The third is there, with one more section for each number."""
        for number in numbers:
            self.third.section([row(number)])
        self.folder.put(self.third, live(self.third))


def make(path: Path) -> dict[str, object]:
    """A folder that a consumer and a query have read, the query's last batch logged and not done; the checkpoint."""
    log = Log(path)
    log.finish(1, 2)
    ran = run_cli(["follow", path, *KEEPING, "--consumer", "billing"])
    assert ran.code == 0, ran.err
    engine = Engine(path, QUERY)
    assert len(engine.available_now()) == 2
    log.grow()
    with engine.running(once=True) as planner:
        assert engine.log_next(planner)
    made = clean(path, clock=lambda: time.time() + 3600)
    assert [held.segment for held in made.logs] == [FIRST]
    return {"start": engine.start, "offsets": engine.offsets, "committed": engine.committed}


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = make(Path(folder) / "cdc_raw")
        state = Path(folder) / "cdc_raw.cdc_tail"
        for file in sorted(each for each in state.rglob("*") if each.is_file() and not each.name.endswith("lock")):
            kept = target / "state" / file.relative_to(state)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, kept)
            if file.suffix == ".json":
                kept.write_text(file.read_text().replace(socket.gethostname(), "db1"))
    (target / "checkpoint.json").write_text(json.dumps(checkpoint, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
