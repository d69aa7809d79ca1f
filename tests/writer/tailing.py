"""The tailer's own rows of a log on the disk in memory: written out to a folder, read as anybody would."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path

import tailer
from tailer.errors import HeldBackError
from tailer.position import Position
from tests.writer.crash.disk import Disk
from tests.writer.crash.reader import Delivered
from tests.writer.crash.session import FOLDER


def tailed(folder: Path, start: str = "earliest", end: str = "latest") -> list[Delivered]:
    """The rows of a `cdc_raw/` from one position to another, up to a segment that is waited for."""
    rows = []
    with suppress(HeldBackError):
        for batch in tailer.open(folder, settle_seconds=0.0).read(start, end):
            for row in batch.to_pylist():
                at, key = Position(row["segment"], row["offset"]), json.loads(row["partition_key"])
                rows.append(Delivered(at, row["row"], row["table"], key["id"]))
    return rows


def tailed_disk(disk: Disk) -> list[Delivered]:
    """The same of the disk as a process sees it."""
    with tempfile.TemporaryDirectory(prefix="cdc-tail-writer-") as folder:
        disk.write_out(FOLDER, Path(folder))
        raw = Path(folder) / "cdc_raw"
        return tailed(raw) if raw.exists() else []
