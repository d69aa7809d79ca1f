"""One `cdc-tail follow --image both` over all nodes of a cluster, killed again and again, and what its images come to.

An image comes again behind a kill, as it was: by its key it counts once. Knows the images' columns and what a workload
writes, and nothing of how they are made.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.cli import program
from tests.helpers.rebuilt import spelled
from tests.oracle.jsontext import dumps, loads
from tests.server.cluster.cluster import Cluster, ClusterNode
from tests.server.cluster.ledger import Entry
from tests.server.cluster.schema import tables

END_SECONDS = 60
OF_NO_ROW = {"delete_range", "delete_partition", "truncate", "schema", "drop"}
KEY = {"pk", "ck"}
DELETIONS = {"delete_range", "delete_partition"}

Image = Mapping[str, Any]


class ImageFollower:
    """Its images stand in a file, in whole lines. `failures`: how it ended by itself."""

    def __init__(self, work: Path) -> None:
        self.failures: list[str] = []
        self.kills = 0
        self._out, self._errors = work / "images.jsonl", work / "images.stderr"
        self._words: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, nodes: Sequence[ClusterNode]) -> None:
        places = ",".join(f"{node.name}={node.cdc_raw}" for node in nodes)
        self._words = program(["follow", places, "--image", "both", "--consumer", "images", "--output", "json"])
        self._run()

    def kill(self) -> None:
        """`kill -9`, and it is started again."""
        assert self._process is not None
        self._end(signal.SIGKILL)
        self.kills += 1
        self._run()

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def images(self) -> list[Image]:
        """Each once, in the order in which they came. One that came again is the same, byte for byte."""
        found: dict[str, tuple[str, Image]] = {}
        whole, _, _ = self._out.read_bytes().rpartition(b"\n")
        for line in whole.decode().splitlines():
            image = loads(line)
            key = dumps([image["table_id"], *_row_of(image), image["seq"]])
            assert found.setdefault(key, (line, image))[0] == line, line
        return [image for _, image in found.values()]

    def _run(self) -> None:
        self._drop_torn_line()
        with self._out.open("ab") as out, self._errors.open("ab") as errors:
            self._process = subprocess.Popen(self._words, stdout=out, stderr=errors)

    def _drop_torn_line(self) -> None:
        """As whoever goes on with such a file does."""
        if self._out.exists():
            whole = self._out.read_bytes().rfind(b"\n") + 1
            os.truncate(self._out, whole)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
        code = process.wait(END_SECONDS)
        if code != (-signal.SIGKILL if how == signal.SIGKILL else 0):
            self.failures.append(f"ended with {code}: {self._errors.read_text()[-4000:]}")


@contextmanager
def ending(follower: ImageFollower) -> Iterator[None]:
    """No process of it is left behind the block."""
    try:
        yield
    finally:
        follower.stop()


def torn(images: Iterable[Image]) -> list[str]:
    """Where the chain is not whole: an image that does not begin where the one before of its row, or of its partition,
    ended. A row that has become known whole in between has nulls where nothing was known."""
    rows: dict[str, Image] = {}
    seqs: dict[str, int] = {}
    found = []
    for image in images:
        partition, row = dumps([image["table_id"], image["partition_key"]]), dumps([image["table_id"], *_row_of(image)])
        if image["prev_seq"] != seqs.get(partition):
            found.append(f"{dumps(image)}: {seqs.get(partition)} was the last seq")
        seqs[partition] = image["seq"]
        if image["op"] not in OF_NO_ROW:
            last = rows.get(row, {"after": None, "complete": True})
            more_known = image["complete"] and not last["complete"]
            if not (_fits(last["after"], image["before"]) if more_known else last["after"] == image["before"]):
                found.append(f"{dumps(image)}: {dumps(last['after'])} was the row before")
            rows[row] = image
    return found


def _fits(partly: Image | None, whole: Image | None) -> bool:
    """Whether a row that is known whole is one that was known in parts: null where it is not there at all."""
    if partly is None:
        return whole is None
    if whole is None:
        return all(value is None for name, value in partly.items() if name not in KEY)
    return all(whole[name] == value for name, value in partly.items())


def differences(cluster: Cluster, images: Iterable[Image]) -> dict[str, set[str]]:
    """By table, the rows that are either what the images add up to, or in SELECT at ALL, and not both."""
    rows: dict[str, dict[str, Any]] = {name: {} for name in tables()}
    for image in images:
        if image["op"] not in OF_NO_ROW:
            rows[f"{image['keyspace']}.{image['table']}"][dumps(_row_of(image))] = image["after"]
    found = {}
    for name, held in rows.items():
        mine = {spelled(row) for row in held.values() if row is not None}
        theirs = {spelled(loads(text)) for text in cluster.query(f"SELECT JSON * FROM {name}")}
        if different := mine ^ theirs:
            found[name] = different
    return found


def without_image(entries: Sequence[Entry], images: Iterable[Image]) -> list[str]:
    """What must have an image and has none, or more than one for the same fact.

    Of each row the newest acknowledged insert or update that nothing newer may have deleted: in whatever order the
    copies were read, its facts took effect when they came first, and later copies did not.
    """
    shown: dict[str, list[Image]] = defaultdict(list)
    for image in images:
        if image["op"] not in OF_NO_ROW:
            name = f"{image['keyspace']}.{image['table']}"
            shown[dumps([name, image["partition_key"], image["clustering"], image["write_ts"]])].append(image)
    found = []
    for entry in _newest(entries):
        write = entry.write
        held = shown[dumps([write.table, write.key, write.clustering, write.timestamp])]
        changed = [name for image in held for name in image["changed"]]
        if not held or len(changed) != len(set(changed)):
            found.append(f"{write.cql()}: {len(held)} images, changed {changed}")
    return found


def _newest(entries: Sequence[Entry]) -> Iterator[Entry]:
    last: dict[str, Entry] = {}
    deleted: dict[str, int] = {}
    for entry in entries:
        write = entry.write
        if write.op in DELETIONS:
            partition = dumps([write.table, write.key])
            deleted[partition] = max(deleted.get(partition, 0), write.timestamp)
            continue
        row = dumps([write.table, write.key, write.clustering])
        if row not in last or last[row].write.timestamp < write.timestamp:
            last[row] = entry
    for entry in last.values():
        write = entry.write
        newer = deleted.get(dumps([write.table, write.key]), 0)
        if entry.acknowledged is not None and write.op in {"insert", "update"} and write.timestamp > newer:
            yield entry


def _row_of(image: Image) -> list[Any]:
    return [image["partition_key"], image["clustering"], image["is_static"]]
