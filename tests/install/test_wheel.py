"""The wheel holds all that is needed: built, and installed in empty environments as the README says.

With no network but the package index's. What runs then runs outside the repository, and finds nothing of it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import ROOT
from tests.helpers.compare import same_rows, without_truncates
from tests.house.source_tree import PACKAGES, kept_files
from tests.install.environment import NODE, Environment
from tests.oracle import expected

pytestmark = [pytest.mark.slow, pytest.mark.soak]

SECONDS_MAX = 1800
WHERE = "import pathlib, tailer, writer_hooks; print(pathlib.Path(tailer.__file__).parent)"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, timeout=SECONDS_MAX)
    (made,) = folder.iterdir()
    return made


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


def test_it_has_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    names = {str(file.relative_to(ROOT)) for file in kept_files()}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {name for name in names if name.split("/")[0] in PACKAGES}


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


def test_its_code_compiles(node: Environment, sets_root: Path, fresh_folder: FreshFolder) -> None:
    made = node.run("python", "-m", "tailer.jit.ahead", timeout=SECONDS_MAX)
    assert made.code == 0, made.err
    folder = fresh_folder("50-cases")
    ran = node.run("cdc-tail", "follow", folder, "--once", "--output", "json", CDC_TAIL_JIT="1")
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
