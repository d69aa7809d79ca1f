"""What is needed to run a Cassandra server here: a JDK, the server's jars from Maven, and `Node.java` compiled.

Jars are resolved once into a cache folder, `~/.cache/cdc-tail/cassandra/<release>`; those of 5.0 into
`$CDC_TAIL_CASSANDRA_LIB` where that is set. If the folder that it names itself holds a server's jar, it is a ready-made
set for that version: Maven is not asked and nothing is written to it.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.jvm.jars import Artifact, Unavailable, cache, compiled, jars_of, java, lacking

VERSION = "5.0.9"
VERSIONS = {"4.0": "4.0.19", "4.1": "4.1.10", "5.0": VERSION}
"""The release that is run of each version."""

NEWEST = "5.0"

_SOURCE = Path(__file__).with_name("Node.java")


@dataclass(frozen=True)
class Library:
    """A Java program and the class path that make a node."""

    java: Path
    jars: Path
    classes: Path

    @property
    def agent(self) -> Path:
        """The jar of the agent that measures object sizes: the server asks for it at start."""
        return next(self.jars.glob("jamm-*.jar"))


def available(version: str = NEWEST) -> str | None:
    """Why a server of this version, one of VERSIONS, cannot run here, or None if it can.

    Resolves the jars on the way (minutes at the very first call, then nothing): only so is it known that it works.
    """
    return lacking(lambda: library(version))


@functools.cache
def library(version: str = NEWEST) -> Library:
    """The jars and the compiled `Node.java`; raises Unavailable. A `Node.java` that does not compile is a failure."""
    if importlib.util.find_spec("cassandra") is None:
        raise Unavailable("the Python package cassandra-driver is not installed")
    program = java()
    jars = _jars(version)
    return Library(java=program, jars=jars, classes=compiled(_SOURCE, _folder(version), jars))


def _folder(version: str) -> Path:
    return cache() / "cassandra" / VERSIONS[version]


def _jars(version: str) -> Path:
    release, folder = VERSIONS[version], _folder(version)
    if named := os.environ.get("CDC_TAIL_CASSANDRA_LIB"):
        given = Path(named).expanduser()
        if any(given.glob(f"cassandra-all-{release}.jar")):
            return given
        if version == NEWEST:
            folder = given
    return jars_of(folder, Artifact("org.apache.cassandra", "cassandra-all", release))
