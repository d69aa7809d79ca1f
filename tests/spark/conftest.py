"""One Spark session for all tests that need one: it takes longer to start than most of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.cli import ROOT
from tests.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    if SPARK < (4, 1):
        # Its own `toArrow` and `foreachBatch` leave sockets to the collector.
        for ignored in ("Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning", "unclosed <socket"):
            config.addinivalue_line("filterwarnings", f"ignore:{ignored}")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """As the commands open it; Spark's Python processes find this repository whether or not it is installed."""
    from tailer.errors import SystemFailedError, UsageError
    from tailer.spark.run import stop
    from tailer.spark.session import check_java, open_session

    try:
        check_java()
    except UsageError as error:
        pytest.skip(error.sentence())
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before]))
    packages, conf = wanted()
    try:
        session = open_session("tests", lambda line: None, master="local[2]", packages=packages, conf=conf)
    except SystemFailedError:
        # Without the jars of the sinks, whose tests are skipped then.
        session = open_session("tests", lambda line: None, master="local[2]")
    try:
        yield session
    finally:
        stop(session)
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def wanted() -> tuple[list[str], dict[str, str]]:
    """Jars and settings of all sinks that can be tested here."""
    from tailer.errors import UsageError
    from tailer.spark.sinks.database import POSTGRESQL, SQLITE
    from tailer.spark.sinks.delta import DeltaSink

    packages, conf = [SQLITE.package, POSTGRESQL.package], {}
    try:
        delta = DeltaSink(Path("unused"))
    except UsageError:
        return packages, conf
    return [*packages, *delta.packages()], dict(delta.conf())


@pytest.fixture
def in_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that would start a JVM run in the session of all tests, which stays."""
    monkeypatch.setattr("tailer.spark.session.open_session", lambda *names, **options: spark)
    monkeypatch.setattr("tailer.spark.run.stop", lambda session: None)


@pytest.fixture
def with_jars(spark: SparkSession) -> SparkSession:
    """The session where Maven could bring the sinks' jars, else a skip."""
    if not spark.sparkContext.getConf().get("spark.jars.packages"):
        pytest.skip("the jars of databases could not be brought from Maven")
    return spark
