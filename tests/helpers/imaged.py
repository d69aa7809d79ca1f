"""Recorded sets told to a state of images, by one node or by several that log copies, and what the images add up to."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from tailer.images import Image, Merger, Settings
from tailer.images.facts import Fact
from tailer.images.forgetting import Forgotten
from tailer.images.memory import MemoryStore
from tailer.images.merged_tables import SECOND
from tailer.images.packed import pack, unpack
from tailer.images.unit import Merged, Unit
from tailer.rebuild import Table
from tests.helpers.rebuilt import Recorded, spelled, tables_of
from tests.oracle.jsontext import loads

Entry = list[dict[str, Any]]
RowKey = tuple[str, int | None, str | None, str | None, bool]


def entries_of(rows: Iterable[dict[str, Any]], tables: Iterable[str]) -> list[Entry]:
    """The log entries that have rows of these tables (ids as digits), in log order."""
    wanted = set(tables)
    mine = [row for row in rows if row["table_id"].replace("-", "") in wanted]
    return [list(entry) for _, entry in itertools.groupby(mine, lambda row: (row["segment"], row["offset"]))]


class Watched(Merger):
    """A merger that tells which facts took effect, by table, partition and row."""

    def __init__(self, store: MemoryStore, nodes: Sequence[str], settings: Settings) -> None:
        super().__init__(store, nodes, settings)
        self.effects: Counter[tuple[Any, ...]] = Counter()

    def _merged(self, unit: Unit) -> Merged:
        made = super()._merged(unit)
        self.effects.update((unit.part.table.id, unit.part.name, row, fact) for row, fact in made.effects)
        return made


class Imaged:
    """A state of some tables, the images that came of it, and what they add up to."""

    def __init__(
        self,
        tables: Iterable[Table],
        *,
        nodes: Sequence[str] = ("local",),
        created: bool = True,
        started_us: int = 0,
        gc_grace_seconds: int = 864_000,
    ) -> None:
        self.tables = {table.definition.id: table for table in tables}
        self.store = MemoryStore()
        self.merger = Watched(self.store, nodes, Settings(started_us, gc_grace_seconds=gc_grace_seconds))
        self.images: list[Image] = []
        self.fold: dict[RowKey, str | None] = {}
        self.seqs: dict[tuple[Any, ...], int] = {}
        self.now = 0
        self.forgot = False
        for table in self.tables.values():
            self.take(self.merger.define(table, created=created, cdc=True, now_us=0))

    def tell(self, entry: Entry, now_us: int) -> list[Image]:
        self.now = max(self.now, now_us // SECOND)
        return self.take(self.merger.entry(entry, now_us))

    def expire(self, at: int) -> None:
        while images := self.merger.expire(at * SECOND, 100):
            self.take(images)

    def take(self, images: list[Image]) -> list[Image]:
        """Add images to the fold; each begins where the one before of its row, and of its partition, ended."""
        for image in images:
            partition = image.table_id, image.token, image.partition_key
            before = self.seqs.get(partition)
            assert image.prev_seq == before or (image.prev_seq is None and self.forgot), image
            assert before is None or before < image.seq
            self.seqs[partition] = image.seq
            if image.op in ("truncate", "schema", "drop", "delete_range", "delete_partition"):
                continue
            key = (*partition, image.clustering, image.is_static)
            assert self.fold.get(key) == image.before, image
            self.fold[key] = image.after
        self.images += images
        return images

    def rows(self, table: Table) -> list[str]:
        """The rows that the images add up to, as `spelled` has them: joined with their static rows."""
        hidden = {column.name for column in table.definition.columns if column.type == "empty"}
        partitions: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        statics: dict[tuple[Any, ...], dict[str, Any]] = {}
        for (table_id, token, key, _, is_static), after in self.fold.items():
            if table_id.replace("-", "") == table.definition.id and after is not None:
                row = {name: value for name, value in loads(after).items() if name not in hidden}
                if is_static:
                    statics[token, key] = row
                else:
                    partitions[token, key].append(row)
        made = [{**statics.get(where, {}), **row} for where, rows in partitions.items() for row in rows]
        made += [row for where, row in statics.items() if where not in partitions]
        return sorted(map(spelled, made))

    def forget(self, at: int) -> Forgotten:
        """Forget what is old at second `at`; what is seen of each row stays as it was."""
        told = self.merger.forget(at * SECOND, dict.fromkeys(self.merger.nodes, at))
        self.forgot = True
        for (table_id, _, key, clustering, is_static), after in self.fold.items():
            assert key is not None
            assert self.merger.known(table_id, key, clustering, static=is_static).shown == after
        return told

    def facts(self) -> list[Fact]:
        """All facts of the state."""
        return [fact for key, value in self.state().items() for fact in unpack(key[2], value).facts]

    def there(self) -> dict[RowKey, str]:
        """The rows that are there, or of which something is known, by the last image of each."""
        return {key: after for key, after in self.fold.items() if after is not None}

    def state(self) -> dict[tuple[str, bytes, bytes], bytes]:
        """All rows of the state but for `seq`, which grows with each image; headers that have no more are left out."""
        found: dict[tuple[str, bytes, bytes], bytes] = {}
        for table_id in self.tables:
            name = self.store.next_partition(table_id, b"")
            while name is not None:
                for key, value in self.store.scan(table_id, name, b"", b"\xff"):
                    row = unpack(key, value)
                    row.seq = 0
                    if row.facts:
                        found[table_id, name, key] = pack(row)
                name = self.store.next_partition(table_id, name)
        return found


def times(entries: Iterable[Entry], at: int) -> list[int]:
    """For each entry a "now", µs: its write's time, but never back, and not beyond second `at`."""
    made, now = [], 0
    for entry in entries:
        now = max(now, min(max(row["write_ts"] for row in entry), at * SECOND))
        made.append(now)
    return made


def images_of(recording: Recorded) -> list[Image]:
    """The images of a set, up to when it was asked."""
    told = Imaged(tables_of(recording).values())
    entries = entries_of(recording.rows, told.tables)
    for entry, now in zip(entries, times(entries, recording.at), strict=True):
        told.tell(entry, now)
    told.expire(recording.at)
    return told.images


def copied(entries: Sequence[Entry], nodes: Sequence[str], choose: random.Random) -> dict[str, list[Entry]]:
    """Each entry in the logs of one to all nodes, in the order that there is; a TRUNCATE in all."""
    logs: dict[str, list[Entry]] = {node: [] for node in nodes}
    for entry in entries:
        everywhere = any(row["op"] == "truncate" for row in entry)
        for node in nodes if everywhere else choose.sample(nodes, choose.randint(1, len(nodes))):
            logs[node].append([{**row, "node": node} for row in entry])
    return logs


def interleaved(logs: dict[str, list[Entry]], choose: random.Random) -> list[Entry]:
    """The entries of all logs, each log's in its own order."""
    turns = [node for node, entries in logs.items() for _ in entries]
    choose.shuffle(turns)
    left = {node: iter(entries) for node, entries in logs.items()}
    return [next(left[node]) for node in turns]
