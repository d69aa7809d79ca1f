"""A node that serves each test's own `log`, and the state folder beside that log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.log_writer import LogFolder
from tests.helpers.served import ServedNode, served


@pytest.fixture
def state(log: LogFolder) -> Path:
    return log.path.with_name("cdc_raw.cdc_tail")


@pytest.fixture
def node(log: LogFolder) -> Iterator[ServedNode]:
    with served(log.path) as found:
        yield found
