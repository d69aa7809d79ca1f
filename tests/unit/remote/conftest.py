"""A small log, and the node that serves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import ServedNode, served

FIRST = 1_700_000_000_001
COUNT = 3


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, COUNT)


@pytest.fixture
def node(log: LogFolder) -> Iterator[ServedNode]:
    with served(log.path) as found:
        yield found
