"""A small table, changes of it as change rows have them, and a state that they are told to."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from tailer.images import Image, Merger, Settings
from tailer.images.memory import MemoryStore
from tailer.rebuild import Table
from tailer.schema.model import Column, TableDefinition
from tailer.types import murmur3_token

ID = "0" * 31 + "1"
SHOWN_ID = "00000000-0000-0000-0000-000000000001"
SECOND = 1_000_000
START = 1_000 * SECOND
"""What is read begins here; an older `write_ts` is of before."""

KEYS = (Column("k", "partition_key", "int", 0), Column("x", "clustering", "int", 0))
DATA = (Column("s", "static", "int"), Column("v", "regular", "int"), Column("w", "regular", "int"))


def definition(*data: Column, keys: Sequence[Column] = KEYS, **more: Any) -> TableDefinition:
    return TableDefinition(ID, "ks", "t", (*keys, *(data or DATA)), cdc=True, **more)


def change(op: str, ts: int, x: int | None = 1, node: str = "a", k: int = 1, **more: Any) -> dict[str, Any]:
    """A change row at `ts` µs; `columns`, `cells`, `range` as values. Its place is given when it is told."""
    names = ("columns", "range", "cells", "ttl", "expires_at")
    row = dict.fromkeys(names) | {
        "node": node, "keyspace": "ks", "table": "t", "table_id": SHOWN_ID, "op": op, "is_static": False,
        "partition_key": json.dumps({"k": k}), "clustering": None if x is None else json.dumps({"x": x}),
        "write_ts": ts, "token": murmur3_token(k.to_bytes(4, "big")), "segment": 1, "offset": 0, "row": 0, **more,
    }  # fmt: skip
    for name in ("columns", "range", "cells"):
        if row[name] is not None:
            row[name] = json.dumps(row[name])
    return row


def insert(ts: int, x: int = 1, *, node: str = "a", **more: Any) -> dict[str, Any]:
    """An INSERT of the columns given."""
    extra = {name: more.pop(name) for name in ("ttl", "expires_at", "cells", "k") if name in more}
    return change("insert", ts, x, node, columns=more, **extra)


def update(ts: int, x: int | None = 1, *, node: str = "a", **more: Any) -> dict[str, Any]:
    """An UPDATE of the columns given; of the static row with x None."""
    extra = {name: more.pop(name) for name in ("ttl", "expires_at", "cells", "k") if name in more}
    return change("update", ts, x, node, columns=more, is_static=x is None, **extra)


def delete(ts: int, x: int = 1, *, node: str = "a") -> dict[str, Any]:
    return change("delete_row", ts, x, node)


def delete_partition(ts: int, *, node: str = "a") -> dict[str, Any]:
    return change("delete_partition", ts, None, node)


def delete_range(ts: int, start: int | None, end: int | None, *, node: str = "a") -> dict[str, Any]:
    """From `start` on and below `end`."""
    bounds = {
        "start": None if start is None else {"x": start}, "start_inclusive": True,
        "end": None if end is None else {"x": end}, "end_inclusive": end is None,
    }  # fmt: skip
    return change("delete_range", ts, None, node, range=bounds)


def truncate(ts: int, node: str = "a", *, before: int = 10_000) -> dict[str, Any]:
    """Of all that was logged below the offset `before`."""
    return change("truncate", ts, None, node, partition_key=None, range={"before": {"segment": 1, "offset": before}})


class State:
    """A merger with its store, for one table; seconds are counted from `START`."""

    def __init__(
        self,
        *data: Column,
        whole: bool = False,
        nodes: Sequence[str] = ("a", "b", "c"),
        keys: Sequence[Column] = KEYS,
        expirations: bool = True,
        store: MemoryStore | None = None,
        define: bool = True,
        **more: Any,
    ) -> None:
        self.store = store or MemoryStore()
        self.merger = Merger(self.store, nodes, Settings(START, expirations=expirations))
        self.places = itertools.count(10)
        if define:
            self.define(definition(*data, keys=keys, **more), created=whole)

    def define(self, newest: TableDefinition, *, created: bool = False, at: float = 0) -> list[Image]:
        return self.merger.define(Table.of(newest), created=created, cdc=newest.cdc, now_us=now(at))

    def tell(self, *changes: dict[str, Any], at: float = 1) -> list[Image]:
        """One log entry, told at second `at`."""
        place = next(self.places)
        placed = [
            {**row, "offset": place, "row": number, "event_id": f"{row['node']}:1:{place}:{number}"}
            for number, row in enumerate(changes)
        ]
        return self.merger.entry(placed, now(at))

    def told(self, *changes: dict[str, Any], at: float = 1) -> list[tuple[Any, ...]]:
        """The same, of each image what `short` has."""
        return short(self.tell(*changes, at=at))

    def expire(self, at: float) -> list[tuple[Any, ...]]:
        return short(self.merger.expire(now(at), 1000))

    def rows(self) -> dict[tuple[bytes, bytes], bytes]:
        """Everything in the store."""
        found = {}
        name = self.store.next_partition(ID, b"")
        while name is not None:
            found.update({(name, row): value for row, value in self.store.scan(ID, name, b"", b"\xff")})
            name = self.store.next_partition(ID, name)
        return found


def now(at: float) -> int:
    return START + int(at * SECOND)


def short(images: list[Image]) -> list[tuple[Any, ...]]:
    """Op, row before and after without the key (None: not there), and the changed columns."""
    return [(image.op, bare(image.before), bare(image.after), image.changed) for image in images]


def bare(text: str | None) -> Any:
    return None if text is None else {name: v for name, v in json.loads(text).items() if name not in ("k", "x")}
