"""Which twin builds: the compiled one where it is loaded and there is enough to build, else the plain one."""

from __future__ import annotations

from typing import Final, Protocol

from tailer.jit.ready import twin_now
from tailer.rows.generic.build import Built
from tailer.rows.generic.build import build as plain
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.scan.index import Index

SMALL_LINES: Final = 16
"""The plain twin is done with fewer lines before the compiled one has begun."""

_FAST: Final = "tailer.rows.generic.compiled.build"


class Build(Protocol):
    """`rows.generic.build.build`."""

    def __call__(self, index: Index, data: bytes, prepared: Prepared, place: Place) -> Built: ...


def build_now(lines: int) -> Build:
    """The build for an index of that many lines of rows."""
    compiled = twin_now(_FAST, lines >= SMALL_LINES)
    return plain if compiled is None else compiled.build
