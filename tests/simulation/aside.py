"""Entries of a table that no definition names: consumers put them into quarantine, and `quarantine replay` gives their
rows once there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.helpers.images.tables import ModelColumn, ModelTable
from tests.simulation.consumers import ViolationError
from tests.simulation.encoded import KEYSPACE
from tests.simulation.logged import Ledger, row_of
from tests.simulation.operators import command

LATER: Final = ModelTable(
    "22222222-0000-1000-8000-000000000001",
    "later",
    (("x", False),),
    (ModelColumn("a", "int"), ModelColumn("b", "text")),
)
CQL: Final = (
    f"CREATE TABLE {KEYSPACE}.later (k int, x int, a int, b text, PRIMARY KEY (k, x)) "
    f"WITH ID = {LATER.id} AND CLUSTERING ORDER BY (x ASC) AND cdc = true;"
)


class Replays:
    """`quarantine replay` of one consumer, run after run."""

    def __init__(self, name: str, folder: Path, ledger: Ledger, file: Path) -> None:
        self._ledger, self._file = ledger, file
        words = ["quarantine", str(folder), "replay", "--consumer", name, "--schema", str(file), "--output", "json"]
        self._words = words
        self._given: set[str] = set()
        self._over: set[str] = set()
        """What runs gave that came to their end: it never comes again."""

    def run(self) -> int:
        self._file.write_text(CQL)
        code = command(self._words, self._take)
        if code == 0:
            self._over |= self._given
        return code

    def _take(self, line: bytes) -> None:
        row = row_of(line)
        event = row["event_id"]
        expected = self._ledger.aside.get(event)
        if expected is None:
            raise ViolationError(f"quarantine replay gave what is not durable: {row}")
        differing = {name: (value, row[name]) for name, value in expected.items() if row[name] != value}
        if differing:
            raise ViolationError(f"quarantine replay: the row {event} differs (expected, found): {differing}")
        if event in self._over:
            raise ViolationError(f"quarantine replay gave {event} again")
        self._given.add(event)

    def entries(self) -> int:
        """How many there are of what is durable."""
        return len({event.rpartition(":")[0] for event in self._ledger.aside})

    def lacks(self) -> set[str]:
        """What it has not given yet of what is durable."""
        return self._ledger.aside.keys() - self._given
