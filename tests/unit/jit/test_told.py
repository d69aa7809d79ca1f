"""What becomes of compiled code is told to the user of `follow`, once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tailer.jit import store
from tests.conftest import FreshFolder
from tests.house.source_tree import ROOT
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = compiled_only

PLACED = """
import sys
from pathlib import Path
from tailer.jit import ahead, store
store.BESIDE = Path(sys.argv[1])
store.CARRIED = store.BESIDE.with_name("none")
"""
COMPILES = f"{PLACED}sys.exit(ahead.main())"
FOLLOWS = f"""{PLACED}
from tailer.cli.app import main
ahead.COMMAND = ("-c", {COMPILES!r}, sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the package cannot keep its code. Not by permissions: root has them all."""
    beside = tmp_path / "package"
    beside.write_text("a file in the way")
    monkeypatch.setattr(store, "BESIDE", beside)
    monkeypatch.setattr(store, "CARRIED", tmp_path / "none")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    store._name.cache_clear()
    yield beside
    store._name.cache_clear()


def follow(beside: Path, folder: Path) -> tuple[int, list[str]]:
    """How many rows there are, and what is told of compiled code."""
    ran = subprocess.run(
        [sys.executable, "-c", FOLLOWS, str(beside), "follow", str(folder), "--once", "--output", "json"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "CDC_TAIL_JIT": "1", "XDG_CACHE_HOME": str(beside.parent / "home")},
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout.count("\n"), [line for line in ran.stderr.splitlines() if "compiled" in line]


@pytest.mark.slow
def test_a_read_only_install_says_once_where_the_code_is(
    compiled_code: Path, read_only: Path, fresh_folder: FreshFolder
) -> None:
    folder = fresh_folder("50-cases")
    room = store.room()
    assert room is not None
    shutil.copytree(compiled_code, room, dirs_exist_ok=True)
    store.finish(room)
    rows, told = follow(read_only, folder)
    kept = read_only.parent / "home" / "cdc-tail"
    assert told == [f"cdc-tail: {read_only} cannot be written: compiled code is kept in {kept}"]
    assert follow(read_only, folder) == (rows, [])
    assert rows > 0


def test_without_a_folder_the_plain_reader_goes_on_and_says_so(read_only: Path, fresh_folder: FreshFolder) -> None:
    (read_only.parent / "home").write_text("a file in the way")
    rows, (told,) = follow(read_only, fresh_folder("50-cases"))
    assert rows > 0
    assert told.startswith("cdc-tail: no compiled code, the plain reader goes on, slower: no folder can be written")
