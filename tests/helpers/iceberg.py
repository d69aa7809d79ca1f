"""Iceberg's runtime for the Spark that is installed, brought by Maven: its jars, and settings of sessions with them."""

from __future__ import annotations

import functools
from pathlib import Path

from tailer.errors import UsageError
from tailer.spark.sinks.iceberg import folder_catalog, iceberg_package
from tests.helpers.jvm.jars import Artifact, Unavailable, cache, jars_of

CATALOG = "lake"


@functools.cache
def jar() -> Path:
    """The runtime; raises Unavailable."""
    try:
        group, name, version = iceberg_package().split(":")
    except UsageError as error:
        raise Unavailable(error.sentence()) from error
    # One jar has all that it needs; what its description names Spark has already.
    jars = jars_of(cache() / "iceberg" / f"{name}-{version}", Artifact(group, name, version, ("*",)))
    return jars / f"{name}-{version}.jar"


def settings(warehouse: Path) -> dict[str, str]:
    """Of a session: the jar, and the catalog `lake` in a folder."""
    return {"spark.jars": str(jar()), **folder_catalog(CATALOG, warehouse)}
