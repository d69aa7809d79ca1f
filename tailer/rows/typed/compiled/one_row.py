"""Typed rows of entries that are one row each, which the scan notes by the column: no index is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import address_of
from tailer.limits import OFFSET_MAX
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.rows.records import with_attrs
from tailer.rows.typed.batch import TypedBuilt
from tailer.rows.typed.compiled import straight as w
from tailer.rows.typed.compiled.fast import Chosen, build_chosen, table_of
from tailer.rows.typed.compiled.multi import multi_columns
from tailer.rows.typed.compiled.straight_rows import Places, StraightRows, Table
from tailer.rows.typed.compiled.wide import COLUMNS_LEAST, is_wide
from tailer.rows.typed.form import Bound, Form
from tailer.scan.compiled.one_row import OneRow
from tailer.scan.index import Index
from tailer.scan.mutation.compiled.scan import scan
from tailer.scan.mutation.scan import Offsets
from tailer.scan.record.compiled.scan import scan_records
from tailer.scan.record.scan import Scanned
from tailer.scan.tables import NO_COLUMN
from tailer.types import Shape

Numbers = npt.NDArray[Any]

SAMPLE: Final = 8
"""So many entries say whether the rows of a wide table set most of its columns."""

_PLACE_BYTES: Final = 8
"""Offset and length of a value."""

_ROOM_SHARE: Final = 4


def read_one_row(
    data: bytes,
    starts: Offsets,
    sizes: Offsets,
    prepared: Prepared,
    first: int,
    unsigned_times: bool,
    place: Place,
    form: Form,
) -> tuple[Index, TypedBuilt] | None:
    """What `scan` and `build_fast` make of entries together; the index lacks what was noted by the column.

    None where no table's rows can be noted so, or where some of those have a fault: entries are to be read again.
    """
    few = slice(first, first + SAMPLE)

    def sample() -> Index:
        return scan(data, starts[few], sizes[few], prepared.scan_tables, 0, unsigned_times)

    room = _room(data, sizes[first:], prepared, form, sample)
    if room is None:
        return None
    index = scan(data, starts, sizes, prepared.scan_tables, first, unsigned_times, room.one_row)
    built = build_chosen(index, data, prepared, place, form, room.chosen(data, place))
    return None if built is None else (index, built)


def read_record_one_row(
    data: bytes, starts: Offsets, sizes: Offsets, prepared: Prepared, first: int, place: Place, form: Form
) -> tuple[Scanned, TypedBuilt] | None:
    """The same of entries of a service's log that are no transaction's."""
    few = slice(first, first + SAMPLE)

    def sample() -> Index:
        return scan_records(data, starts[few], sizes[few], prepared.scan_tables).index

    room = _room(data, sizes[first:], prepared, form, sample)
    if room is None:
        return None
    scanned = scan_records(data, starts, sizes, prepared.scan_tables, first, None, room.one_row)
    # Keys that were put together make them longer.
    if len(scanned.data) > OFFSET_MAX:
        return None
    place = with_attrs(place, scanned)
    built = build_chosen(scanned.index, scanned.data, prepared, place, form, room.chosen(scanned.data, place))
    return None if built is None else (scanned, built)


def _room(data: bytes, sizes: Offsets, prepared: Prepared, form: Form, sample: Callable[[], Index]) -> _Room | None:
    """Room for a row of one table in each entry; None where none can be noted so. `sample`: the index of the first."""
    bound, columns = _bound(prepared, form), len(form.columns)
    if bound is None or len(data) > OFFSET_MAX:
        return None
    # A wide table's rows may set few columns each, and others each: room by the column would lie empty.
    if columns >= COLUMNS_LEAST and (_is_much(columns, sizes) or is_wide(_most_values(sample(), bound[0]), columns)):
        return None
    return _Room(*bound, columns, len(sizes))


def _is_much(columns: int, sizes: Offsets) -> bool:
    """Whether room for a row in each entry were many times the bytes of the entries, whatever the first of them are."""
    return _PLACE_BYTES * columns * len(sizes) > _ROOM_SHARE * int(np.sum(sizes))


def _most_values(index: Index, table: int) -> int:
    """The most that a row of the table has."""
    of_table = index.updates["table"][index.rows["update"]] == table
    return int(index.rows["cells_n"][of_table].max(initial=0))


def _bound(prepared: Prepared, form: Form) -> tuple[int, Bound] | None:
    """The last table that is delivered in the form, by number: of a service's log's table the newest definition."""
    for number in reversed(range(len(prepared.tables))):
        table = prepared.tables[number]
        if table.delivered and table.truncations == NO_COLUMN:
            bound = form.bind(table)
            if bound.misfit is None:
                return number, bound
    return None


class _Room:
    """Arrays that the scan writes to, and what becomes of them."""

    def __init__(self, number: int, bound: Bound, columns: int, rows: int) -> None:
        self.number, self.bound = number, bound
        # Counters have `_deltas`, which are made of the index.
        self.table: Table = table_of(number, bound, columns, multi_columns(bound), (Shape.SIMPLE,))
        self.rows = rows
        # Off and length of each column.
        self.places = np.empty((2, columns, rows), np.int32)
        self.places[1].fill(w.ABSENT)
        at = address_of(self.places)
        slots = self.table.slots.astype(np.int64)
        self.one_row = OneRow(number, slots, self.table.clustering, rows, at, at + 4 * columns * rows)

    def chosen(self, data: bytes, place: Place) -> Chosen | None:
        """The rows, if there are any."""
        if not self.one_row.count:
            return None
        return Chosen(self.bound, self.straight(data, np.asarray(place.offsets, np.int64)), self.number, False)

    def straight(self, data: bytes, offsets: Numbers) -> StraightRows:
        """The rows, as `straight_rows` gives them."""
        rows, one_row = self.one_row.count, self.one_row
        entry, ts, keys, lengths = one_row.by_row
        offset, token = np.empty(rows, np.int64), np.empty(rows, np.int64)
        nothing, none, bad = np.zeros(rows, np.int64), np.zeros(rows, np.uint8), np.zeros(rows, np.uint8)
        ops = (one_row.updates > 0) << w.UPDATE | (one_row.updates < rows) << w.INSERT
        (off, length), work = self.places, np.zeros(w.SIZE, np.int64)
        given = ((w.ENTRY, entry), (w.OFFSETS, offsets), (w.OFFSET, offset), (w.TOKEN, token))
        made = ((w.DATA, np.frombuffer(data, np.uint8)), (w.OFF, off), (w.LENGTH, length), (w.BAD, bad))
        for number, array in (*given, *made, (w.KEY_SLOTS, self.table.key)):
            work[number] = address_of(array)
        work[w.KEY_COUNT], work[w.ROOM] = len(self.table.key), self.rows
        w.put_keys(address_of(work), rows, address_of(keys), address_of(lengths))
        sets = one_row.sets.astype(np.int32)
        return StraightRows(
            bad=bad,
            entry=entry[:rows],
            offset=offset,
            number=nothing,
            op=one_row.op[:rows],
            static=none,
            ts=ts[:rows],
            ttl=one_row.ttl[:rows],
            expires=one_row.expires[:rows],
            token=token,
            index_row=np.empty(0, np.int64),
            sets=sets,
            ends=np.arange(rows + 1, dtype=np.int32) * len(sets),
            off=off[:, :rows],
            length=length[:, :rows],
            places=Places(address_of(off), address_of(length), address_of(bad), 4 * self.rows),
            ops=ops,
            has_static=False,
            has_ttl=one_row.has_ttl,
            has_number=False,
            mixed=False,
            has_cells=False,
            sparse=False,
        )
