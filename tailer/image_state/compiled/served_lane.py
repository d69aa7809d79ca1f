"""A piece of a snapshot served by compiled code, as far as the state has nothing of its partitions yet. Asks no server.

What is left is for `Merger.served`, which does it all where this is not there: the same state and the same images.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from tailer.image_state.compiled import served_block as d
from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.merge import DONE, OUT_FULL, STATE_FULL
from tailer.image_state.compiled.room import Buffer, scratch
from tailer.image_state.compiled.served import KEY_TEXT_ROOM, serve_all
from tailer.image_state.compiled.served_keys import find_partitions
from tailer.image_state.compiled.tables import MergeTables, tables_of
from tailer.image_state.keys import base_of
from tailer.image_state.lmdb_store import LmdbStore
from tailer.images import Merger
from tailer.images.encoded import EncodedImages
from tailer.images.guesses import GUESSED_MARKER
from tailer.images.marks import Marks
from tailer.images.merged_tables import SECOND
from tailer.images.packed import HEAD, SEQ
from tailer.images.served import Answer
from tailer.images.tables import KnownTable
from tailer.jit.addresses import address_of
from tailer.rows.prepared import PreparedTable, prepare
from tailer.snapshot.raw_rows import RawRows
from tailer.snapshot.reading import ReadPiece
from tailer.snapshot.wanted import Wanted, WantedColumn
from tailer.types.compiled.plan import Numbers
from tailer.types.compiled.values import write_value

_KEY_ROOM: Final = 512
_TEXT_ROOM: Final = 1 << 16
_ROW_ROOM: Final = 512
_NO_COLUMN: Final = -1


def is_for(known: KnownTable, piece: ReadPiece, answer: Answer) -> bool:
    """Whether a piece can be served here: what the state has not of the table is not known to be missing."""
    facts = known.facts
    over = any(floor.low < piece.high and piece.low < floor.high for floor in facts.floors)
    ready = tables_of((_prepared(known),), [known]).tables[0, w.T_READY]
    return (
        bool(ready) and facts.usual and not (facts.whole or facts.dropped or over) and len(answer.marks) <= w.MARKS_MAX
    )


def serve(
    merger: Merger,
    store: LmdbStore,
    known: KnownTable,
    piece: ReadPiece,
    answer: Answer,
    there: Collection[bytes],
    now_us: int,
    images: EncodedImages,
) -> RawRows:
    """Serve the partitions of a piece that are not `there` in the state; the rows of those that were not served.

    `images` gets what comes of them.
    """
    if not len(piece.raw):
        return piece.raw
    work = _Piece(merger, known, piece, answer, merger.begin(now_us))
    work.leave({base_of(known.id, name).key for name in there})
    work.serve()
    merger.note_number(work.save(store))
    images.add_encoded(work.out.joined(), work.count)
    answer.event_ids.pass_over(work.count)
    return work.rows_left()


def _prepared(known: KnownTable) -> PreparedTable:
    definition = known.facts.table.definition
    return prepare({definition.id: definition}, {definition.id}).tables[0]


class _Piece:
    """One piece while it is served."""

    def __init__(self, merger: Merger, known: KnownTable, piece: ReadPiece, answer: Answer, now: int) -> None:
        prepared, self._raw = _prepared(known), piece.raw
        self._key_count = len(known.plan.key)
        self._tables: MergeTables = tables_of((prepared,), [known])
        self._block = block = np.zeros(w.SIZE, np.int64)
        self._served = served = np.zeros(d.D_SIZE, np.int64)
        rows = len(piece.raw)
        self._keys = np.empty(_KEY_ROOM * (2 * rows + 1), np.uint8)
        self._partitions = np.zeros((rows, d.PARTITION_WIDTH), np.int64)
        self._lines = np.zeros((2 * rows, d.LINE_WIDTH), np.int64)
        event = answer.event_ids.prefix.encode()
        wanted = piece.reading.wanted
        regular = _regular(prepared, wanted, 1 + self._key_count)
        statics = np.array([1 + self._key_count + column.value for column in wanted.static] or [0], np.int64)
        values = np.ascontiguousarray(piece.raw.values)
        data = np.frombuffer(piece.raw.data, np.uint8)
        name, mark = np.frombuffer(event, np.uint8), np.frombuffer(GUESSED_MARKER, np.uint8)
        marks, key_text = _marks(answer.marks), np.empty(KEY_TEXT_ROOM, np.uint8)
        self._held = [name, mark, marks, key_text, regular, statics, values, data]
        block[w.WRITER], block[w.TABLES] = write_value, address_of(self._tables.tables)
        block[w.SERVED] = address_of(served)
        block[w.EVENT], block[w.EVENT_LENGTH] = address_of(name), len(event)
        block[w.NOW], block[w.SECOND] = now, now // SECOND
        block[w.READ_PAST], block[w.EXPIRES] = merger.read_past, merger.expirations
        block[w.KEYS] = address_of(self._keys)
        served[d.D_DATA], served[d.D_VALUES] = address_of(data), address_of(values)
        served[d.D_ROWS], served[d.D_COLUMNS] = values.shape[:2]
        served[d.D_KEYS], served[d.D_CLUSTERING] = self._key_count, wanted.clustering
        served[d.D_REGULAR], served[d.D_REGULAR_COUNT] = address_of(regular), len(wanted.regular)
        served[d.D_STATIC], served[d.D_STATIC_COUNT] = address_of(statics), len(wanted.static)
        served[d.D_UNTIL], served[d.D_ANSWERED], served[d.D_COMPLETE] = answer.until, piece.second, answer.complete
        served[d.D_MARK], served[d.D_KEY_TEXT] = address_of(mark), address_of(key_text)
        served[d.D_MARKS] = address_of(marks)
        served[d.D_PARTITIONS], served[d.D_LINES] = address_of(self._partitions), address_of(self._lines)
        served[d.D_NUMBER] = answer.event_ids.number
        self._partitions = self._partitions[: find_partitions(address_of(block))]
        self.count = 0

    def leave(self, bases: Collection[bytes]) -> None:
        """Partitions whose keys begin so are not for here."""
        if not bases:
            return
        keys = self._all_keys()
        for part in self._partitions:
            if keys[part[d.G_KEY] - self._first : part[d.G_KEY_END] - self._first] in bases:
                part[d.G_LEFT] = 1

    def serve(self) -> None:
        """Serve them; whatever is not for here is known then."""
        block, served = self._block, self._served
        rows, size = len(self._raw), self._raw.bytes_behind(1)
        self._scratch = scratch(block)
        self._kept = Buffer(block, w.STATE, 2 * size + _ROW_ROOM * rows)
        self.out = Buffer(block, w.OUT, 3 * size + _ROW_ROOM * rows)
        text = Buffer(block, w.TEXT, _TEXT_ROOM)
        served[d.D_TEXT] = block[w.TEXT]
        while (full := serve_all(address_of(block))) != DONE:
            {STATE_FULL: self._kept, OUT_FULL: self.out}.get(full, text).more()
            if full not in (STATE_FULL, OUT_FULL):
                served[d.D_TEXT] = block[w.TEXT]
        self.count = int(block[w.IMAGE_COUNT])

    def save(self, store: LmdbStore) -> int:
        """Put what came of them into the store; the greatest number of an image of them."""
        lines = self._lines[: int(self._served[d.D_LINE_COUNT])]
        begins = self._kept.offsets(lines[:, d.L_AT])
        kept, keys = self._kept.joined(), self._all_keys()
        sizes = lines[:, d.L_END] - lines[:, d.L_AT]
        spans = np.stack([lines[:, d.L_KEY] - self._first, lines[:, d.L_KEY_END] - self._first, begins, begins + sizes])
        spans = spans[:, sizes > 0]
        store.put_many([(keys[key:key_end], kept[at:end]) for key, key_end, at, end in spans.T.tolist()])
        of_header = (sizes > 0) & (lines[:, d.L_KEY_END] - lines[:, d.L_KEY] == lines[:, d.L_BASE])
        headers = (HEAD.unpack_from(kept, at)[SEQ] for at in begins[of_header].tolist())
        for line in lines[lines[:, d.L_HAS_DUE] != 0].tolist():
            begin, end = line[d.L_KEY] - self._first, line[d.L_KEY_END] - self._first
            base = begin + line[d.L_BASE]
            store.move_due(keys[begin:base], keys[base:end], line[d.L_DUE], None)
        return max(headers, default=0)

    def rows_left(self) -> RawRows:
        """Those of partitions that were not served."""
        left = self._partitions[self._partitions[:, d.G_LEFT] != 0]
        spans = [np.arange(begin, end) for begin, end in left[:, (d.G_BEGIN, d.G_END)].tolist()]
        return RawRows(self._raw.data, self._raw.values[np.concatenate(spans) if spans else slice(0)])

    @property
    def _first(self) -> int:
        return address_of(self._keys)

    def _all_keys(self) -> bytes:
        return self._keys[: int(self._block[w.KEYS_END]) - self._first].tobytes()


def _regular(prepared: PreparedTable, wanted: Wanted, behind: int) -> Numbers:
    """Of each wanted regular column what `served` has of it."""
    data = prepared.definition.data_columns
    names = [column.name for column in data if column.kind != "static"]
    lines = [(*_places(each, behind), names.index(each.column.name)) for each in wanted.regular]
    return np.array(lines or [(0, 0, 0, 0)], np.int64)


def _places(wanted: WantedColumn, behind: int) -> tuple[int, ...]:
    places = (wanted.value, wanted.written, wanted.ttl)
    return tuple(_NO_COLUMN if place is None else behind + place for place in places)


def _marks(marks: Marks) -> Numbers:
    numbers = [number for mark in marks for number in (mark.node, *mark.place)]
    return np.array([len(marks), *numbers], np.int64)
