"""Cassandra's entries to change rows: scan and build in one, by whichever twins are ready."""

from __future__ import annotations

from tailer.rows.choice import Decoded, Made, one_row_now
from tailer.rows.masked import shown_rows
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.scan.forms import scan_now
from tailer.scan.mutation.scan import Offsets
from tailer.schema.typed import TypedTable


def read_mutations(
    data: bytes,
    starts: Offsets,
    sizes: Offsets,
    prepared: Prepared,
    first: int,
    unsigned_times: bool,
    place: Place,
    typed: TypedTable | None = None,
) -> Decoded:
    """The change rows of entries from number `first` on, up to the first that does not decode. See `mutation.scan`."""
    one_row = one_row_now("read_one_row", len(starts) - first, typed, prepared)
    found = None if one_row is None else one_row(data, starts, sizes, prepared, first, unsigned_times, place)
    if found is not None:
        index, built = found
        return Decoded(index, data, Made(*built))
    index = scan_now()(data, starts, sizes, prepared.scan_tables, first, unsigned_times)
    return Decoded(index, data, shown_rows(index, data, prepared, place, typed))
