"""Fixtures for all tests: the recorded sets, and fresh copies of their folders."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers import repeated
from tests.helpers.amount import ALL, examples
from tests.helpers.cli import ROOT
from tests.helpers.quick import Quick
from tests.helpers.sets import Place, copy_folder, link_commitlog, unpack

# What the tests read is small: without this the plain twins would read all of it. Before anything imports them, and for
# the processes that tests start too.
os.environ.setdefault("CDC_TAIL_JIT", "1")

# Two shared cores: a deadline would measure the neighbours. Every change is held to the same examples, and only
# `make soak` to new ones each time.
settings.register_profile(
    "ours",
    deadline=None,
    derandomize=not ALL,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ours")

FreshFolder = Callable[..., Path]

REPEATED = ("spark", "server", "delta")
"""Marks of tests that start Python workers of Spark's."""


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    return repeated.run(item, nextitem) if any(map(item.get_closest_marker, REPEATED)) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is too long for `make test` is run by name, in `make soak`."""
    if not ALL:
        long = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name in repeated.told:
        terminalreporter.write_line(f"repeated, Spark's Python worker was not there within ten seconds: {name}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out what took long here the last time")


def pytest_configure(config: pytest.Config) -> None:
    """Compiles before any test is imported: a process that finds no code would compile by itself, and again."""
    if config.getoption("--quick"):
        config.pluginmanager.register(Quick(config.cache))
    if os.environ["CDC_TAIL_JIT"] == "1" and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        _compile()


def _compile() -> None:
    """Returns when all code is kept; another part of the tests may be compiling it."""
    from tailer.jit.ahead import BUSY

    while (ended := subprocess.run([sys.executable, "-m", "tailer.jit.ahead"], cwd=ROOT)).returncode == BUSY:
        time.sleep(1.0)
    ended.check_returncode()


@pytest.fixture(scope="session")
def sets_root() -> Iterator[Path]:
    """Every recorded set, unpacked once; read only. `CDC_TAIL_SETS` names a folder where they lie already."""
    given = os.environ.get("CDC_TAIL_SETS")
    if given:
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="cdc-tail-sets-") as folder:
        yield unpack(Path(folder))


@pytest.fixture(scope="session")
def compiled_code() -> Path:
    """The folder with all compiled code, made if need be."""
    from tailer.jit import store

    _compile()
    folder = store.kept()
    assert folder is not None
    return folder


@pytest.fixture
def fresh_folder(sets_root: Path) -> Iterator[FreshFolder]:
    """`fresh_folder(place, links=False)`: a copy of a recorded folder of its own, and nothing beside it.

    With `links`, the logs that the server's commit log directory held then get a second name in `commitlog/` beside.
    """
    with tempfile.TemporaryDirectory(prefix="cdc-tail-") as parent:
        numbers = itertools.count()

        def make(place: Place | str, *, links: bool = False) -> Path:
            where = Place(place) if isinstance(place, str) else place
            folder = Path(parent) / str(next(numbers)) / "cdc_raw"
            copy_folder(where.folder(sets_root), folder)
            if links and (held := where.commitlog(sets_root)) is not None:
                link_commitlog(folder, held)
            return folder

        yield make


@pytest.fixture(scope="module")
def without_fsync() -> Iterator[None]:
    """What is durable when is told by other tests; among thousands of interleavings it would only cost time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield
