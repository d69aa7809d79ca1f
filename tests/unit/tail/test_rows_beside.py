"""The rows of a snapshot beside the logs: when they are where rows go, and the run may end."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tailer.options.snapshot import SnapshotOptions
from tailer.schema.server import Server
from tailer.sinks.files.outlet import open_outlet
from tailer.snapshot.spool import Spool
from tailer.tail.patience import Patience
from tailer.tail.snapshot import rows_beside
from tailer.tail.snapshot.pieces import NODE, DeliveredPieces
from tailer.tail.snapshot.rows_beside import SINCE, RowsBeside
from tailer.tail.snapshot.spooled import SpoolHome
from tests.helpers.data_files import GIVEN, lines_of
from tests.unit.snapshot.test_spool import TABLE, row

ROLL_SECONDS = 60.0


class Reading:
    """Takes the place of what reads the servers: the pieces are in the spool when it begins."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.ended = False

    def begin(self, tables: Any) -> None: ...

    def start(self) -> None: ...

    def check(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of one node, begun; its spool has a piece of two rows and one without rows."""
    monkeypatch.setattr(rows_beside, "SnapshotRun", Reading)
    monkeypatch.setattr(rows_beside, "chosen_tables", lambda tail, unmasked: [])
    spool = Spool(tmp_path / "spool")
    spool.begin(SINCE)
    # The last row of a piece tells its range.
    spool.add([row(1), row(2), row(99)], TABLE)
    spool.add([row(99)], TABLE)
    said: list[str] = []
    values = {**GIVEN, "roll_seconds": ROLL_SECONDS}
    takes = DeliveredPieces(
        lambda context: open_outlet(f"files:{tmp_path / 'out'}", values, context),
        "c",
        Patience(0, said.append),
        said.append,
    )
    made = RowsBeside(
        ["n1"], {"n1": Server("127.0.0.1")}, SnapshotOptions(), SpoolHome("n1", tmp_path / "spool"), takes, said.append,
        ranges=False,
    )  # fmt: skip
    position = SimpleNamespace(segment=1, offset=2)
    tail: Any = SimpleNamespace(
        options=SimpleNamespace(node="n1"), taken=SimpleNamespace(position=position), definition=lambda id: None,
        state_id="log",
    )  # fmt: skip
    with closing(made):
        made.begin(tail)
        yield made


def test_the_end_of_the_reading_finishes_the_file(beside: Any, tmp_path: Path) -> None:
    """Not `--roll-seconds` later: a run with --once waits for nothing else."""
    beside.look()
    assert not beside.is_done()
    assert not list((tmp_path / "out" / NODE).glob("data-*.idx.json"))
    beside._begun.run.ended = True
    beside.look()
    assert beside.is_done()
    assert [each["event_id"] for each in lines_of(tmp_path / "out" / NODE)] == ["snapshot:abc:0:1", "snapshot:abc:0:2"]
    assert Spool(tmp_path / "spool").known.given == 2
