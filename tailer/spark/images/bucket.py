"""What a batch does to one bucket: rows of some partitions of one table go in, their images come out. Knows no Spark.

Bucket 0 of a table tells what becomes of the table as a whole; truncates and definitions go to all of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final

import msgspec

from tailer.errors import DefinitionError, UsageError
from tailer.images import Image, Merger, Settings
from tailer.images.marks import Mark, united
from tailer.images.merged_tables import SECOND
from tailer.images.served import Answer, EventIds, ServedRange
from tailer.images.served_changes import served_rows
from tailer.planning.untold import is_found
from tailer.rebuild import Table
from tailer.rebuild.changes import SNAPSHOT, SNAPSHOT_RANGE, truncation
from tailer.schema.told import capture_begins, told_definition
from tailer.snapshot.served_range import ReadRange, range_of_change
from tailer.spark.images.aging import Aging
from tailer.spark.images.copies import Change, Told, told_once
from tailer.spark.images.job import Job, Spot
from tailer.spark.images.map_store import MapStore
from tailer.spark.images.maps import Maps
from tailer.spark.images.not_yet_dropped import not_yet_dropped
from tailer.tail.created_again import newest_put
from tailer.typed_decode import decode_msgpack
from tailer.versions import VersionNamed, check_version, decoding

VERSION: Final = 4
"""Of all that is kept in the state: which bucket a partition is in, too. 1 and 2 are older forms
(`tailer.image_state.identity.VERSION`), 3 has no `dropped`; all get this version with their next batch."""

_ABOUT: Final = b"bucket"
_AT_ONCE: Final = 1000
SERVED: Final = (SNAPSHOT, SNAPSHOT_RANGE)
_TOKEN: Final = itemgetter("token")
_DASH: Final = "-"


class About(msgspec.Struct, frozen=True):
    """`started_us`: when the bucket was first asked for. `followed`: the nodes of all starts since. `shown`: those
    whose log has shown the table's CREATE. `defined`: whether the table's definition is known. `truncated`: by node
    what a TRUNCATE left nothing before. `dropped`: by node where its log shows the table's last DROP."""

    v: int
    started_us: int
    followed: frozenset[str]
    shown: frozenset[str] = frozenset()
    defined: bool = False
    truncated: dict[str, Spot] = {}
    dropped: dict[str, Spot] = {}


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
        self._nodes = nodes = frozenset(job.nodes)
        self._about = About(VERSION, now_us, nodes) if packed is None else known_about(packed)
        settings = Settings(self._about.started_us, expirations=job.expirations, asks=False)
        self._merger = Merger(self._store, sorted(nodes), settings)
        if not nodes <= self._about.followed:
            # What a node that joins logged before, nobody has merged.
            self._merger.lost(None, now_us)
        self._keep(v=VERSION, followed=self._about.followed | nodes)
        self._aging = None
        if job.forget_after is not None:
            self._aging = Aging(self._store, now_us // SECOND, job.forget_after)

    def take(self, changes: Iterable[Change]) -> list[Image]:
        """The images of a batch's rows; first those of what has expired by now."""
        images = [*self._expire(), *self._known_whole()]
        logged, served = list[Change](), list[Change]()
        for change in changes:
            (served if change["op"] in SERVED else logged).append(change)
        self._check_nodes(logged)
        entries = told_once(logged)
        definitions = [row for told in entries for row in told.rows if row["op"] == "schema" and row["columns"]]
        # What other nodes' logs show behind rows of this one is as sure by now.
        images += self._shown(definitions)
        for told in entries:
            if told.rows[0]["op"] == "schema":
                for row in told.rows:
                    images += self._altered(row)
            else:
                self._be_defined(told.rows[0])
                images += [*self._begun_again(told), *self._logged(told)]
        images += self._confirmed()
        found = self._read(served)
        if self._aging is not None:
            self._aging.ended(found)
        return self._own([*images, *found])

    def expire(self) -> list[Image]:
        """The images of what time alone has done."""
        return self._own(self._expire())

    def close(self) -> int | None:
        """Forget what is old, and put everything into the maps; a second before which nothing is to be done."""
        if self._aging is not None:
            self._aging.forget(expirations=self._job.expirations)
        self._store.flush()
        return self._store.next_due

    @property
    def late_facts(self) -> int:
        """Facts of this batch that took effect although what is older than they was forgotten."""
        return self._merger.late_facts

    def _check_nodes(self, logged: Iterable[Change]) -> None:
        """UsageError for a row of a node that was not named: rows would count as complete before its log was read."""
        if others := {change["node"] for change in logged} - self._nodes:
            raise UsageError(
                f"a row of {self._table_id} comes from a node whose images are not made",
                expected=", ".join(sorted(self._nodes)),
                found=", ".join(sorted(others)),
                remedy="Name all nodes whose rows come: images(…, nodes=[…]).",
            )

    def _altered(self, row: Change) -> list[Image]:
        if is_found(row["event_id"]):
            row = {**row, "event_id": None}
        elif row["columns"] is None:
            place = max(self._about.dropped.get(row["node"], (0, 0)), (row["segment"], row["offset"]))
            self._keep(dropped={**self._about.dropped, row["node"]: place})
        images = self._defined(row)
        if self._aging is not None:
            self._aging.altered()
            self._aging.ended(images)
        return images

    def _logged(self, told: Told) -> list[Image]:
        images = self._merged(told)
        self._note_truncate(told.rows[0])
        if self._aging is not None:
            self._aging.note(told.rows)
            if truncation(told.rows[0]) is not None:
                self._aging.ended(images)
        return images

    def _merged(self, told: Told) -> list[Image]:
        """The images of rows. DefinitionError where they fit no definition that is known."""
        try:
            return self._merger.entry(told.rows, self._now_us, told.copies)
        except DefinitionError:
            # The log does not show each ALTER: the query knows it from a server, or from another node's log.
            images, first = list[Image](), told.rows[0]
            at_place = self._job.table_at(self._id, first["node"], (first["segment"], first["offset"]))
            for table in filter(None, (at_place, self._job.table(self._id))):
                images += self._define(table)
                with suppress(DefinitionError):
                    return images + self._merger.entry(told.rows, self._now_us, told.copies)
            raise

    def _begun_again(self, told: Told) -> list[Image]:
        """What begins before rows of a dropped table that prove that it was created again; see `proves_creation`."""
        known, first = self._merger.table(self._id), told.rows[0]
        if known is None or not known.facts.dropped:
            return []
        if newest_put((row["op"], row["write_ts"]) for row in told.rows) <= (known.facts.ended_at or 0):
            return []
        for node, (segment, _) in ((first["node"], (first["segment"], 0)), *told.copies):
            ended = self._about.dropped.get(node)
            if ended is not None and segment > ended[0] + 1:
                table, created = known.facts.table, self._is_created()
                return self._merger.define(
                    table, created=created, cdc=True, now_us=self._now_us, node=node, begins=True
                )
        return []

    def _known_whole(self) -> list[Image]:
        """What becomes complete because the last node whose log had not shown the CREATE left."""
        known = self._merger.table(self._id) if self._about.defined and self._is_created() else None
        facts = None if known is None else known.facts
        if facts is None or facts.whole or facts.dropped or not (facts.cdc and facts.usual):
            return []
        was_missed = facts.epoch > facts.begun or (facts.ended_at is not None and not facts.reached >= self._nodes)
        return [] if was_missed else self._define(facts.table)

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
            if node in self._about.shown or log is None or capture_begins(row["columns"]):
                continue
            if is_found(row["event_id"]):
                # What somebody else says of the table is no CREATE that its log shows.
                continue
            if not log.creates(self._id, (row["segment"], row["offset"])):
                continue
            self._keep(shown=self._about.shown | {node})
            if self._about.defined and self._is_created():
                images += self._define(self._table_of(row))
        return images

    def _be_defined(self, row: Change) -> None:
        if not self._about.defined:
            table = self._job.table_at(self._id, row["node"], (row["segment"], row["offset"]))
            if table is None:
                raise DefinitionError(
                    f"a change of the table with id {self._table_id}, of which no definition is known",
                    remedy="Give its definition: images(changes, [table_definition(…)]).",
                )
            self._define(table)

    def _defined(self, change: Change) -> list[Image]:
        if change["columns"] is not None and not self._about.defined:
            self._define(self._table_of(change))
        return [*self._merger.entry([change], self._now_us), *self._confirmed()]

    def _confirmed(self) -> list[Image]:
        images: list[Image] = []
        while self._merger.confirms:
            images += self._merger.confirm(self._now_us)
        return images

    def _table_of(self, change: Change) -> Table:
        definition = told_definition(change["columns"])
        log, known = self._job.nodes.get(change["node"]), self._job.table(self._id)
        native = log is not None and log.native
        # What its types' fields were called before, no definition says.
        fields = {} if known is None else known.fields
        return Table(definition, fields, native).succeeded_by(Table.of(definition, native=native))

    def _define(self, table: Table) -> list[Image]:
        self._keep(defined=True)
        created, cdc = self._is_created(), table.definition.cdc
        return [*self._merger.define(table, created=created, cdc=cdc, now_us=self._now_us), *self._confirmed()]

    def _is_created(self) -> bool:
        """Whether the logs of all nodes have shown the table's CREATE."""
        return self._about.shown >= self._nodes

    def _note_truncate(self, change: Change) -> None:
        found = truncation(change)
        if found is not None:
            node, before = found
            before = max(before, self._about.truncated.get(node, before))
            self._keep(truncated={**self._about.truncated, node: before})

    def _read(self, served: Sequence[Change]) -> list[Image]:
        """The images of what a server had, range by range."""
        rows = sorted((each for each in served if each["op"] == SNAPSHOT), key=_TOKEN)
        images: list[Image] = []
        for change in served:
            if change["op"] == SNAPSHOT_RANGE:
                told = range_of_change(change)
                ends = (bisect_right(rows, edge, key=_TOKEN) for edge in (told.low, told.high))
                images += self._read_range(told, change, rows[slice(*ends)])
        return images

    def _read_range(self, told: ReadRange, change: Change, rows: Sequence[Change]) -> list[Image]:
        if any(before > told.places.get(node, before) for node, before in self._about.truncated.items()):
            # What is there now was written behind the TRUNCATE, and the log tells all of that.
            return []
        images = self._define(self._read_by(told, change))
        known = self._merger.table(self._id)
        assert known is not None, "it was just defined"
        if known.facts.dropped:
            return []
        if self._aging is not None:
            self._aging.note(rows)
        found = ServedRange(told.low, told.high, served_rows(rows, known.plan))
        marks = united([(Mark(self._merger.number(node), place),) for node, place in told.places.items()])
        # What was lost since then, or never followed, would be missing without a trace.
        lost = known.facts.epoch > 1 and told.until < known.facts.complete_since
        complete = told.complete and not lost and frozenset(told.nodes) == frozenset(self._job.nodes)
        ids = EventIds(f"{change['event_id']}/{self._number}.")
        return images + self._merger.served(self._id, found, Answer(told.until, complete, marks, ids), self._now_us)

    def _read_by(self, told: ReadRange, change: Change) -> Table:
        """The definition of a range, as far as the log is behind it: of some node whose log had been looked at then."""
        table, known = self._table_of(change), self._merger.table(self._id)
        if known is not None:
            return not_yet_dropped(table, known.facts.table)
        places = sorted(told.places.items())
        found = (self._job.table_at(self._id, node, place) for node, place in places)
        earlier = next(filter(None, found), None)
        return table if earlier is None else not_yet_dropped(table, earlier)

    def _keep(self, **changed: Any) -> None:
        self._about = msgspec.structs.replace(self._about, **changed)
        self._store.put_meta(_ABOUT, encode_about(self._about))


def encode_about(about: About) -> bytes:
    return _ENCODER.encode(about)


def known_about(packed: bytes) -> About:
    """RefusedError for what a later version keeps."""
    with decoding("the state of images"):
        check_version(decode_msgpack(packed, VersionNamed).v, VERSION, "the state of images", file="checkpoint")
        return decode_msgpack(packed, About)


_ENCODER: Final = msgspec.msgpack.Encoder(order="sorted")
