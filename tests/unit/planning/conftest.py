"""The empty log folder, and the clock, of the tests of surveys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.log_writer import LogFolder


class Clock:
    """Seconds of wall time that pass when told, from far after the files were made."""

    def __init__(self) -> None:
        self.now = 2_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "cdc_raw")


@pytest.fixture
def clock() -> Clock:
    return Clock()
