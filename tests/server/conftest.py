"""A running server for the tests of this folder, or a reason, said aloud, why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.jvm.program import running
from tests.server.harness import Node, available
from tests.server.library import NEWEST

_reasons: set[str] = set()


@pytest.fixture(scope="session")
def needs_server() -> Callable[[str], None]:
    """Skips where this machine cannot run a server of a version. The first use may take minutes (Maven)."""

    def needs(version: str) -> None:
        reason = available(version)
        if reason is not None:
            _reasons.add(reason)
            pytest.skip(f"no Cassandra server: {reason}")

    return needs


@pytest.fixture(scope="session")
def server_here(needs_server: Callable[[str], None]) -> None:
    """Skips where this machine cannot run a server of the newest version."""
    needs_server(NEWEST)


@pytest.fixture(scope="module")
def node(server_here: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A started node for one test file: they kill it and alter its tables, so no two files share one."""
    with running(Node(tmp_path_factory.mktemp("cassandra"))) as made:
        yield made


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason in sorted(_reasons):
        terminalreporter.write_line(f"The tests against a running Cassandra server were SKIPPED: {reason}", yellow=True)
