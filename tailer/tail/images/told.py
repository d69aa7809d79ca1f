"""What one node's tail knows that the merging of its rows must be told: definitions, CREATEs, and what was lost.

Reads the tail's parts, and changes nothing there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from tailer.definitions.event import DefinitionEvent
from tailer.definitions.evidence import created_capturing
from tailer.errors import UsageError
from tailer.image_state.identity import FollowedNode
from tailer.images import Image
from tailer.planning.history_held import held_log
from tailer.planning.two_positions import offset_of_text, offset_text
from tailer.position import Position
from tailer.rebuild import Table
from tailer.rows.place import Place as PlaceOfRows
from tailer.rows.schema_row import schema_batch
from tailer.schema.model import TableDefinition
from tailer.schema.record_definitions import is_native
from tailer.schema.selection import Selection
from tailer.schema.told import told_definition, told_text
from tailer.sinks.outlet import Place
from tailer.state.journal_records import LOG, SERVER, LossRecord, SkipRecord
from tailer.tail.created_again import proves_creation
from tailer.tail.images.merging import Merging
from tailer.tail.images.waiting import COLUMNS
from tailer.tail.tail import Tail

_DASH: Final = "-"


def began(tail: Tail, folder: str) -> FollowedNode:
    """What is known of a node whose log is followed from where its tail stands now. `folder`: its state's id."""
    parts, at = tail.parts, tail.taken
    ends, keys = parts.journal.segment_ends(None), parts.options.keys()
    held = held_log(parts.source, parts.cleaned.refresh().segments, ends, keys, parts.older.previous)
    gone = [segment for lost in (held.cleaned, held.gone) for segment in lost.lasts[-1:]]
    whole = held.whole and not gone and not held.dropped and at.position <= Position(held.first, 0)
    return FollowedNode(folder, offset_text(at), max([held.dropped, *gone]), whole, parts.journal.count)


def reached_by(tail: Tail, followed: FollowedNode, place: Place | None) -> Position:
    """Up to where changes of definitions have taken effect in a state that has a node's rows up to a place; None where
    it has none yet."""
    text = followed.began if place is None else place.offset
    at = offset_of_text(text, "the state of images").position
    # What changed in segments before the first one that is there is of the history.
    return at if place is not None else max(at, Position(min(tail.segments(), default=0), 0))


def _before(at: Position) -> Position:
    """The position before another one."""
    return Position(at.segment, at.offset - 1)


def _last(record: LossRecord | SkipRecord) -> int:
    """The last segment of which something is missing."""
    if isinstance(record, SkipRecord):
        return record.at.segment
    return record.end.segment if record.end.offset else record.end.segment - 1


class Told:
    """Of one node's rows."""

    def __init__(self, tail: Tail) -> None:
        self._tail = tail
        self._node = tail.options.node
        self._given: dict[str, tuple[Any, TableDefinition | None]] = {}
        self._pending: dict[str, tuple[Any, TableDefinition | None]] = {}
        self._at: Position | None = None
        self._version: tuple[int, int] | None = None

    def begin(self, merging: Merging, place: Place | None) -> None:
        """A transaction begins, perhaps anew, behind the rows up to a place; None for the first one of the node."""
        self._pending = dict(self._given)
        self._at, self._version = reached_by(self._tail, merging.followed[self._node], place), None

    def settled(self) -> None:
        """It is durable."""
        self._given = self._pending

    def is_one(self, first: Position, last: Position) -> bool:
        """Whether definitions are the same for all entries from one to another."""
        history = self._tail.parts.definitions.history
        return history.version_at(first) == history.version_at(last)

    def before(
        self, merging: Merging, at: Position, tables: Iterable[str] = (), newest: Callable[[str], int] = lambda id: 0
    ) -> list[Image]:
        """What has to be known before the entry at a position, which has rows of these tables (ids as rows have them).
        `newest`: the `newest_put` of its rows of a table.

        First each definition that changed up to there takes effect, one after the other. The entry that changed it may
        be in a segment that is gone: another consumer's journal has it.
        """
        images = self._changed(merging, at)
        for id in tables:
            images += self._define(merging, id.replace(_DASH, ""), at, partial(newest, id))
        return images

    def ended(self, merging: Merging, at: Position, rows: list[dict[str, Any]]) -> list[Image]:
        """What ends before an entry that changes definitions: a table that it creates again, where the log lacks the
        DROP. `at`: where it begins. `rows` have from here on when the journal had the change (`learnt`), and the DROP
        of each table that is known and does not capture any more."""
        if not any(row["op"] == "schema" for row in rows):
            return []
        made = self._tail.parts.definitions.history.made_by(at)
        if made is None:
            return []
        told = {row["table_id"] for row in rows}
        rows += [row for row in self._rows(merging, made) if row["table_id"] not in told]
        for row in rows:
            row["learnt"] = made.learnt if made.at.segment > merging.followed[self._node].lacks else 0
        return [] if at < self._reached else self._ended(merging, made, rows)

    def behind(self, merging: Merging, at: Position, rows: Sequence[dict[str, Any]]) -> list[Image]:
        """What is known behind an entry that changes definitions, and shows that by rows. `at`: where it begins."""
        shown = [row for row in rows if row["op"] == "schema"]
        if not shown:
            return []
        made = self._tail.parts.definitions.history.made_by(at)
        if made is not None and at >= self._reached:
            self._at = made.at
        images: list[Image] = []
        for row in shown:
            if row["columns"] is not None:
                images += self._shown(merging, row["table_id"].replace(_DASH, ""), at if made is None else made.at)
        return images

    def _ended(self, merging: Merging, event: DefinitionEvent, rows: Iterable[dict[str, Any]]) -> list[Image]:
        """See `ended`. A row that shows a CREATE gets its time, which change rows do not have."""
        history, images = self._tail.parts.definitions.history, list[Image]()
        for row in rows:
            if row["op"] == "schema" and row["columns"] is not None:
                id = row["table_id"].replace(_DASH, "")
                row["write_ts"] = history.created_in(id, event)
                time, known = event.again.get(id), merging.merger.table(id)
                if time is not None and known is not None and not (known.facts.dropped or known.facts.supposed):
                    drop = {**row, "columns": None, "write_ts": time, "event_id": None}
                    images += merging.merger.entry([drop], merging.now_us)
        return images

    @property
    def _reached(self) -> Position:
        """Changes of definitions that are valid from here on, or earlier, have taken effect."""
        assert self._at is not None, "a transaction has begun"
        return self._at

    def _changed(self, merging: Merging, at: Position) -> list[Image]:
        history, images = self._tail.parts.definitions.history, list[Image]()
        version = history.version_at(at)
        if version == self._version or at <= self._reached:
            return images
        for event in history.between(self._reached, at):
            rows = self._rows(merging, event)
            for row in rows:
                row["learnt"] = event.learnt if event.at.segment > merging.followed[self._node].lacks else 0
            if rows:
                images += self._ended(merging, event, rows)
                images += merging.merger.entry(rows, merging.now_us)
                for row in rows:
                    if row["columns"] is not None:
                        images += self._shown(merging, row["table_id"].replace(_DASH, ""), event.at)
        self._at, self._version = at, version
        return images

    def _rows(self, merging: Merging, event: DefinitionEvent) -> list[dict[str, Any]]:
        """The rows that the entry which made a change of definitions gives to its readers, and for tables that are
        known and do not capture any more their DROP."""
        parts = self._tail.parts
        history = parts.definitions.history
        before = {key: held for key in event.changed if (held := history.before(key, event)) is not None}
        if any(is_native(key) for key in event.changed):
            before.update({held.id: held for held in history.newest_at(_before(event.at)).values()})
        for id, held in event.changed.items():
            known = merging.merger.table(id) if held.dropped and id in before else None
            if known is not None and not known.facts.dropped:
                before[id] = msgspec.structs.replace(before[id], cdc=True)
        at = event.start or event.at
        place = PlaceOfRows(self._node, at.segment, [at.offset])
        selection = Selection(parts.options.selection.tables, parts.masks.tables)
        made = schema_batch(event.changed, before, selection, place, parts.masks)
        rows: list[dict[str, Any]] = made.to_arrow().select(COLUMNS).to_pylist()
        for row in rows if event.start is None else ():
            row["event_id"] = None
        for row in rows:
            id = row["table_id"].replace(_DASH, "")
            earlier = before.get(id)
            ended = earlier is not None and (earlier.dropped or id in event.again)
            again = ended and row["columns"] is not None
            if again and history.last_created(id, event.at) != event.at and not self._is_whole(merging, id, event):
                # Its CREATE was not read, so rows of it may have been written without capture.
                row["columns"] = told_text(told_definition(row["columns"]), capture_begins=True)
        return rows

    def _is_whole(self, merging: Merging, id: str, event: DefinitionEvent) -> bool:
        """Whether all rows of a table that was created again were read, although its CREATE is in no segment that was
        read: the log shows a change of the earlier table since the node is followed, and the server's response shows
        that the new one captured from its CREATE on."""
        known, history = merging.followed[self._node], self._tail.parts.definitions.history
        record, earlier = history.record_of(event), history.source_of(id, _before(event.at))
        start = offset_of_text(known.began, "the state of images").position
        if record is None or earlier is None or earlier.source != LOG or not record.source.startswith(SERVER):
            return False
        return earlier.at > start and earlier.at.segment > known.lacks and created_capturing(record.deltas, id)

    def losses(self, merging: Merging) -> None:
        """What the node's journal says that will never come: no row is known whole any more.

        An entry of one unknown table that was put aside has no row of another table.
        """
        journal, known = self._tail.parts.journal, merging.followed[self._node]
        if journal.count == known.records:
            return
        consumer = self._tail.options.consumer
        news = journal.read(after=known.records)
        told = (each for each in news if isinstance(each, LossRecord | SkipRecord) and each.consumer == consumer)
        gone = [each for each in told if isinstance(each, LossRecord) or not each.table]
        if gone:
            merging.missed(self._node, known.missed(max(map(_last, gone))))
        merging.heeded(self._node, journal.count)

    def _define(self, merging: Merging, id: str, at: Position, newest_put: Callable[[], int]) -> list[Image]:
        history = self._tail.parts.definitions.history
        version = history.version_at(at)
        seen, last = self._pending.get(id, (None, None))
        if seen == version:
            return []
        newest = history.newest_at(at).get(id) or history.newest_of(id)
        known = merging.merger.table(id)
        gone = known is not None and known.facts.dropped
        if newest is not None and gone and proves_creation(history, id, at, newest_put()):
            newest = msgspec.structs.replace(newest, dropped=False, dropped_time=None)
        elif gone and newest is not None and newest.dropped:
            # A later entry may prove it, by the same definitions.
            return []
        self._pending[id] = version, newest
        if newest is None or newest.dropped or (newest == last and not gone):
            return []
        shown = self._checked(self._tail.parts.masks.shown(newest))
        earlier = [held for event in history.events if event.at <= at for held in event.changed.values()]
        table = Table.of(shown, [held for held in earlier if held.id == id], native=(id in history.native))
        self._note_created(merging, id, at)
        created = merging.created(id)
        return merging.merger.define(
            table, created=created, cdc=newest.cdc, now_us=merging.now_us, node=self._node, begins=gone,
            learnt=self._learnt(merging, id, at),
        )  # fmt: skip

    def _shown(self, merging: Merging, id: str, at: Position) -> list[Image]:
        """What the log has shown of a table by the entry that ends at a position."""
        if id in merging.followed[self._node].created:
            return []
        self._note_created(merging, id, at)
        known = merging.merger.table(id)
        if known is None or known.facts.dropped or not merging.created(id):
            return []
        self._checked(known.facts.table.definition)
        # The definition of this entry, or a later one that another node's log showed. Not the journal's newest: rows
        # behind this entry are merged by the definitions of their positions, however far the log is known.
        return merging.merger.define(
            known.facts.table, created=True, cdc=known.facts.cdc, now_us=merging.now_us,
            learnt=self._learnt(merging, id, at),
        )  # fmt: skip

    def _learnt(self, merging: Merging, id: str, at: Position) -> int:
        """When the journal had the table that is defined at a position; 0 where only what counts from before the state
        begins names it: what was logged since then may not all be read."""
        known = merging.followed[self._node]
        start = offset_of_text(known.began, "the state of images").position
        # Of what was logged since an earlier one, something was gone before this state began.
        start = max(start, Position(known.lacks + 1, 0)) if known.lacks else start
        return self._tail.parts.definitions.history.learnt(id, start, at)

    def _note_created(self, merging: Merging, id: str, at: Position) -> None:
        """Whether the log has shown a table's CREATE since it is followed: the last one up to a position."""
        known, history = merging.followed[self._node], self._tail.parts.definitions.history
        if id in known.created:
            return
        if id in history.native:
            if known.whole:
                merging.shown(self._node, id)
            return
        made = history.last_created(id, at)
        start = offset_of_text(known.began, "the state of images").position
        if made is not None and made.segment > known.lacks and made >= start and not self._put_aside(id):
            merging.shown(self._node, id)

    def _put_aside(self, id: str) -> bool:
        """Whether entries of a table went aside before its definition was known."""
        consumer, told = self._tail.options.consumer, self._tail.parts.journal.read()
        return any(isinstance(each, SkipRecord) and each.table == id and each.consumer == consumer for each in told)

    def _checked(self, shown: TableDefinition) -> TableDefinition:
        refused = self._tail.parts.masks.of(shown.name)
        for column in shown.clustering:
            if column.name in refused:
                raise UsageError(
                    f"--mask {shown.name}.{column.name} hides which rows a deletion of a range takes",
                    remedy="Leave out the mask, or the table (--exclude), or --image.",
                )
        return shown
