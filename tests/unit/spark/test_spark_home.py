"""The home that a JVM of ours is given: the real one without the zip, and only where that changes nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tailer.spark.spark_home import SPARK_HOME, light_home


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """PySpark as pip lays it into the environment."""
    monkeypatch.delenv(SPARK_HOME, raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    package = tmp_path / "pyspark"
    for part in ("bin", "jars", "python/lib"):
        (package / part).mkdir(parents=True)
    (package / "bin" / "spark-submit").touch()
    (package / "python" / "lib" / "pyspark.zip").touch()
    return package


def test_it_has_all_but_the_zip(package: Path) -> None:
    with light_home(package):
        home = Path(os.environ[SPARK_HOME])
        assert home.stat().st_mode & 0o777 == 0o700
        assert (home / "bin" / "spark-submit").is_file()
        assert sorted(part.name for part in home.iterdir()) == ["bin", "jars"]
    assert SPARK_HOME not in os.environ


def test_it_stays_for_the_jvm_and_goes_with_the_process(package: Path) -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, sysconfig\nfrom pathlib import Path\nfrom tailer.spark.spark_home import light_home\n"
            f"package = Path({str(package)!r})\nsysconfig.get_path = lambda name: str(package.parent)\n"
            "with light_home(package):\n    home = os.environ['SPARK_HOME']\nprint(home, os.path.isdir(home))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    home, there = told.stdout.split()
    assert there == "True"
    assert not Path(home).exists()
    assert (package / "bin" / "spark-submit").is_file(), "links went, not what they lead to"


def test_a_home_that_somebody_has_named_stays(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPARK_HOME, "/opt/spark")
    with light_home(package):
        assert os.environ[SPARK_HOME] == "/opt/spark"
    assert os.environ[SPARK_HOME] == "/opt/spark"


@pytest.mark.parametrize("missing", ["bin/spark-submit bin", "jars", "python/lib/pyspark.zip"])
def test_a_package_without_spark_in_it_is_left_alone(package: Path, missing: str) -> None:
    for name in missing.split():
        part = package / name
        part.rmdir() if part.is_dir() else part.unlink()
    with light_home(package):
        assert SPARK_HOME not in os.environ


def test_a_package_that_workers_would_not_find_is_left_alone(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One on this process's path alone, of a Spark that was unpacked somewhere."""
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/usr/lib/python3/site-packages")
    with light_home(package):
        assert SPARK_HOME not in os.environ
