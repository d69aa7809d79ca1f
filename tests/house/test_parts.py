"""No test is forgotten: every folder of tests is run by a part of `make test`, and told of in tests/README.md."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType
from typing import Any

import pytest

from tests.house.source_tree import ROOT


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_tests", ROOT / "scripts" / "run_tests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folders_with_tests() -> set[str]:
    tests = ROOT / "tests"
    return {file.relative_to(tests).parts[0] for file in tests.rglob("test_*.py")}


def parts(runner: ModuleType) -> list[Any]:
    return [*runner.COMPUTING, *(part for queue in runner.QUEUES for part in queue)]


def test_every_folder_is_in_a_part(runner: ModuleType) -> None:
    words = {word for part in parts(runner) for word in part.words}
    run = {word.split("/")[1] for word in words if word.startswith("tests/")}
    assert run == folders_with_tests()


def test_every_folder_and_part_is_told_of(runner: ModuleType) -> None:
    page = (ROOT / "tests" / "README.md").read_text("utf-8")
    told = set(re.findall(r"`(\w+)/`", page.split("## Where the time goes")[0]))
    assert told >= folders_with_tests()
    for part in parts(runner):
        assert part.name in page or "pytest" not in part.words


def test_what_soak_runs_is_told_of() -> None:
    page = (ROOT / "tests" / "README.md").read_text("utf-8").split("## What soak adds")[1]
    made = re.findall(r"^soak-([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert made
    assert set(made) == set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE))
