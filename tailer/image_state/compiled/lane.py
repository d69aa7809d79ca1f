"""A batch of change rows merged by compiled code as far as it can, and by `Merger` where it cannot. Knows no log.

What happens to a partition happens in the order of the log: all that a batch has of one is merged here, or there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.keys import KEY_ROOM, put_keys
from tailer.image_state.compiled.merge import DONE, OUT_FULL, STATE_FULL, find_news, merge_all
from tailer.image_state.compiled.room import Buffer, scratch
from tailer.image_state.compiled.tables import MergeTables, tables_of
from tailer.image_state.compiled.whole import first_broken
from tailer.image_state.lmdb_store import LmdbStore
from tailer.images import Merger
from tailer.images.encoded import EncodedImages
from tailer.images.incarnations import is_usual
from tailer.images.merged_tables import SECOND
from tailer.images.packed import HAS_DUE, HEAD, SEQ
from tailer.images.tables import KnownTable
from tailer.jit.addresses import address_of
from tailer.options.token_range import TokenRange
from tailer.position import Position
from tailer.rebuild.changes import NEEDED
from tailer.rows.generic.compiled import arrays as a
from tailer.rows.generic.compiled.arrays import Flags
from tailer.rows.generic.compiled.batch import ArrayBatch
from tailer.types.compiled.plan import Bytes, Numbers
from tailer.types.compiled.values import write_value
from tailer.versions import undecodable

COLUMNS: Final = (*NEEDED, "row", "event_id")
"""The columns of change rows that `Merger` looks at."""

STATE_ROOM: Final = 1 << 20
OUT_ROOM: Final = 1 << 20
TEXT_ROOM: Final = 1 << 16

_TRUNCATE: Final = a.OPS.index("truncate")


class Room(NamedTuple):
    """What a batch is worked on in."""

    state: int = STATE_ROOM
    out: int = OUT_ROOM
    text: int = TEXT_ROOM


_ROOM: Final = Room()


def is_for(batch: ArrayBatch) -> bool:
    """Whether a batch can be merged here: none of its rows is of a whole table."""
    return batch.source is not None and not (batch.arrays.fixed[a.OP] == _TRUNCATE).any()


def ends(batch: ArrayBatch) -> tuple[Position, Position]:
    """Where its first and last rows stand."""
    offsets = batch.arrays.fixed[a.OFFSET]
    return Position(batch.segment, int(offsets[0])), Position(batch.segment, int(offsets[-1]))


def merge_batch(
    merger: Merger,
    store: LmdbStore,
    batch: ArrayBatch,
    now_us: int,
    images: EncodedImages,
    tokens: TokenRange | None = None,
    room: Room = _ROOM,
) -> None:
    """Merge a batch's rows, whole entries, those of `tokens` alone; `images` gets what comes of them."""
    work = _Batch(merger, store, batch, merger.begin(now_us))
    wanted = _wanted(batch, tokens)
    work.leave_out(~wanted)
    units = work.operations()
    work.load()
    work.merge(room)
    work.save()
    left = work.rows_left(wanted)
    if not len(left):
        images.add_encoded(work.out.joined(), work.count)
        return
    made = work.images_by_unit()
    rows = batch.to_arrow().select(list(COLUMNS)).take(left).to_pylist()
    for unit, some in groupby(zip(units[left].tolist(), rows, strict=True), key=lambda each: each[0]):
        plain = EncodedImages()
        plain.add(merger.entry([row for _, row in some], now_us))
        made.append((unit, plain.pieces(), len(plain)))
    for _, pieces, count in sorted(made, key=lambda each: each[0]):
        images.add_encoded(pieces, count)


def _wanted(batch: ArrayBatch, tokens: TokenRange | None) -> Flags:
    """Of each row whether it is to be merged."""
    found = batch.arrays.fixed[a.TOKEN]
    if tokens is None:
        return np.ones(len(batch), np.bool_)
    wanted: Flags = (found >= tokens.first) & (found <= tokens.last)
    return wanted


class _Batch:
    """One batch while it is merged."""

    def __init__(self, merger: Merger, store: LmdbStore, batch: ArrayBatch, now: int) -> None:
        assert batch.source is not None, "the batch has its index"
        self._merger, self._store, self._batch = merger, store, batch
        index, data = batch.source
        fixed = batch.arrays.fixed
        self._tables = self._laid_out(fixed[a.TABLE])
        self._rows = rows = len(batch)
        self._partition_of, count = _numbered(fixed[a.TABLE], fixed[a.TOKEN])
        self._partitions = np.zeros((count, w.PARTITION_WIDTH), np.int64)
        self._partitions[:, w.P_OFFSET] = self._partitions[:, w.P_UNIT] = -1
        self._cover(fixed[a.TABLE], fixed[a.TOKEN])
        self._units = np.zeros(rows, np.int64)
        name = batch.node.encode()
        event = name + f":{batch.segment}:".encode()
        self._block = block = np.zeros(w.SIZE, np.int64)
        self._held: list[Any] = [index, data, np.frombuffer(name, np.uint8), np.frombuffer(event, np.uint8)]
        held = self._held
        block[w.DATA], block[w.WRITER] = address_of(data), write_value
        block[w.LINES], block[w.UPDATES] = address_of(index.rows), address_of(index.updates)
        block[w.VALUES], block[w.CELL_LINES] = address_of(index.values), address_of(index.cells)
        block[w.TABLES] = address_of(self._tables.tables)
        block[w.FIXED], block[w.FIXED_ROOM] = address_of(fixed), fixed.strides[0] // fixed.itemsize
        block[w.ROWS], block[w.PARTITION_OF] = rows, address_of(self._partition_of)
        for at, texts in ((w.KEY_TEXT, batch.arrays.key), (w.CLUSTERING_TEXT, batch.arrays.clustering)):
            block[at : at + 2] = address_of(texts.data), address_of(texts.offsets)
        block[w.NODE], block[w.SEGMENT] = merger.number(batch.node), batch.segment
        block[w.NAME], block[w.NAME_LENGTH] = address_of(held[2]), len(name)
        block[w.EVENT], block[w.EVENT_LENGTH] = address_of(held[3]), len(event)
        block[w.NOW], block[w.SECOND] = now, now // SECOND
        block[w.READ_PAST], block[w.EXPIRES] = merger.read_past, merger.expirations
        block[w.PARTITIONS], block[w.UNIT] = address_of(self._partitions), address_of(self._units)
        self.count = 0

    def _laid_out(self, tables: Any) -> MergeTables:
        there, node = set(np.unique(tables).tolist()), self._batch.node
        prepared = tuple(self._batch.tables)
        known: list[KnownTable | None] = []
        for number, table in enumerate(prepared):
            found = self._merger.table(table.definition.id) if number in there else None
            usable = (
                found is not None
                and found.facts.usual
                and is_usual(found.facts, node)
                and found.is_of(table.definition)
            )
            known.append(found if usable else None)
        return tables_of(prepared, known)

    def _cover(self, tables: Numbers, tokens: Numbers) -> None:
        """Note which partitions' rows are known whole by a snapshot."""
        for number, table in enumerate(self._batch.tables):
            known = self._merger.table(table.definition.id)
            if known is None or not known.facts.floors:
                continue
            rows = np.flatnonzero(tables == number)
            covered = known.floors.covers(tokens[rows], known.facts.epoch)
            self._partitions[self._partition_of[rows], w.P_COVERED] = covered

    def leave_out(self, rows: Flags) -> None:
        """The partitions of some rows are not for here."""
        self._partitions[self._partition_of[rows], w.P_LEFT] = 1

    def operations(self) -> Numbers:
        """Make the operations, and their keys; the unit of each row."""
        block = self._block
        self._keys = np.empty(KEY_ROOM * (self._rows + 1), np.uint8)
        self._ops = np.empty((self._rows, w.OP_WIDTH), np.int64)
        block[w.OPS] = address_of(self._ops)
        block[w.KEYS] = block[w.KEYS_END] = address_of(self._keys)
        put_keys(address_of(block))
        self._ops = self._ops[: block[w.OP_COUNT]]
        self._leave_due()
        return self._units

    def load(self) -> None:
        """Look up what the state has of them; of the partitions in which something is news their headers too."""
        block, ops, partitions = self._block, self._ops, self._partitions
        number = (ops[:, w.O_PARTITION] - address_of(partitions)) // w.PARTITION_BYTES
        taken = partitions[number, w.P_LEFT] == 0
        self._ops = ops = np.ascontiguousarray(ops[taken])
        number = number[taken]
        self._base_length = partitions[:, w.P_KEY_END] - partitions[:, w.P_KEY]
        base = address_of(self._keys)
        keys = self._keys[: int(block[w.KEYS_END]) - base].tobytes()
        self._slot_of = slot_of = dict[bytes, int]()
        ops[:, w.O_SLOT] = [
            slot_of.setdefault(keys[begin:end], len(slot_of))
            for begin, end in (ops[:, (w.O_KEY, w.O_KEY_END)] - base).tolist()
        ]
        rows = len(slot_of)
        self._slots = slots = np.zeros((rows + len(partitions), w.SLOT_WIDTH), np.int64)
        self._partition_of_slot = np.zeros(len(slots), np.int64)
        self._partition_of_slot[ops[:, w.O_SLOT]] = number
        block[w.OPS], block[w.OP_COUNT], block[w.SLOTS] = address_of(ops), len(ops), address_of(slots)
        self._stored: list[Bytes] = []
        self._in_order: list[list[int]] = []
        self._fetch(sorted(slot_of))
        self._scratch = scratch(block)
        find_news(address_of(block))
        news = np.flatnonzero(partitions[:, w.P_NEWS])
        headers = [keys[begin:end] for begin, end in (partitions[news][:, (w.P_KEY, w.P_KEY_END)] - base).tolist()]
        partitions[news, w.P_SLOT] = rows + np.arange(len(news))
        self._partition_of_slot[rows : rows + len(news)] = news
        slot_of.update(zip(headers, range(rows, rows + len(news)), strict=True))
        self._fetch(sorted(headers))
        self._loaded = slots[:, w.S_AT].copy()

    def _fetch(self, keys: list[bytes]) -> None:
        """Look up what the state has under some keys, in their order."""
        self._in_order.append([self._slot_of[key] for key in keys])
        found = self._store.get_many(keys)
        stored = np.frombuffer(b"".join([value for _, value in found]) or b" ", np.uint8)
        self._stored.append(stored)
        places = [self._slot_of[key] for key, _ in found]
        lengths = np.array([len(value) for _, value in found], np.int64)
        if first_broken(stored, lengths) < len(found):
            raise undecodable("a row of the state of images", "other bytes")
        self._slots[places, w.S_LENGTH] = lengths
        self._slots[places, w.S_AT] = address_of(stored) + np.cumsum(lengths) - lengths

    def merge(self, room: Room) -> None:
        """Merge them; whatever is not for here is known then."""
        block = self._block
        self._images = np.empty((len(self._ops), w.IMAGE_WIDTH), np.int64)
        block[w.IMAGES] = address_of(self._images)
        self._kept = Buffer(block, w.STATE, max(room.state, 2 * sum(map(len, self._stored))))
        self.out = Buffer(block, w.OUT, room.out)
        text = Buffer(block, w.TEXT, room.text)
        while (full := merge_all(address_of(block))) != DONE:
            {STATE_FULL: self._kept, OUT_FULL: self.out}.get(full, text).more()
        self.count = int(block[w.IMAGE_COUNT])
        self._images = self._images[: self.count]

    def save(self) -> None:
        """Put into the store what has changed."""
        slots, partitions = self._slots, self._partitions
        merged = partitions[:, w.P_LEFT] == 0
        self._merger.count_late(int(partitions[merged, w.P_LATE].sum()))
        changed = (slots[:, w.S_CHANGED] != 0) & merged[self._partition_of_slot]
        if not changed.any():
            return
        gone = changed & (slots[:, w.S_LENGTH] == 0)
        # Slots were numbered as their keys came.
        names = list(self._slot_of)
        numbers = np.array([slot for run in self._in_order for slot in run], np.int64)
        numbers = numbers[(changed & ~gone)[numbers]]
        begins = self._kept.offsets(slots[numbers, w.S_AT])
        ends = begins + slots[numbers, w.S_LENGTH]
        kept = self._kept.joined()
        places = zip(numbers.tolist(), begins.tolist(), ends.tolist(), strict=True)
        rows = [(slot, kept[begin:end]) for slot, begin, end in places]
        self._store.put_many([(names[slot], value) for slot, value in rows])
        # Slots of headers are behind those of rows.
        first = len(slots) - len(partitions)
        numbered = (HEAD.unpack_from(value)[SEQ] for slot, value in rows if slot >= first)
        self._merger.note_number(max(numbered, default=0))
        known = np.flatnonzero(gone & (self._loaded != 0))
        self._store.delete_many([names[slot] for slot in known.tolist()])
        self._save_dues(changed, names)

    def _save_dues(self, changed: Flags, names: Sequence[bytes]) -> None:
        slots, stored = self._slots, self._stored[0]
        # Headers have no fact that would expire.
        loaded = self._loaded - address_of(stored)
        there = (self._loaded != 0) & (loaded >= 0) & (loaded < len(stored))
        had = np.zeros(len(slots), np.bool_)
        had[there] = stored[loaded[there]] & HAS_DUE != 0
        touched = changed & (had | (slots[:, w.S_HAS_DUE] != 0))
        if not touched.any():
            return
        for slot in np.flatnonzero(touched).tolist():
            key, end = names[slot], int(self._base_length[self._partition_of_slot[slot]])
            at = int(loaded[slot]) + 8
            was = int.from_bytes(stored[at : at + 8].tobytes(), "little", signed=True) if had[slot] else None
            due = int(slots[slot, w.S_DUE]) if slots[slot, w.S_HAS_DUE] else None
            self._store.move_due(key[:end], key[end:], due, was)

    def rows_left(self, wanted: Flags) -> Numbers:
        """The numbers of the wanted rows that are for the plain merge."""
        return np.flatnonzero((self._partitions[self._partition_of, w.P_LEFT] != 0) & wanted)

    def images_by_unit(self) -> list[tuple[int, bytes, int]]:
        """Unit and bytes of each image of a partition that was merged here."""
        base = address_of(self._partitions)
        partitions = (self._images[:, w.I_PARTITION] - base) // w.PARTITION_BYTES
        mine = self._images[self._partitions[partitions, w.P_LEFT] == 0]
        return [(unit, ctypes.string_at(begin, end - begin), 1) for unit, _, begin, end in mine.tolist()]

    def _leave_due(self) -> None:
        """Partitions in which something has expired that nobody was told of are for the plain merge."""
        second = int(self._block[w.SECOND])
        first = self._store.first_due() if self._merger.expirations else None
        if first is None or first > second:
            return
        base = address_of(self._keys)
        for number in np.flatnonzero(self._partitions[:, w.P_KEY_END]).tolist():
            begin, end = (int(self._partitions[number, field]) - base for field in (w.P_KEY, w.P_KEY_END))
            if self._store.has_due(self._keys[begin:end].tobytes(), second):
                self._partitions[number, w.P_LEFT] = 1


def _numbered(tables: Any, tokens: Any) -> tuple[Numbers, int]:
    """A number for each row, the same for rows of one table and token; and how many there are."""
    order = np.lexsort((tokens, tables))
    tables, tokens = tables[order], tokens[order]
    new = np.ones(len(order), np.int64)
    new[1:] = (tables[1:] != tables[:-1]) | (tokens[1:] != tokens[:-1])
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(new) - 1
    return numbers, int(new.sum())
