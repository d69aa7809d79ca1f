"""One recorded set: the server's lines by segment, read once, and the change rows of each line, made once."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracle.jsontext import dumps, loads
from tests.oracle.rows import Line, change_rows
from tests.oracle.schema import Definition, Follower

SCHEMA = "system_schema"


class Recording:
    """The lines of one set. Their change rows depend on the definitions in force, and are kept by them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[int, list[Line]] = {}
        for file in sorted(path.glob("expected/*.jsonl")):
            named = re.fullmatch(r"CommitLog-\d+-(\d+)(?:\.log)?\.jsonl", file.name)
            assert named is not None, file
            self.lines[int(named[1])] = [loads(line) for line in file.read_bytes().splitlines()]
        self._rows: dict[tuple[int, int, tuple[Definition, ...]], list[tuple[dict[str, Any], str]]] = {}

    def rows(self, line: Line, definitions: tuple[Definition, ...]) -> list[tuple[dict[str, Any], str]]:
        """The line's change rows, each with its `--output json` text."""
        key = (line["segment"], line["end"], definitions)
        if key not in self._rows:
            self._rows[key] = [(row, dumps(row)) for row in change_rows(line, definitions)]
        return self._rows[key]

    @functools.cached_property
    def final(self) -> Follower:
        """What `schema.cql` says: the definitions at the end of all segments, those that are gone by now too."""
        follower = Follower()
        for line in self.every_line():
            if is_schema(line):
                follower.apply(line["updates"])
        return follower

    def every_line(self) -> Iterator[Line]:
        for segment in sorted(self.lines):
            yield from self.lines[segment]


def is_schema(line: Line) -> bool:
    return any(update["keyspace"] == SCHEMA for update in line["updates"])


@functools.cache
def recording(path: Path) -> Recording:
    return Recording(path)
