"""A query over log folders as far as it needs no Spark: the rows of its batches, and the images of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tailer.images import Image
from tailer.options.to_spark import SourceOptions, parse_options
from tailer.spark.executor import JobPacker, read_job
from tailer.spark.images.followed import followed
from tailer.spark.node import Node
from tailer.spark.planner import UNLIMITED
from tailer.state.offset import NodeOffset
from tests.helpers.bucketed import Buckets


@dataclass
class Query:
    """Runs of one query; each ends where the logs end."""

    logs: Mapping[str, Path]
    consumer: str = "spark"
    at: dict[str, NodeOffset] = field(default_factory=dict)
    buckets: Buckets = field(default_factory=lambda: Buckets([], (), buckets=1))

    def rows(self, *, max_bytes: int = UNLIMITED, **options: str) -> list[dict[str, Any]]:
        """What is new, of all nodes."""
        found = []
        for name, path in self.logs.items():
            given = replace(self._source(options).of(name, once=False), settle_seconds=0.0)
            node = Node(name, path, given, None, lambda line: None)
            try:
                found += self._node_rows(name, node, max_bytes)
            finally:
                node.close()
        return found

    def _node_rows(self, name: str, node: Node, max_bytes: int) -> list[dict[str, Any]]:
        start = self.at.get(name) or node.initial()
        node.stand(start)
        rows = []
        while node.plan(max_bytes)[0]:
            end = node.handed
            assert end is not None
            tasks = node.tasks(start, end)
            jobs = [JobPacker().pack(task, node.place, node.options, node.carried(task)) for task in tasks]
            jobs += node.told(start, end, tasks)
            rows += [row for job in jobs for batch in read_job(job) for row in batch.to_pylist()]
            node.stand(end)
            node.move_consumer(end)
            start = end
        self.at[name] = start
        return rows

    def run(self, now_us: int, **options: str) -> list[Image]:
        """A start of the query, and one batch of all that is new."""
        self.buckets.job = followed([self._source(options)], (), None).job()
        return self.buckets.batch(self.rows(**options), now_us)

    def _source(self, options: Mapping[str, str]) -> SourceOptions:
        path = ",".join(f"{name}={path}" for name, path in self.logs.items())
        return parse_options({"path": path, "includeSchemaChanges": "true", "consumer": self.consumer, **options})
