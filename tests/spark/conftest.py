"""One Spark session for all tests that need one: it takes longer to start than most of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.helpers.cli import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """As the commands open it; Spark's Python processes find this repository whether or not it is installed."""
    from tailer.errors import UsageError
    from tailer.spark.run import stop
    from tailer.spark.session import check_java, open_session

    try:
        check_java()
    except UsageError as error:
        pytest.skip(error.sentence())
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before]))
    session = open_session("tests", lambda line: None, master="local[2]")
    try:
        yield session
    finally:
        stop(session)
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
