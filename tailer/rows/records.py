"""Entries of a native log to change rows: scan, attributes and build in one, by whichever twins are ready."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tailer.rows.attrs import attrs_texts
from tailer.rows.choice import Decoded, Made, one_row_now
from tailer.rows.masked import shown_rows
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.scan.forms import scan_records_now
from tailer.scan.mutation.scan import Offsets
from tailer.scan.record.scan import Scanned
from tailer.schema.typed import TypedTable

Numbers = npt.NDArray[np.int64]


def read_records(
    data: bytes,
    starts: Offsets,
    sizes: Offsets,
    prepared: Prepared,
    first: int,
    number_from: int | None,
    place: Place,
    typed: TypedTable | None = None,
    before: Numbers | None = None,
) -> Decoded:
    """The change rows of entries from number `first` on, up to the first that does not decode. See `scan_records`.

    `place` without attributes; `prepared`: of definitions by table id and fingerprint. `before`: by entry, how many
    rows were counted before that its own do not count from, where several transactions are read at once.
    """
    one_row = None
    if number_from is None:
        one_row = one_row_now("read_record_one_row", len(starts) - first, typed, prepared)
    found = None if one_row is None else one_row(data, starts, sizes, prepared, first, place)
    if found is not None:
        scanned, built = found
        return Decoded(scanned.index, scanned.data, Made(*built), scanned.number)
    scanned = renumbered(scan_records_now()(data, starts, sizes, prepared.scan_tables, first, number_from), before)
    made = shown_rows(scanned.index, scanned.data, prepared, with_attrs(place, scanned), typed)
    return Decoded(scanned.index, scanned.data, made, scanned.number)


def renumbered(scanned: Scanned, before: Numbers | None) -> Scanned:
    """Rows numbered anew from each transaction on."""
    index = scanned.index
    if before is None or not len(index.rows):
        return scanned
    rows = index.rows.copy()
    rows["number"] -= before[index.updates["entry"][rows["update"]]]
    return replace(scanned, index=replace(index, rows=rows))


def with_attrs(place: Place, scanned: Scanned) -> Place:
    """The place with the entries' attributes as JSON."""
    return replace(place, attrs=attrs_texts(scanned.attrs, scanned.data)) if len(scanned.attrs) else place
