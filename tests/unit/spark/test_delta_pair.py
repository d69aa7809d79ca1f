"""Which pyspark a delta-spark takes is what it says of itself, and so is the jar."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata
from types import ModuleType

import pytest

from tailer.errors import UsageError
from tailer.spark.sinks import delta
from tailer.spark.sinks.delta import delta_package

Install = Callable[..., None]

PINNED = ["pyspark<=4.2.0,>=4.0.1", "importlib_metadata<=8.7.1,>=1.0.0"]
"""As the metadata of delta-spark 4.4.0 has it; 4.0.1 says `pyspark>=4.0.0`."""


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    def made(version: str, spark: str, requires: list[str], jar: str) -> None:
        there = {"delta-spark": version, "pyspark": spark}
        monkeypatch.setattr(delta.metadata, "version", there.__getitem__)
        monkeypatch.setattr(delta.metadata, "requires", lambda name: requires)
        utils = ModuleType("delta.pip_utils")
        utils.configure_spark_with_delta_pip = lambda builder: builder.config("spark.jars.packages", jar)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "delta", ModuleType("delta"))
        monkeypatch.setitem(sys.modules, "delta.pip_utils", utils)

    return made


@pytest.mark.parametrize(
    ("version", "spark", "requires", "jar"),
    [
        ("4.4.0", "4.2.0", PINNED, "io.delta:delta-spark_4.2_2.13:4.4.0"),
        ("4.4.0", "4.1.1", PINNED, "io.delta:delta-spark_4.1_2.13:4.4.0"),
        ("4.0.1", "4.0.5", ["pyspark>=4.0.0"], "io.delta:delta-spark_2.13:4.0.1"),
    ],
)
def test_a_pair_that_it_admits(install: Install, version: str, spark: str, requires: list[str], jar: str) -> None:
    install(version, spark, requires, jar)
    assert delta_package() == jar


@pytest.mark.parametrize(
    ("version", "spark", "requires", "expected"),
    [
        ("4.4.0", "4.2.1", PINNED, "pyspark<=4.2.0,>=4.0.1, as its metadata says"),
        ("4.4.0", "4.3.0", PINNED, "pyspark<=4.2.0,>=4.0.1, as its metadata says"),
        ("4.0.1", "4.3.0", ["pyspark>=4.0.0"], "pyspark 4.0.x, which its jar is for"),
    ],
)
def test_a_pair_that_it_does_not(
    install: Install, version: str, spark: str, requires: list[str], expected: str
) -> None:
    install(version, spark, requires, f"io.delta:delta-spark_2.13:{version}")
    with pytest.raises(UsageError) as refused:
        delta_package()
    assert refused.value.code == 2
    assert f"delta-spark {version} is not for this pyspark: expected {expected}, found pyspark {spark}" in str(
        refused.value.sentence()
    )


def test_without_it_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(delta.metadata, "version", missing)
    with pytest.raises(UsageError, match=r"pip install 'cdc-tail\[delta\]'"):
        delta_package()
