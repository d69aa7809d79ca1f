"""The wheel holds all that is needed: built, and installed in empty environments as the README says.

With no network but the package index's. What runs then runs outside the repository, and finds nothing of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tailer.jit.ahead import COMPILED
from tailer.jit.baseline import baseline_name, is_such_a_machine, made_for
from tailer.jit.store import _processor
from tests.conftest import FreshFolder
from tests.helpers.cli import ROOT
from tests.helpers.compare import same_rows, without_truncates
from tests.house.source_tree import PACKAGES, kept_files
from tests.install.environment import NODE, Environment
from tests.oracle import expected

pytestmark = [pytest.mark.slow, pytest.mark.soak]

SECONDS_MAX = 1800
RUN = "from tailer.cli.app import run; run()"
WHERE = "import pathlib, tailer, writer_hooks; print(pathlib.Path(tailer.__file__).parent)"


SUCH_A_MACHINE = is_such_a_machine(_processor())
carries_code = pytest.mark.skipif(not SUCH_A_MACHINE, reason="a wheel carries no code for this machine")


def object_code(folder: Path) -> Path:
    """Made as `make wheel` does."""
    command = [sys.executable, "scripts/object_code.py", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=SECONDS_MAX)
    return folder


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return object_code(tmp_path_factory.mktemp("code") / "object_code")


def pip_wheel(folder: Path, **environment: str) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, timeout=SECONDS_MAX, env={**os.environ, **environment})
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(carried: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pip_wheel(tmp_path_factory.mktemp("wheel"), CDC_TAIL_OBJECT_CODE=str(carried))


def install(environment: Environment, *arguments: str | Path) -> None:
    ran = environment.run("python", "-m", "pip", "install", "--quiet", *arguments, timeout=SECONDS_MAX)
    assert ran.code == 0, ran.err


@pytest.fixture(scope="module")
def node(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """As on a database node: without PySpark."""
    made = Environment(tmp_path_factory.mktemp("node"), pip=True)
    install(made, "-r", NODE)
    install(made, "--no-deps", wheel)
    return made


@pytest.fixture(scope="module")
def whole(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("whole"), pip=True)
    install(made, wheel)
    return made


def packaged() -> set[str]:
    names = {str(file.relative_to(ROOT)) for file in kept_files()}
    return {name for name in names if name.split("/")[0] in PACKAGES}


def held(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_it_has_every_file_of_the_packages_the_object_code_and_no_other(wheel: Path) -> None:
    folder = f"tailer/jit/object_code/{baseline_name()}"
    code = {f"{folder}/{module}.{name}" for module, name in COMPILED} if SUCH_A_MACHINE else set()
    assert held(wheel) == packaged() | code
    assert wheel.name.endswith("-py3-none-any.whl")


def test_one_that_is_made_without_object_code_has_none(tmp_path: Path) -> None:
    assert held(pip_wheel(tmp_path)) == packaged()


@carries_code
def test_object_code_is_the_same_when_it_is_made_again(carried: Path, tmp_path: Path) -> None:
    again = object_code(tmp_path / "again")
    files = {file.name: file.read_bytes() for file in (again / baseline_name()).iterdir()}
    assert files == {file.name: file.read_bytes() for file in (carried / baseline_name()).iterdir()}


@pytest.mark.parametrize("kind", ["node", "whole"])
def test_it_runs_without_the_repository(
    kind: str, request: pytest.FixtureRequest, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    environment: Environment = request.getfixturevalue(kind)
    assert environment.run("python", "-c", WHERE).out.strip() == str(environment.packages / "tailer")
    told = environment.run("cdc-tail", "--help")
    assert told.code == 0, told.err
    assert "follow" in told.out
    folder = fresh_folder("50-cases")
    ran = environment.run("cdc-tail", "follow", folder, "--once", "--output", "json", CDC_TAIL_JIT="0")
    assert ran.code == 0, ran.err
    same_rows(expected(sets_root / "50-cases", folder).rows, without_truncates(ran.lines))


def compiled_in(environment: Environment, cache: Path) -> list[Path]:
    """What was compiled where the wheel is installed, or is on its way."""
    return [*environment.packages.rglob("tailer/jit/__pycache__/compiled-*"), *cache.rglob("*")]


@carries_code
def test_its_code_is_run_and_nothing_is_compiled(
    node: Environment, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    folder, cache = fresh_folder("50-cases"), tmp_path / "cache"
    words = ("-X", "importtime", "-c", RUN, "follow", folder, "--once", "--output", "json")
    ran = node.run("python", *words, CDC_TAIL_JIT="1", XDG_CACHE_HOME=str(cache))
    assert ran.code == 0, ran.err
    same_rows(expected(sets_root / "50-cases", folder).rows, without_truncates(ran.lines))
    loaded = {line.rpartition("|")[2].strip() for line in ran.err.splitlines() if line.startswith("import time:")}
    assert {line for line in ran.err.splitlines() if not line.startswith("import time:")} == set()
    assert {"tailer.scan.mutation.compiled.mutations", "tailer.jit.link", "llvmlite.binding"} <= loaded
    assert loaded & {"numba", "tailer.jit.ahead"} == set()
    assert compiled_in(node, cache) == []


def test_its_code_compiles(node: Environment, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path) -> None:
    """As where the code that it carries does not fit: for a processor that is named, this one or less."""
    environment = {**made_for(), "XDG_CACHE_HOME": str(tmp_path)} if SUCH_A_MACHINE else {}
    made = node.run("python", "-m", "tailer.jit.ahead", timeout=SECONDS_MAX, **environment)
    assert made.code == 0, made.err
    assert compiled_in(node, tmp_path) != []
    folder = fresh_folder("50-cases")
    ran = node.run("cdc-tail", "follow", folder, "--once", "--output", "json", CDC_TAIL_JIT="1", **environment)
    assert ran.code == 0, ran.err
    assert "plain reader" not in ran.err
    same_rows(expected(sets_root / "50-cases", folder).rows, without_truncates(ran.lines))


def test_the_node_has_no_pyspark_and_says_so(node: Environment, fresh_folder: FreshFolder) -> None:
    assert not (node.packages / "pyspark").exists()
    for arguments in (["stream", fresh_folder("50-cases")], ["demo"]):
        ran = node.run("cdc-tail", *arguments)
        assert ran.code == 2
        assert "pip install 'pyspark>=4.0'" in ran.err


@pytest.mark.spark
def test_the_whole_runs_a_query(whole: Environment) -> None:
    """On the recording that the wheel carries."""
    ran = whole.run("cdc-tail", "demo", "--cassandra", "--seconds", "5", timeout=SECONDS_MAX)
    assert ran.code == 0, ran.err
    assert re.search(r"2229 changes in \d+ micro-batches", ran.out)


def test_the_repository_installs_as_the_readme_says(tmp_path: Path) -> None:
    """`pip install "git+…"`, of what is committed here; what it needs is not fetched again."""
    made = Environment(tmp_path, pip=True)
    install(made, "--no-deps", f"git+{ROOT.as_uri()}")
    assert (made.packages / "tailer" / "py.typed").exists()
