"""A node with two real users: the server's, whose log it is, and the reader's; set up by the commands of the docs."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.cli import ROOT, Result
from tests.helpers.log_writer import (
    SegmentWriter,
    one_row_log,
    one_row_segment,
    simple_table,
)
from tests.helpers.users import Shared, User, run_tool, users

ONE = 1_700_000_000_001
TABLE = simple_table("ks", "t")
READER, SERVER = (f"cdc-tail-{os.getpid()}-{letter}" for letter in "rs")

# The minute that `clean` gives a server, gone by.
LATER = """
import time
from functools import partial
import tailer.retention.clean as retention
from tailer.retention.needed import Ages
retention.clean = partial(retention.clean, ages=Ages(0, 0), clock=lambda: time.time() + 10_000)
from tailer.cli.app import run; run()
"""


def segment(number: int) -> SegmentWriter:
    return one_row_segment(TABLE, ONE, number)


class Node:
    """A server's folders, which belong to its user, and the reader's user, who may do nothing yet."""

    def __init__(self, shared: Shared, reader: User, server: User) -> None:
        self.shared, self.reader, self.server = shared, reader, server
        self.home = shared.path / "cassandra"
        self.home.mkdir()
        self.log = one_row_log(self.home / "cdc_raw", TABLE, ONE, 4)
        self.state = self.home / "cdc_raw.cdc_tail"
        self.give()

    def give(self) -> None:
        """As a server with a umask of 0027 leaves them."""
        for path in (self.home, self.log.path, *self.log.path.iterdir()):
            os.chown(path, self.server.uid, self.server.gid)
            path.chmod(0o640 if path.is_file() else 0o755 if path == self.home else 0o750)

    def documented(self) -> None:
        """The commands of docs/cassandra.md, section 3, but for `sudo`, and these users and folder in place of its."""
        page = (ROOT / "docs" / "cassandra.md").read_text()
        section = page[page.index("## 3.") : page.index("## 4.")]
        lines = re.search(r"```\n(.*?)```", section, re.DOTALL)
        assert lines is not None
        for line in lines[1].splitlines():
            words = shlex.split(line)
            assert words.pop(0) == "sudo"
            if words[0] == "-u":
                continue
            names = {"cdc": READER, "cassandra": SERVER}
            run_tool(*(names.get(word, word.replace("/var/lib/cassandra", str(self.home))) for word in words))

    def following(self, consumer: str) -> list[str | Path]:
        return ["follow", self.log.path, "--once", "--output", "json", "--consumer", consumer, "--stopped"]

    def follow(self, consumer: str) -> Result:
        return self.shared.run(self.reader, self.following(consumer))

    def clean(self, user: User, *more: str) -> Result:
        return self.shared.run(user, ["clean", self.log.path, *more], LATER)

    def logs(self) -> list[int]:
        return sorted(int(each.stem.split("-")[2]) - ONE for each in self.log.path.glob("*.log"))


@contextmanager
def node_of_two_users() -> Iterator[Node]:
    """A node with new users, all of it gone behind the context."""
    with users(READER, SERVER) as (reader, server):
        shared = Shared()
        try:
            yield Node(shared, reader, server)
        finally:
            shared.close()


def rows(found: Result) -> list[int]:
    """The numbers of the segments whose row came."""
    assert found.code == 0, found.err
    return [json.loads(line)["segment"] - ONE for line in found.lines]
