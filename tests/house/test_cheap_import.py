"""What is started many times loads little: `import tailer` next to nothing, a command only what its rows need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import FreshFolder
from tests.house.source_tree import ROOT

HEAVY = {
    "aiohttp",
    "numpy",
    "numba",
    "llvmlite",
    "pyarrow",
    "pyspark",
    "pandas",
    "cassandra",
    "cryptography",
    "rich",
} | {"yaml"}

COMMAND = (
    "import sys; from tailer.cli.app import main; code = main(sys.argv[1:]); "
    "sys.stderr.write(' '.join(name.split('.')[0] for name in sys.modules)); sys.exit(code)"
)


def loaded(program: str, *arguments: str) -> set[str]:
    """The heavy packages that a fresh Python has loaded at the program's end, which names them on standard error."""
    # Without CDC_TAIL_JIT: as a user starts it.
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    return set(ran.stderr.split()) & HEAVY


@pytest.mark.parametrize("module", ["tailer", "tailer.errors", "tailer.position"])
def test_import_loads_nothing_heavy(module: str) -> None:
    program = f"import {module}, sys; sys.stderr.write(' '.join(name.split('.')[0] for name in sys.modules))"
    assert loaded(program) == set()


def test_help_loads_what_shows_it() -> None:
    assert loaded(COMMAND, "--help") <= {"rich"}
    assert loaded(COMMAND, "follow", "--help") <= {"rich"}


def test_what_makes_no_row_loads_little(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-torn")
    segment = min(folder.glob("*.log"))
    assert loaded(COMMAND, "inspect", str(folder)) == loaded(COMMAND, "inspect", str(segment)) == set()
    assert loaded(COMMAND, "verify", str(folder)) == {"numpy"}


def test_what_watches_and_cleans_loads_little(fresh_folder: FreshFolder) -> None:
    """It runs every few minutes, beside a server that needs its memory."""
    folder = str(fresh_folder("50-torn"))
    for command in ("status {}", "clean {} --no-consumers --dry-run", "clean {} --no-consumers", "consumers {}"):
        assert loaded(COMMAND, *command.format(folder).split()) == set(), command


@pytest.mark.parametrize("command", ["schema {}", "follow {} --once --output json"])
def test_a_small_segment_is_read_without_compiled_code(command: str, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    first = min(folder.glob("*.log")).stem
    for file in folder.iterdir():
        if not file.name.startswith(first):
            file.unlink()
    assert loaded(COMMAND, *command.format(folder).split()) == {"numpy"}
