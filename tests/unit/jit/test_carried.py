"""What a wheel has brought along, in real processes: run at once, and compiled anew where it may not be run.

One small function, compiled as a wheel's are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tailer.jit.baseline import baseline_name, is_such_a_machine, made_for
from tailer.jit.store import _processor
from tests.unit.jit.test_ahead import Machine
from tests.unit.jit.test_hostile_cache import choose, cut, of_another_user, others_may_write
from tests.unit.scan.compiled.reader import SMALL
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = [
    compiled_only,
    pytest.mark.slow,
    pytest.mark.skipif(not is_such_a_machine(_processor()), reason="a wheel carries no code for this machine"),
]


def compiled_for_wheels(folder: Path, hash_seed: str) -> Path:
    """The function's file, compiled on a machine of its own."""
    machine = Machine(folder)
    process = machine.start("compile", **made_for(), PYTHONHASHSEED=hash_seed)
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 0, said
    (file,) = machine.beside.glob(f"compiled-*/{SMALL}.twice")
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_for_wheels(tmp_path_factory.mktemp("built"), "0")


@pytest.fixture
def machine(made: Path, tmp_path: Path) -> Machine:
    """Where the wheel was just installed."""
    code_of(installed := Machine(tmp_path)).parent.mkdir(parents=True)
    shutil.copyfile(made, code_of(installed))
    return installed


def code_of(machine: Machine) -> Path:
    return machine.beside.with_name("object_code") / baseline_name() / f"{SMALL}.twice"


def compiled_here(machine: Machine) -> int:
    return len(list(machine.beside.glob(f"compiled-*/{SMALL}.twice")))


def test_it_is_run_at_once(machine: Machine) -> None:
    assert choose(machine) == ["42"]
    assert compiled_here(machine) == 0
    assert not machine.beside.exists()


def test_it_is_not_compiled_ahead_either(machine: Machine) -> None:
    process = machine.start("compile")
    assert process.communicate(timeout=120)[0] == ""
    assert process.returncode == 0
    assert compiled_here(machine) == 0


def test_a_processor_that_lacks_something_compiles_its_own(machine: Machine) -> None:
    process = machine.start("choose", PROCESSOR="x86_64 flags : fpu sse sse2")
    assert process.communicate(timeout=120)[0].splitlines() == ["42"]
    assert compiled_here(machine) == 1


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda file: file.write_bytes(b""), "is damaged"),
        (cut, "is damaged"),
        (lambda file: file.write_bytes(file.read_bytes()[:-1] + b"?"), "is damaged"),
        (lambda file: file.unlink(), "cannot be read (No such file or directory)"),
        (others_may_write, "can be written by others"),
        (of_another_user, "belongs to user 54321"),
    ],
    ids=["empty", "cut", "changed", "gone", "others may write it", "another user's"],
)
def test_what_may_not_be_run_is_told_and_compiled_anew(
    machine: Machine, harm: Callable[[Path], object], why: str
) -> None:
    file = code_of(machine)
    harm(file)
    left = file.read_bytes() if file.exists() else None
    assert choose(machine) == ["42", f"{file} {why}: it is compiled anew"]
    assert choose(machine) == ["42"]
    assert compiled_here(machine) == 1
    assert (file.read_bytes() if file.exists() else None) == left


def test_a_link_is_not_followed(machine: Machine) -> None:
    """To where somebody else may write, say."""
    file = code_of(machine)
    file.rename(file.with_name("other"))
    file.symlink_to("other")
    assert choose(machine) == [
        "42",
        f"{file} cannot be read (Too many levels of symbolic links): it is compiled anew",
    ]


def test_two_builds_give_the_same_bytes(made: Path, tmp_path: Path) -> None:
    """In another folder, in a process that orders its sets in another way."""
    assert compiled_for_wheels(tmp_path, "1").read_bytes() == made.read_bytes()
