"""What is installed stands in pyproject.toml; what repeats it says the same."""

from __future__ import annotations

import re
import tomllib

from tailer.schema.server import DRIVER
from tailer.spark.session import PYSPARK_MIN
from tests.house.source_tree import ROOT, kept_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NODE = ROOT / "contrib" / "requirements-node.txt"


def test_a_node_needs_everything_but_pyspark() -> None:
    lines = [line for line in NODE.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert lines == [wanted for wanted in PROJECT["dependencies"] if not wanted.startswith("pyspark")]
    assert len(lines) == len(PROJECT["dependencies"]) - 1


def test_the_oldest_pyspark_is_the_one_that_is_asked_for() -> None:
    assert f"pyspark>={'.'.join(map(str, PYSPARK_MIN))}" in PROJECT["dependencies"]


def test_the_driver_is_the_one_of_the_extra() -> None:
    assert PROJECT["optional-dependencies"]["server"] == [DRIVER]
    assert DRIVER in (ROOT / "docs" / "cassandra.md").read_text("utf-8")


def test_pages_name_the_wheel_of_this_version() -> None:
    wheel = f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}-py3-none-any.whl"
    pages = [file for file in kept_files() if file.suffix in (".md", ".txt")]
    named = {name for page in pages for name in re.findall(r"\bcdc_tail-[\w.-]+\.whl", page.read_text("utf-8"))}
    assert named == {wheel}
