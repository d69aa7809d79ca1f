"""What a batch does to one bucket: rows of some partitions of one table go in, their images come out. Knows no Spark.

Bucket 0 of a table tells what becomes of the table as a whole; truncates and definitions go to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tailer.errors import DefinitionError
from tailer.images import Image, Merger, Settings
from tailer.images.merger import SECOND
from tailer.rebuild import Table
from tailer.schema.model import TableDefinition
from tailer.spark.images.aging import Aging
from tailer.spark.images.copies import Change, told_once
from tailer.spark.images.job import Job
from tailer.spark.images.map_store import MapStore
from tailer.spark.images.maps import Maps
from tailer.typed_decode import decode_json, decode_msgpack
from tailer.versions import Versioned, check_version

VERSION: Final = 1
"""Of all that is kept in the state: which bucket a partition is in, too."""

_ABOUT: Final = b"bucket"
_AT_ONCE: Final = 1000
_DASH: Final = "-"


class _About(msgspec.Struct, frozen=True):
    """`started_us`: when the bucket was first asked for. `followed`: the nodes of all starts since. `shown`: those
    whose log has shown the table's CREATE. `defined`: whether the table's definition is known."""

    v: int
    started_us: int
    followed: frozenset[str]
    shown: frozenset[str] = frozenset()
    defined: bool = False


class Bucket:
    """For one batch. `now_us`: its time, which never goes back. Nothing is in the maps before `close`."""

    def __init__(self, table_id: str, number: int, maps: Maps, job: Job, now_us: int) -> None:
        self._table_id = table_id
        self._id = table_id.replace(_DASH, "")
        self._number = number
        self._job = job
        self._now_us = now_us
        self._store = MapStore(self._id, maps)
        packed = self._store.meta(_ABOUT)
        nodes = frozenset(job.nodes)
        self._about = _About(VERSION, now_us, nodes) if packed is None else _known(packed)
        settings = Settings(self._about.started_us, expirations=job.expirations)
        self._merger = Merger(self._store, sorted(nodes), settings)
        if not nodes <= self._about.followed:
            # What a node that joins logged before, nobody has merged.
            self._merger.lost(None, now_us)
        self._keep(followed=self._about.followed | nodes)
        self._aging = None
        if job.forget_after is not None:
            self._aging = Aging(self._store, now_us // SECOND, job.forget_after)

    def take(self, changes: Iterable[Change]) -> list[Image]:
        """The images of a batch's rows; first those of what has expired by now."""
        images = self._expire()
        entries = told_once(changes)
        definitions = [row for told in entries for row in told.rows if row["op"] == "schema" and row["columns"]]
        # What other nodes' logs show behind rows of this one is as sure by now.
        images += self._shown(definitions)
        for told in entries:
            if told.rows[0]["op"] == "schema":
                for row in told.rows:
                    images += self._defined(row)
                if self._aging is not None:
                    self._aging.altered()
            else:
                self._be_defined()
                images += self._merger.entry(told.rows, self._now_us, told.copies)
                if self._aging is not None:
                    self._aging.note(told.rows)
        return self._own(images)

    def expire(self) -> list[Image]:
        """The images of what time alone has done."""
        return self._own(self._expire())

    def close(self) -> int | None:
        """Forget what is old, and put everything into the maps; a second before which nothing is to be done."""
        if self._aging is not None:
            self._aging.forget(expirations=self._job.expirations)
        self._store.flush()
        return self._store.next_due

    def _expire(self) -> list[Image]:
        images: list[Image] = []
        while self._merger.due(self._now_us):
            images += self._merger.expire(self._now_us, _AT_ONCE)
        return images

    def _own(self, images: list[Image]) -> list[Image]:
        return images if self._number == 0 else [image for image in images if image.token is not None]

    def _shown(self, definitions: Iterable[Change]) -> list[Image]:
        """Take note of those that are the table's CREATE."""
        images: list[Image] = []
        for row in definitions:
            node, log = row["node"], self._job.nodes.get(row["node"])
            if node in self._about.shown or log is None or not log.creates(self._id, (row["segment"], row["offset"])):
                continue
            self._keep(shown=self._about.shown | {node})
            if self._about.defined and self._is_created():
                images += self._define(self._table_of(row))
        return images

    def _be_defined(self) -> None:
        if not self._about.defined:
            table = self._job.table(self._id)
            if table is None:
                raise DefinitionError(
                    f"a change of the table with id {self._table_id}, of which no definition is known",
                    remedy="Give its definition: images(changes, [table_definition(…)]).",
                )
            self._define(table)

    def _defined(self, change: Change) -> list[Image]:
        if change["columns"] is not None and not self._about.defined:
            self._define(self._table_of(change))
        return self._merger.entry([change], self._now_us)

    def _table_of(self, change: Change) -> Table:
        definition = decode_json(change["columns"], TableDefinition)
        log, known = self._job.nodes.get(change["node"]), self._job.table(self._id)
        native = log is not None and log.native
        # What its types' fields were called before, no definition says.
        fields = {} if known is None else known.fields
        return Table(definition, fields, native).succeeded_by(Table.of(definition, native=native))

    def _define(self, table: Table) -> list[Image]:
        self._keep(defined=True)
        return self._merger.define(table, created=self._is_created(), cdc=table.definition.cdc, now_us=self._now_us)

    def _is_created(self) -> bool:
        """Whether the logs of all nodes have shown the table's CREATE."""
        return self._about.shown >= frozenset(self._job.nodes)

    def _keep(self, **changed: Any) -> None:
        self._about = msgspec.structs.replace(self._about, **changed)
        self._store.put_meta(_ABOUT, _ENCODER.encode(self._about))


def _known(packed: bytes) -> _About:
    """RefusedError for what a later version keeps."""
    check_version(decode_msgpack(packed, Versioned).v, VERSION, "the state of images", file="checkpoint")
    return decode_msgpack(packed, _About)


_ENCODER: Final = msgspec.msgpack.Encoder(order="sorted")
