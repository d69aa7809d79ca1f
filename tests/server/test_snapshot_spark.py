"""A Spark query of images that begins with a snapshot of a real server, is killed in its midst, and goes on: what it
knows whole is what SELECT shows.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.helpers.jvm.program import running
from tests.oracle.jsontext import dumps, loads
from tests.server.cluster.spark_command import Checkpoint, SparkCommand
from tests.server.harness import Node
from tests.server.test_snapshot import QUICK, REST_SECONDS, SETTLE_SECONDS, Writer, fill, folded, selected, written

pytestmark = [pytest.mark.server, pytest.mark.spark, pytest.mark.slow]

WHOLE = ("plain", "bare")
"""Of the others Spark cannot tell what a change makes of their lists and counters."""


class SparkFollowing(SparkCommand):
    """`cdc-tail stream --image` that begins with a snapshot. `places`: the logs, and what else says where they are."""

    what = "a snapshot by Spark"

    def __init__(self, places: Sequence[str], settle: float = SETTLE_SECONDS, rows_a_second: int = 40) -> None:
        super().__init__("spark", interrupted=False)
        self._how = {"start_new_session": True}
        self._places = places
        self._asked = ["--snapshot-settle", str(settle), "--rows-per-second", str(rows_a_second), "--incomplete"]

    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        self.checkpoint = Checkpoint(work / "checkpoint")
        asked = ["--from", "snapshot", *self._asked, "--image", "after"]
        into = ["--to", "console", "--output", "json", "--checkpoint", str(self.checkpoint.folder)]
        return ["stream", *self._places, "--consumer", self.name, *asked, *into, "--option", "tickSeconds=1"]

    def stands(self) -> bool:
        """Whether its first offset is on the way."""
        return any((self.checkpoint.folder / "offsets").glob("[0-9]*"))

    def is_read(self) -> bool:
        """Whether all of the snapshot is committed."""
        return self.checkpoint.newest().get("snap", {}).get("end", False) is True

    def kill(self) -> None:
        """Driver, JVM and workers at once."""
        process = self._process
        assert process is not None, "it runs"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # A torn line is cut off, as whoever goes on with such a file does.
        os.truncate(self._out, self._out.read_bytes().rfind(b"\n") + 1)
        self._run()

    def said(self) -> str:
        return self._errors.read_text()


@pytest.fixture(scope="module")
def full(server_here: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("cassandra")
    with running(Node(folder, heap="512m", options=[QUICK])) as node:
        fill(node, 1000)
        yield node


def known(images: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], set[str]]:
    """Each image once, and the keys of rows of which the last one says that they are known in part."""
    once: dict[str, dict[str, Any]] = {}
    parts: dict[str, bool] = {}
    for image in images:
        if image["table"] not in WHOLE or image["op"] in ("delete_range", "delete_partition"):
            continue
        row = dumps([image["table"], image["partition_key"], image["clustering"]])
        # What comes again is the same.
        assert once.setdefault(dumps([row, image["seq"]]), image) == image
        parts[row] = not image["complete"]
    ordered = sorted(once.values(), key=lambda image: int(image["seq"]))
    return ordered, {row for row, part in parts.items() if part}


def without(rows: set[str], parts: set[str]) -> set[str]:
    """Rows of `plain` but for those of partitions that are known in part: a guessed marker may keep some."""
    guessed = {loads(row)[1]["a"] for row in parts if loads(row)[0] == "plain"}
    return {row for row in rows if loads(row)["a"] not in guessed}


class Compared(NamedTuple):
    """`images`: each once. `parts`: the rows that are known in part. `differing`: by table, the rows that images have
    in another way than SELECT, of what is known whole."""

    images: list[dict[str, Any]]
    parts: set[str]
    differing: dict[str, set[str]]


def compared(images: list[dict[str, Any]], select: Callable[[str], set[str]]) -> Compared:
    """All images that came, with what SELECT shows of each table."""
    once, parts = known(images)
    differing = {table: folded(once, table) ^ select(table) for table in WHOLE}
    differing["plain"] = without(differing["plain"], parts)
    return Compared(once, parts, {table: rows for table, rows in differing.items() if rows})


def few(found: Compared) -> bool:
    """Whether most rows are known whole."""
    rows = {dumps([each["table"], each["partition_key"], each["clustering"]]) for each in found.images}
    return len(found.parts) < len(rows) / 4


def test_what_is_known_whole_is_what_select_shows(full: Node, tmp_path: Path) -> None:
    follower = SparkFollowing([str(full.cdc_raw), "--server", f"{full.address}:{full.cql_port}"])
    with full.session() as session, written(Writer(session, 2), 0.05):
        follower.start(full.cdc_raw, tmp_path)
        deadline = time.monotonic() + REST_SECONDS
        while not any('"snapshot:' in line for line in follower.rows()):
            assert time.monotonic() < deadline, follower.said()
            time.sleep(0.2)
        follower.kill()
        time.sleep(10)
    full.sync()
    deadline = time.monotonic() + REST_SECONDS
    try:
        with full.session() as session:
            while True:
                time.sleep(2)
                found = compared([loads(line) for line in follower.rows()], partial(selected, session))
                if not found.differing or time.monotonic() > deadline:
                    break
    finally:
        follower.stop()
    assert follower.failures == []
    assert found.differing == {}, follower.said()
    assert few(found)
    ids = [image["event_id"] for image in found.images if (image["event_id"] or "").startswith("snapshot:")]
    assert len(ids) == len(set(ids)) > 0
