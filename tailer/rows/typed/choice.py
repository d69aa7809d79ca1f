"""Which twin makes typed rows: the compiled one where it is loaded and there is enough to build, else the plain one."""

from __future__ import annotations

from typing import Final

from tailer.jit.ready import twin_now
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.rows.records import Numbers, renumbered, with_attrs
from tailer.rows.typed.batch import TypedBuilt
from tailer.rows.typed.form import form_of
from tailer.rows.typed.plain import build_plain
from tailer.scan.forms import scan_now, scan_records_now
from tailer.scan.index import Index
from tailer.scan.mutation.scan import Offsets
from tailer.scan.record.scan import Scanned
from tailer.schema.typed import TypedTable

SMALL_LINES: Final = 16
"""The plain twin is done with fewer lines before the compiled one has begun."""

_FAST: Final = "tailer.rows.typed.compiled.fast"
_ONE_ROW: Final = "tailer.rows.typed.compiled.one_row"


def build_typed(index: Index, data: bytes, prepared: Prepared, place: Place, typed: TypedTable) -> TypedBuilt:
    """The typed rows of the delivered tables in `index`, a scan of `data` with `prepared.scan_tables`."""
    form = form_of(typed)
    twin = twin_now(_FAST, len(index.rows) >= SMALL_LINES)
    build = build_plain if twin is None else twin.build_fast
    built: TypedBuilt = build(index, data, prepared, place, form)
    return built


def read_typed(
    data: bytes,
    starts: Offsets,
    sizes: Offsets,
    prepared: Prepared,
    first: int,
    unsigned_times: bool,
    place: Place,
    typed: TypedTable,
) -> tuple[Index, TypedBuilt]:
    """Entries from number `first` on, scanned and made rows of. The index says where it stopped and what was skipped;
    lines are missing from it of rows that are in the batch."""
    twin = twin_now(_ONE_ROW, len(starts) - first >= SMALL_LINES)
    if twin is not None:
        found: tuple[Index, TypedBuilt] | None = twin.read_one_row(
            data, starts, sizes, prepared, first, unsigned_times, place, form_of(typed)
        )
        if found is not None:
            return found
    index = scan_now()(data, starts, sizes, prepared.scan_tables, first, unsigned_times)
    return index, build_typed(index, data, prepared, place, typed)


def read_records(
    data: bytes,
    starts: Offsets,
    sizes: Offsets,
    prepared: Prepared,
    first: int,
    number_from: int | None,
    place: Place,
    typed: TypedTable,
    before: Numbers | None = None,
) -> tuple[Scanned, TypedBuilt]:
    """The same of entries of a native log; see `rows.records`."""
    twin = twin_now(_ONE_ROW, number_from is None and len(starts) - first >= SMALL_LINES)
    if twin is not None and number_from is None:
        found: tuple[Scanned, TypedBuilt] | None = twin.read_record_one_row(
            data, starts, sizes, prepared, first, place, form_of(typed)
        )
        if found is not None:
            return found
    scanned = renumbered(scan_records_now()(data, starts, sizes, prepared.scan_tables, first, number_from), before)
    built = build_typed(scanned.index, scanned.data, prepared, with_attrs(place, scanned), typed)
    return scanned, built
