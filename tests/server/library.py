"""What is needed to run a Cassandra server here: a JDK, the server's jars from Maven, and `Node.java` compiled.

Jars are resolved once into a cache folder: `$CDC_TAIL_CASSANDRA_LIB` or `~/.cache/cdc-tail/cassandra/<version>`.
If that folder itself holds the server's jar, it is a ready-made set: Maven is not asked and nothing is written to it.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.jvm.jars import Artifact, Unavailable, cache, compiled, jars_of, java, lacking

VERSION = "5.0.9"

_SERVER = Artifact("org.apache.cassandra", "cassandra-all", VERSION)
_SOURCE = Path(__file__).with_name("Node.java")


@dataclass(frozen=True)
class Library:
    """A Java program and the class path that make a node."""

    java: Path
    jars: Path
    classes: Path

    @property
    def agent(self) -> Path:
        """The jar of the agent that measures object sizes: 5.0 asks for it at start."""
        return next(self.jars.glob("jamm-*.jar"))


def available() -> str | None:
    """Why a server cannot run here, or None if it can.

    Resolves the jars on the way (minutes at the very first call, then nothing): only so is it known that it works.
    """
    return lacking(library)


@functools.cache
def library() -> Library:
    """The jars and the compiled `Node.java`; raises Unavailable. A `Node.java` that does not compile is a failure."""
    if importlib.util.find_spec("cassandra") is None:
        raise Unavailable("the Python package cassandra-driver is not installed")
    program = java()
    jars = _jars()
    return Library(java=program, jars=jars, classes=compiled(_SOURCE, _folder(), jars))


def _folder() -> Path:
    return cache() / "cassandra" / VERSION


def _jars() -> Path:
    given = os.environ.get("CDC_TAIL_CASSANDRA_LIB")
    folder = Path(given).expanduser() if given else _folder()
    if any(folder.glob(f"cassandra-all-{VERSION}.jar")):
        return folder
    return jars_of(folder, _SERVER)
