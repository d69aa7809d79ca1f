"""A service that is made to be killed, with a consumer in its own process that writes what it gets to a file.

`python -m tests.writer.consuming_service FOLDER OUT`. It appends numbers that go on where the log ended, and prints
each when it is durable. Lines of OUT: `begin`; `row NUMBER EVENT_ID`; `saved` when rows come behind an answer of True,
so that everything before that answer must be saved; `unsaved` when they come behind False.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from writer_hooks import SegmentLog, Table


class Row(msgspec.Struct):
    """A numbered row."""

    id: int
    text: str


TABLE = Table.of(Row, "ks.rows", key=["id"])
SEGMENT_BYTES = 1 << 16
SAFE_EVERY = 3


class ToFile:
    """Writes rows, and says at each third batch that they are safe."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        self._batches = 0
        self._said: bool | None = None

    def start(self, state: Any) -> None:
        self._write(["begin"])

    def on_definitions(self, changes: Sequence[Any]) -> None: ...

    def on_changes(self, batch: Any) -> bool:
        lines = [] if self._said is None else ["saved" if self._said else "unsaved"]
        for row in batch.select(["partition_key", "event_id"]).to_pylist():
            number = msgspec.json.decode(row["partition_key"])["id"]
            lines.append(f"row {number} {row['event_id']}")
        self._write(lines)
        self._batches += 1
        self._said = self._batches % SAFE_EVERY == 0
        return self._said

    def stop(self) -> None:
        self._file.close()

    def _write(self, lines: list[str]) -> None:
        # One write: a kill leaves all of them or none.
        self._file.write("".join(f"{line}\n" for line in lines).encode())
        self._file.flush()


def main() -> None:
    """Runs until it is killed."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    with SegmentLog.open(folder, [TABLE], segment_bytes=SEGMENT_BYTES) as log:
        replayed = (row for each in log.replay() for row in each.change.rows)
        number = max((int.from_bytes(row.partition_key[0], "big") for row in replayed), default=0)
        with log.run_in_thread(ToFile(out), name="file", buffer_bytes=4096):
            os.write(1, b"ready\n")
            while True:
                number += 1
                log.append(TABLE.insert(Row(number, "x" * 100))).wait()
                os.write(1, f"{number}\n".encode())


if __name__ == "__main__":
    main()
