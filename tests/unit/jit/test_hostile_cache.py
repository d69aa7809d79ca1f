"""A cache of compiled code that is damaged or was made by somebody else: never run, never a crash, compiled anew.

Real processes that choose, load and call one small function, as every room's are.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.jit.test_ahead import Machine
from tests.unit.scan.compiled.reader import SMALL
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = [compiled_only, pytest.mark.slow]
OTHER_USER = 54321


class Compiled(NamedTuple):
    """A machine whose code was compiled once, and that code, to begin again from."""

    machine: Machine
    kept: Path


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    made = Compiled(Machine(tmp_path_factory.mktemp("machine")), tmp_path_factory.mktemp("kept") / "code")
    assert choose(made.machine) == ["42"]
    shutil.copytree(made.machine.beside, made.kept)
    return made


@pytest.fixture
def machine(compiled: Compiled) -> Machine:
    """With its code compiled: where it lies is part of the name it is kept by, so all tests have the same place."""
    shutil.rmtree(compiled.machine.beside)
    shutil.rmtree(compiled.machine.users, ignore_errors=True)
    shutil.copytree(compiled.kept, compiled.machine.beside)
    return compiled.machine


def choose(machine: Machine) -> list[str]:
    """What a process gives that wants the function: its result, then what it says. No crash."""
    process = machine.start("choose")
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 0, (process.returncode, said)
    return said.splitlines()


def code_of(machine: Machine) -> Path:
    (file,) = machine.beside.glob(f"compiled-*/{SMALL}.twice")
    return file


def cut(file: Path) -> None:
    """Inside of the object code: LLVM's linker read beyond the end of what is left."""
    file.write_bytes(file.read_bytes()[:-400])


def others_may_write(file: Path) -> None:
    file.chmod(0o666)


def of_another_user(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a file away")
    os.chown(file, OTHER_USER, -1)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda file: file.write_bytes(b""), "is damaged"),
        (cut, "is damaged"),
        (lambda file: file.write_bytes(bytes(len(file.read_bytes()))), "is damaged"),
        (others_may_write, "can be written by others"),
        (of_another_user, f"belongs to user {OTHER_USER}"),
    ],
    ids=["empty", "cut", "zeros", "others may write it", "another user's"],
)
def test_such_a_file_is_compiled_anew(machine: Machine, harm: Callable[[Path], object], why: str) -> None:
    file = code_of(machine)
    good = file.read_bytes()
    harm(file)
    assert choose(machine) == ["42", f"{file} {why}: it is compiled anew"]
    assert choose(machine) == ["42"]
    assert code_of(machine).stat().st_uid == os.geteuid()
    assert len(code_of(machine).read_bytes()) == len(good)


def test_another_users_folder_is_not_used(machine: Machine) -> None:
    """A path in the environment, or a folder in /tmp that somebody made first."""
    of_another_user(machine.beside)
    refusal = f"{machine.beside} belongs to user {OTHER_USER}: compiled code there is not used"
    kept = machine.users / "cdc-tail"
    assert choose(machine) == ["42", refusal, f"{machine.beside} cannot be used: compiled code is kept in {kept}"]
    assert choose(machine) == ["42", refusal]
