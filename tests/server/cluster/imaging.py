"""What makes images of a cluster's logs, killed again and again: one `cdc-tail follow` over all nodes, or one query.

Its images stand in a file, and beside it in which order the nodes' logs were merged: what must have an image is told
by that. Knows neither what is written nor what images come to.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tailer.image_state.file import ImageFile
from tailer.image_state.identity import place_of
from tailer.planning.two_positions import offset_of_text
from tailer.position import Position
from tests.helpers.cli import program
from tests.oracle.jsontext import dumps, loads
from tests.server.cluster.awaited import awaited
from tests.server.cluster.cluster import ClusterNode
from tests.server.cluster.spark_command import Checkpoint, SparkCommand
from tests.server.followers import CommandFollower

CONSUMER = "images"
MERGED_SECONDS = 600.0
MAX_BYTES = "2m"

Image = Mapping[str, Any]

_NOTES = """
import os
import tailer.tail.images.stream as stream
put, out = stream.put_place, os.open({file!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def put_place(transaction, node, place):
    put(transaction, node, place)
    os.write(out, f"{{node}} {{place.offset}}\\n".encode())
stream.put_place = put_place
"""
"""Notes the place behind each transaction before it is durable, in the process that makes images."""


class Imaging(CommandFollower):
    """A `CommandFollower` over all nodes, whose lines are images. `in_order`: as they were merged, whichever partitions
    they are of."""

    in_order: ClassVar[bool] = True

    def __init__(self, work: Path) -> None:
        super().__init__("images", interrupted=False)
        self.kills = 0
        self._work = work
        self._lock = threading.Lock()
        self._nodes: dict[str, ClusterNode] = {}

    def follow(self, nodes: Sequence[ClusterNode]) -> None:
        """From the beginning of their logs."""
        self._out, self._errors = self._work / "images.jsonl", self._work / "images.stderr"
        self._nodes = {node.name: node for node in nodes}
        self._begin()

    def kill(self) -> None:
        """`kill -9` of all its processes, and it is started again."""
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                self._look_after()
                return
            self._process = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.kills += 1
            self._begin()

    def add(self, node: ClusterNode) -> None:
        """A node is about to join."""
        with self._lock:
            self._end()
            self._nodes[node.name] = node
            self._begin()

    def remove(self, node: ClusterNode, last: Position) -> None:
        """A node has left for good: returns when its log is merged up to its last row, and it is given up."""

        def is_merged() -> bool:
            return self._merged(node.name) > last or not self.running

        awaited(is_merged, f"{node.name} is merged to {last}", MERGED_SECONDS)
        with self._lock:
            self._end()
            del self._nodes[node.name]
            self._left(node)
            self._begin()

    def stop(self) -> None:
        with self._lock:
            super().stop()

    def images(self) -> list[Image]:
        """Each once, in the order in which they came. One that came again is the same, byte for byte."""
        found: dict[str, tuple[str, Image]] = {}
        for line in self.rows():
            image = loads(line)
            key = dumps([image["table_id"], *row_of(image), image["seq"]])
            assert found.setdefault(key, (line, image))[0] == line, line
        return [image for _, image in found.values()]

    def arrived(self) -> list[dict[str, Position]]:
        """What was merged one after the other: up to which place of which node's log. Of several nodes at once in the
        order of their names."""
        raise NotImplementedError

    def _merged(self, name: str) -> Position:
        """How far a node's log is."""
        return max((ends[name] for ends in self.arrived() if name in ends), default=Position(0, 0))

    def _left(self, node: ClusterNode) -> None:
        """A node is given up."""

    def _program(self) -> list[str]:
        raise NotImplementedError

    def _begin(self) -> None:
        self._how = {"start_new_session": True}
        self._command = self._program()
        if self._out.exists():
            # A torn line is cut off, as whoever goes on with such a file does.
            os.truncate(self._out, self._out.read_bytes().rfind(b"\n") + 1)
        self._run()

    def _places(self) -> str:
        return ",".join(f"{name}={node.cdc_raw}" for name, node in self._nodes.items())


class ImageFollower(Imaging):
    """`cdc-tail follow --image both`."""

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self._notes, self._state = work / "images.merged", work / "images.state"

    def arrived(self) -> list[dict[str, Position]]:
        return [{name: _position(offset)} for name, offset in self._noted()]

    def _program(self) -> list[str]:
        self._drop_note()
        words = ["follow", self._places(), "--image", "both", "--consumer", CONSUMER, "--output", "json"]
        return program([*words, "--image-state", self._state], _NOTES.format(file=str(self._notes)))

    def _noted(self) -> list[list[str]]:
        return [line.split(" ", 1) for line in self._notes.read_text().splitlines()] if self._notes.exists() else []

    def _drop_note(self) -> None:
        """The last one, where the process was killed before that was durable."""
        noted = self._noted()
        if not noted:
            return
        (name, offset), file = noted[-1], ImageFile(self._state)
        try:
            place = file.read(lambda seen: place_of(seen, name))
        finally:
            file.close()
        if place is None or place.offset != offset:
            self._notes.write_text("".join(" ".join(note) + "\n" for note in noted[:-1]))


class ImageQuery(Imaging, SparkCommand):
    """`cdc-tail stream --image both`: of each partition in their order."""

    what = "the images of a cluster"
    in_order = False

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self._checkpoint = Checkpoint(work / "images.checkpoint")
        self._removed: dict[str, ClusterNode] = {}

    def arrived(self) -> list[dict[str, Position]]:
        return self._checkpoint.ends()

    def _left(self, node: ClusterNode) -> None:
        self._removed[node.name] = node

    def _places(self) -> str:
        # What is left in such a log is read first, and only then the node leaves the query.
        left = [f"{name}={node.cdc_raw}" for name, node in self._removed.items()]
        return ",".join([super()._places(), *left])

    def _program(self) -> list[str]:
        words = ["stream", self._places(), "--image", "both", "--consumer", CONSUMER, "--to", "console"]
        words += ["--output", "json", "--checkpoint", str(self._checkpoint.folder)]
        # Small batches: a run that is killed soon has made some, for one that was not finished is begun anew.
        words += ["--max-bytes", MAX_BYTES]
        # All of them are read again when the run is over.
        words += ["--conf", "spark.sql.streaming.minBatchesToRetain=1000000", "--conf", "spark.master=local[2]"]
        words += [word for name in self._removed for word in ("--removed-nodes", name)]
        return program(words)


class Killing:
    """Kills, as often as it is told to, each time a random moment after the last."""

    def __init__(self, imaging: Imaging, times: float, seconds: tuple[float, float]) -> None:
        self._imaging = imaging
        self._times, self._seconds = times, seconds
        self._choose = random.Random(7)
        self._next = 0.0

    def look(self) -> None:
        if not self._next:
            self._next = time.monotonic() + self._choose.uniform(*self._seconds)
        elif time.monotonic() >= self._next and self._imaging.kills < self._times:
            self._imaging.kill()
            self._next = 0.0


IMAGING: dict[str, Callable[[Path], Imaging]] = {"follow": ImageFollower, "spark": ImageQuery}


def row_of(image: Image) -> list[Any]:
    """Which row it is of, within its table."""
    return [image["partition_key"], image["clustering"], image["is_static"]]


def _position(offset: str) -> Position:
    return offset_of_text(offset, "the images of a cluster").position
