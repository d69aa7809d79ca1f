"""The server's own view of its log over a whole run: every segment that was ever in `cdc_raw`, each position seen once.

The server deletes segments when it likes, and its reader decodes with the schema of *now*. So a thread holds every
segment open from the moment it appears, and `look()` is to be called before each schema change; of each position the
first view is kept. Segments are held by descriptor, not by a hard link: a link would change the link counts by which
a tailer tells a finished segment. Knows the line format of the dump only as far as positions go.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.helpers.again import again
from tests.server.harness import Node

LOOK_SECONDS = 0.02


class Keeper:
    """Holds every segment of a folder open from when it appears, as long as its block lasts."""

    def __init__(self, cdc_raw: Path) -> None:
        self._folder = cdc_raw
        self._held: dict[str, int] = {}
        self._open = ExitStack()

    def __enter__(self) -> Keeper:
        self._open.callback(self._let_go)
        self._open.enter_context(again(self.look, LOOK_SECONDS, "segment keeper"))
        return self

    def __exit__(self, *told: Any) -> None:
        self._open.__exit__(*told)

    @property
    def names(self) -> list[str]:
        """Every segment seen so far, by id."""
        return sorted(self._held, key=lambda name: int(name.removesuffix(".log").rpartition("-")[2]))

    def content(self, name: str) -> bytes:
        """The whole file as it is now, deleted or not."""
        descriptor = self._held[name]
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, size, 0)

    def look(self) -> None:
        """Opens what is new in the folder. The thread does this all the time."""
        for file in self._folder.glob("CommitLog-*.log"):
            if file.name in self._held:
                continue
            try:
                descriptor = os.open(file, os.O_RDONLY)
            except FileNotFoundError:
                continue  # deleted between the listing and here, before any change could be in it
            self._held[file.name] = descriptor

    def _let_go(self) -> None:
        for descriptor in self._held.values():
            os.close(descriptor)


class ServerView:
    """The lines of `dump` for all that the keeper holds: of each position the first one seen."""

    def __init__(self, node: Node, keeper: Keeper, work: Path) -> None:
        self._node = node
        self._keeper = keeper
        self._work = work
        self._lines: dict[tuple[int, int], str] = {}
        self._dumped: dict[str, bytes] = {}
        self.problems: dict[str, str] = {}

    @property
    def lines(self) -> list[str]:
        """One JSON line a mutation, as dumped, in log order."""
        return [self._lines[place] for place in sorted(self._lines)]

    def look(self) -> None:
        """Makes the server sync (a drained one has), and takes in what is new in every segment."""
        if not self._node.drained:
            self._node.sync()
        self._keeper.look()
        for name in self._keeper.names:
            content = self._keeper.content(name)
            if self._dumped.get(name) != content:
                self._dump(name, content)
                self._dumped[name] = content

    def _dump(self, name: str, content: bytes) -> None:
        copy = self._work / name
        copy.write_bytes(content)
        self.problems.pop(name, None)
        out = self._work / f"{name}.jsonl"
        self._node.dump(copy, out)
        for text in out.read_text("utf-8").splitlines():
            line = json.loads(text)
            if "problem" in line:
                self.problems[name] = line["problem"]
            else:
                self._lines.setdefault((line["segment"], line["end"]), text)
        copy.unlink()
