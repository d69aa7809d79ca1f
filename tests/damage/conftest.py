"""Tells the counts of damaged readings at the end of the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damage import counts


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the samples of this session."""
    return tmp_path_factory.mktemp("samples")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = counts.table()
    if lines:
        terminalreporter.section("damaged readings: exit codes (0: every row that was promised)")
        for line in lines:
            terminalreporter.write_line(line)
