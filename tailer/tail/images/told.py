"""What one node's tail knows that the merging of its rows must be told: definitions, CREATEs, and what was lost.

Reads the tail's parts, and changes nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from tailer.errors import UsageError
from tailer.image_state.identity import FollowedNode
from tailer.images import Image
from tailer.planning.history_held import held_log
from tailer.planning.two_positions import offset_of_text, offset_text
from tailer.position import Position
from tailer.rebuild import Table
from tailer.schema.model import TableDefinition
from tailer.state.journal_records import LossRecord, SkipRecord
from tailer.tail.images.merging import Merging
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
        self._refused = frozenset((mask.table, mask.column) for mask in tail.parts.masks.columns)

    def begin(self) -> None:
        """A transaction begins, perhaps anew."""
        self._pending = dict(self._given)

    def settled(self) -> None:
        """It is durable."""
        self._given = self._pending

    def is_one(self, first: Position, last: Position) -> bool:
        """Whether definitions are the same for all entries from one to another."""
        history = self._tail.parts.definitions.history
        return history.version_at(first) == history.version_at(last)

    def before(self, merging: Merging, at: Position, tables: Iterable[str]) -> list[Image]:
        """What has to be known before rows of these tables (ids as rows have them), of the entry at a position."""
        images: list[Image] = []
        for id in tables:
            images += self._define(merging, id.replace(_DASH, ""), at)
        return images

    def behind(self, merging: Merging, rows: Sequence[dict[str, Any]]) -> list[Image]:
        """What is known behind an entry that changes definitions."""
        images: list[Image] = []
        for row in rows:
            if row["op"] == "schema" and row["columns"] is not None:
                images += self._shown(merging, row["table_id"].replace(_DASH, ""))
        return images

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

    def _define(self, merging: Merging, id: str, at: Position) -> list[Image]:
        history = self._tail.parts.definitions.history
        version = history.version_at(at)
        seen, last = self._pending.get(id, (None, None))
        if seen == version:
            return []
        newest = history.newest_at(at).get(id) or history.newest_of(id)
        self._pending[id] = version, newest
        if newest is None or newest == last or newest.dropped:
            return []
        shown = self._checked(self._tail.parts.masks.shown(newest))
        earlier = [held for event in history.events if event.at <= at for held in event.changed.values()]
        table = Table.of(shown, [held for held in earlier if held.id == id], native=history.is_native(id))
        self._note_created(merging, id)
        created = merging.created(id)
        return merging.merger.define(table, created=created, cdc=newest.cdc, now_us=merging.now_us, node=self._node)

    def _shown(self, merging: Merging, id: str) -> list[Image]:
        if id in merging.followed[self._node].created:
            return []
        self._note_created(merging, id)
        known = merging.merger.table(id)
        if known is None or not merging.created(id):
            return []
        self._checked(known.facts.table.definition)
        # The definition of this entry, or a later one that another node's log showed. Not the journal's newest: rows
        # behind this entry are merged by the definitions of their positions, however far the log is known.
        return merging.merger.define(known.facts.table, created=True, cdc=known.facts.cdc, now_us=merging.now_us)

    def _note_created(self, merging: Merging, id: str) -> None:
        """Whether the log has shown a table's CREATE since it is followed."""
        known, history = merging.followed[self._node], self._tail.parts.definitions.history
        if id in known.created:
            return
        if history.is_native(id):
            if known.whole:
                merging.shown(self._node, id)
            return
        made = history.created_at(id)
        start = offset_of_text(known.began, "the state of images").position
        if made is not None and made.segment > known.lacks and made >= start and not self._put_aside(id):
            merging.shown(self._node, id)

    def _put_aside(self, id: str) -> bool:
        """Whether entries of a table went aside before its definition was known."""
        consumer, told = self._tail.options.consumer, self._tail.parts.journal.read()
        return any(isinstance(each, SkipRecord) and each.table == id and each.consumer == consumer for each in told)

    def _checked(self, shown: TableDefinition) -> TableDefinition:
        for column in shown.clustering:
            if (shown.name, column.name) in self._refused:
                raise UsageError(
                    f"--mask {shown.name}.{column.name} hides which rows a deletion of a range takes",
                    remedy="Leave out the mask, or the table (--exclude), or --image.",
                )
        return shown
