"""One process compiles for all of a user's, whatever becomes of it; real processes, one small function."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.house.source_tree import ROOT
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = [compiled_only, pytest.mark.slow]
READERS = 4


class Machine:
    """A cold machine: a folder for the package's code, a user's folder, and processes that read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.beside = folder / "package" / "__pycache__"
        self.users = folder / "home"

    def start(self, *mode: str, **environment: str) -> subprocess.Popen[str]:
        places = {"SMALL": str(self.folder), "XDG_CACHE_HOME": str(self.users), "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.unit.scan.compiled.reader", str(self.beside), *mode],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **places, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def read(self, count: int = 1) -> list[str]:
        """What so many processes say that start at once."""
        return [process.communicate(timeout=120)[0].strip() for process in [self.start() for _ in range(count)]]

    def compilers(self) -> list[int]:
        """The processes that have begun to compile. A reader imports the same module, and puts its name down before."""
        return sorted(self._pids("compilers") - self._pids("readers"))

    def await_compilers(self, count: int) -> list[int]:
        give_up = time.monotonic() + 60
        while len(found := self.compilers()) < count and time.monotonic() < give_up:
            time.sleep(0.02)
        return found

    def hold(self, held: bool) -> None:
        (self.folder / "hold").touch() if held else (self.folder / "hold").unlink()

    def _pids(self, name: str) -> set[int]:
        file = self.folder / name
        return set(map(int, file.read_text().split())) if file.exists() else set()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_many_readers_of_a_cold_machine_start_one_compiler(machine: Machine) -> None:
    assert machine.read(READERS) == ["42 None"] * READERS
    assert len(machine.compilers()) == 1
    assert machine.read() == ["42 None"]
    assert len(machine.compilers()) == 1
    assert not machine.users.exists()


def test_a_compiler_goes_on_without_the_reader_that_started_it(machine: Machine) -> None:
    machine.hold(True)
    first = machine.start()
    machine.await_compilers(1)
    first.kill()
    first.communicate()
    later = machine.start()
    time.sleep(0.5)
    machine.hold(False)
    assert later.communicate(timeout=60)[0].strip() == "42 None"
    assert len(machine.compilers()) == 1


def test_a_compiler_that_dies_is_followed_by_another(machine: Machine) -> None:
    machine.hold(True)
    readers = [machine.start() for _ in range(2)]
    (compiler,) = machine.await_compilers(1)
    os.kill(compiler, signal.SIGKILL)
    machine.await_compilers(2)
    machine.hold(False)
    said = sorted(reader.communicate(timeout=60)[0].strip() for reader in readers)
    # The one that had started it goes on without, the other one does not wait for ever.
    assert said == ["42 None", "no compiled code, the plain reader goes on, slower: the compiler ended with -9"]


def test_a_read_only_install_uses_the_users_folder_and_says_so_once(machine: Machine) -> None:
    # Not by permissions: root has them all.
    machine.beside.parent.mkdir()
    machine.beside.write_text("a file in the way")
    said = [line.removeprefix("42 ") for line in machine.read(READERS)]
    (news,) = (line for line in said if line != "None")
    assert news == f"{machine.beside} cannot be written: compiled code is kept in {machine.users / 'cdc-tail'}"
    assert len(machine.compilers()) == 1
    assert machine.read() == ["42 None"]


def test_without_any_folder_it_goes_on_without(machine: Machine) -> None:
    for folder in (machine.beside, machine.users):
        folder.parent.mkdir(exist_ok=True)
        folder.write_text("a file in the way")
    (said,) = machine.read()
    assert said.startswith("no compiled code, the plain reader goes on, slower: no folder can be written")
    assert machine.compilers() == []
