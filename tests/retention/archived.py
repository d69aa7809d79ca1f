"""A log whose first segments are in an archive and nowhere else, and what readers give of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages, Limits
from tailer.stores.folder_store import FolderStore
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table

FAR: float = 4_000_000_000.0
FIRST = 1_700_000_000_000
TABLE = simple_table("ks", "t")


class ArchivedLog:
    """Segments with a row each, its number; `put` and `clean_away` as often as a test wants."""

    def __init__(self, path: Path) -> None:
        self.log = LogFolder(path / "cdc_raw")
        self.folder = self.log.path
        self.store = FolderStore(path / "archive")
        self.where = self.store.where

    def put(self, *numbers: int) -> None:
        for number in numbers:
            payloads = [create_payload(TABLE)] if number == 0 else []
            writer = segment_of(FIRST + number, [[*payloads, insert_payload(TABLE, number, "a", number)]])
            self.log.put(writer, completed(writer))

    def clean_away(self, *, archived: bool = True, force: bool = False) -> list[int]:
        """Whatever is finished, read by a consumer that is dropped then, or by nobody with `force`."""
        if not force:
            run_cli(["follow", self.folder, "--once", "--consumer", "reads-all", "--output", "json"])
            run_cli(["consumers", self.folder, "drop", "reads-all"])
        limits = Limits(max_bytes=0, force=True) if force else Limits()
        options = CleanOptions(limits, no_consumers=not force, stopped=True, archive=self.store if archived else None)
        made = clean(self.folder, options, ages=Ages(0.0, 0.0), clock=lambda: FAR)
        return [held.segment - FIRST for held in made.logs]

    def follow(self, *more: Any, archive: bool = True) -> Result:
        given = ["--archive", self.where] if archive else []
        return run_cli(["follow", self.folder, "--once", "--output", "json", *given, *more])

    def archived_file(self, number: int, pattern: str) -> Path:
        (found,) = Path(self.where).rglob(f"{FIRST + number}/{pattern}")
        return found


def values(result: Result) -> list[int]:
    return [json.loads(line)["columns"]["v"] for line in result.lines]
