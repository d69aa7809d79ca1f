"""Many small segments under a small limit of descriptors, in a process of its own: rows by each way of reading.

python -m tests.unit.tail.many_segments FOLDER LIMIT     # a JSON object: rows by way, most descriptors at once
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import tailer
from tailer.options.tail import TailOptions
from tailer.spark.executor import JobPacker, read_job
from tailer.spark.node import Node
from tailer.spark.planner import UNLIMITED

Look = Callable[[], None]


def follow(folder: Path, look: Look) -> Iterator[int]:
    for batch in tailer.open(str(folder), consumer="follow").follow(once=True):
        look()
        yield batch.num_rows


def read(folder: Path, look: Look) -> Iterator[int]:
    for batch in tailer.open(str(folder)).read():
        look()
        yield batch.num_rows


def typed(folder: Path, look: Look) -> Iterator[int]:
    for batch in tailer.open(str(folder), table="shop.orders").read():
        look()
        yield batch.num_rows


def spark(folder: Path, look: Look) -> Iterator[int]:
    """What Spark calls, without a JVM: `initialOffset`, `latestOffset`, the `partitions` of one batch, their rows."""
    node = Node("local", folder, TailOptions(consumer="spark", settle_seconds=0.0), None, lambda line: None)
    first = end = node.initial()
    while node.plan(UNLIMITED)[0]:
        look()
        assert node.handed is not None
        end = node.handed
        node.stand(end)
    for task in node.tasks(first, end, 1):
        look()
        yield sum(batch.num_rows for batch in read_job(JobPacker().pack(task, node.place, node.options, None)))
    node.close()


WAYS = {"follow": follow, "read": read, "typed": typed, "spark": spark}


def main(folder: Path, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    most = 0

    def look() -> None:
        nonlocal most
        most = max(most, sum(1 for _ in Path("/proc/self/fd").iterdir()))

    rows = {name: sum(way(folder, look)) for name, way in WAYS.items()}
    sys.stdout.write(json.dumps({"rows": rows, "most": most}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
