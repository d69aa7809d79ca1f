"""Images as Spark's tasks make them, without Spark: buckets over maps in this process, batch by batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from tailer.images import Image
from tailer.rebuild import Table
from tailer.spark.images.bucket import Bucket
from tailer.spark.images.job import Job, Node, raw
from tailer.spark.images.maps import Maps


@dataclass
class DictMap:
    """A map as Spark keeps it; its keys come in no order. `calls`: how often it was asked."""

    kept: dict[bytes, bytes] = field(default_factory=dict)
    calls: int = 0

    def get(self, key: bytes) -> bytes | None:
        self.calls += 1
        return self.kept.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self.calls += 1
        self.kept[key] = value

    def remove(self, key: bytes) -> None:
        self.calls += 1
        self.kept.pop(key, None)

    def keys(self) -> list[bytes]:
        self.calls += 1
        return sorted(self.kept, key=lambda key: key[::-1])

    def items(self) -> list[tuple[bytes, bytes]]:
        return [(key, self.kept[key]) for key in self.keys()]


def dict_maps() -> Maps:
    return Maps(*(DictMap() for _ in Maps._fields))


class Buckets:
    """All buckets of some tables."""

    def __init__(self, tables: Iterable[Table], nodes: Iterable[str], *, buckets: int = 4) -> None:
        self._buckets = buckets
        self.job = Job({node: Node({}) for node in nodes}, {held.definition.id: raw(held) for held in tables})
        self.maps: dict[tuple[str, int], Maps] = defaultdict(dict_maps)
        self.due: dict[tuple[str, int], int | None] = {}
        self.late = 0

    def batch(self, rows: Iterable[dict[str, Any]], now_us: int) -> list[Image]:
        """One batch: rows go where Spark's shuffle takes them, and what is due expires everywhere."""
        told: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            count = self._buckets
            for number in range(count) if row["token"] is None else [row["token"] % count]:
                told[row["table_id"], number].append(row)
        due = [key for key, second in self.due.items() if second is not None and second <= now_us // 1_000_000]
        images = []
        for key in dict.fromkeys([*told, *due]):
            bucket = Bucket(*key, self.maps[key], self.job, now_us)
            images += bucket.take(told[key]) if key in told else bucket.expire()
            self.due[key] = bucket.close()
            self.late += bucket.late_facts
        return images


def schema_row(table: Table, node: str) -> dict[str, Any]:
    """The CREATE of a table, captured from then on, as the first thing in a node's log."""
    held = msgspec.structs.replace(table.definition, cdc=True)
    return {
        "node": node, "keyspace": held.keyspace, "table": held.table, "table_id": str(UUID(held.id)), "op": "schema",
        "token": None, "partition_key": None, "clustering": None, "columns": msgspec.json.encode(held).decode(),
        "segment": 0, "offset": 0, "row": 1_000_000, "event_id": f"{node}:0:0:1000000",
    }  # fmt: skip
