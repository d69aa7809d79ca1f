"""The compiled twin of `tailer.rows.generic.build.build`: the same arguments, the same rows, the same faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tailer.jit.addresses import address_of
from tailer.rows.generic.build import Built
from tailer.rows.generic.build import build as plain_build
from tailer.rows.generic.compiled import arrays as a
from tailer.rows.generic.compiled import work as w
from tailer.rows.generic.compiled.arrays import Rows, Texts, empty_texts, grown, texts_of, trimmed
from tailer.rows.generic.compiled.batch import ArrayBatch, Source
from tailer.rows.generic.compiled.lines import picked
from tailer.rows.generic.compiled.merge import merged
from tailer.rows.generic.compiled.rows import fill
from tailer.rows.generic.compiled.subset import lines_of_entries
from tailer.rows.generic.compiled.tables import BuildTables, tables_of
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.scan.compiled import lines as ln
from tailer.scan.index import HAS_DELETION, RANGE_START, ROW_LINE, Index
from tailer.types.compiled.plan import Numbers

# How much text is expected; what is wrong costs only that a buffer is copied.
_LEAST: Final = 1024
_KEY_BYTES: Final = 32
_LABEL_BYTES: Final = 24
_RANGE_BYTES: Final = 128
_TEXT_PER_BYTE: Final = 2


def build(index: Index, data: bytes, prepared: Prepared, place: Place) -> Built:
    """The change rows of the delivered tables in `index`, a scan of `data` with `prepared.scan_tables`."""
    if not len(index.rows):
        return plain_build(index, data, prepared, place)
    rows, odd = _filled(index, data, place, tables_of(prepared))
    attrs = None
    if place.attrs:
        attrs = _attrs(np.ascontiguousarray(rows.fixed[a.ENTRY]), place.attrs)
        if attrs is None:
            return plain_build(index, data, prepared, place)
    source = Source(index, np.frombuffer(data, np.uint8)) if place.keeps_source else None
    batch = ArrayBatch(rows, prepared.tables, place.node, place.segment, place.txn, attrs, source)
    if not len(odd):
        return Built(batch, [])
    plain = plain_build(lines_of_entries(index, odd), data, prepared, place)
    whole = merged(batch, plain.batch)
    return plain_build(index, data, prepared, place) if whole is None else Built(whole, plain.faults)


def _filled(index: Index, data: bytes, place: Place, tables: BuildTables) -> tuple[Rows, Numbers]:
    """All rows that the compiled build makes, and the numbers of the entries that it leaves."""
    logical = np.ascontiguousarray(place.offsets, np.int64)
    held = np.frombuffer(data, np.uint8)
    block = w.source_block(index, held, logical, tables)
    rows, odd = _expected(index), np.empty(len(index.updates), np.int64)
    w.give_arrays(block, rows, odd)
    while fill(address_of(block)):
        name = w.TEXTS[int(block[w.FULL])]
        texts: Texts = getattr(rows, name)
        if len(texts.data) < a.TEXT_BYTES_MAX:
            larger: Any = {name: grown(texts, min(2 * len(texts.data), a.TEXT_BYTES_MAX))}
            rows = rows._replace(**larger)
            w.give_arrays(block, rows, odd)
        else:
            _leave_entry(index, odd, block)
    count = int(block[w.NEXT_ROW])
    fixed, *texts_of_rows = rows
    return Rows(fixed[:, :count], *(trimmed(texts, count) for texts in texts_of_rows)), odd[: block[w.ODD_COUNT]]


def _attrs(entries: Numbers, attrs: Mapping[int, str]) -> Texts | None:
    """The attributes of rows, by number of their entry; None if that is more text than Arrow can hold."""
    texts = texts_of([*attrs.values(), None])
    places = np.full(int(entries.max(initial=0)) + 1, len(attrs), np.int64)
    for place, entry in enumerate(attrs):
        if entry < len(places):
            places[entry] = place
    chosen = places[entries]
    sizes = np.diff(texts.offsets).astype(np.int64)
    return picked(texts, chosen) if int(sizes[chosen].sum()) <= a.TEXT_BYTES_MAX else None


def _expected(index: Index) -> Rows:
    """Arrays that should have room for all rows; for their texts only as a guess."""
    lines, cells = index.rows, index.cells
    doubled = (lines["kind"] <= ROW_LINE) & (lines["flags"] & HAS_DELETION != 0)
    count = len(lines) + int(np.count_nonzero(doubled))
    sizes = (
        _KEY_BYTES * count,
        _KEY_BYTES * len(index.values),
        _LABEL_BYTES * (count + len(cells)) + _TEXT_PER_BYTE * int(cells["value_len"].sum()),
        0,
        _RANGE_BYTES * int(np.count_nonzero(lines["kind"] == RANGE_START)),
    )
    texts = (empty_texts(count, min(size + _LEAST, a.TEXT_BYTES_MAX)) for size in sizes)
    return Rows(np.empty((a.FIXED, count), np.int64), *texts)


def _leave_entry(index: Index, odd: Numbers, block: Numbers) -> None:
    """Leaves the entry whose text is larger than Arrow can hold to the plain build."""
    entries = index.updates["entry"][index.rows["update"]]
    entry = entries[(int(block[w.NEXT_LINE]) - address_of(index.rows)) // ln.ROW_BYTES]
    odd[block[w.ODD_COUNT]] = entry
    block[w.ODD_COUNT] += 1
    block[w.NEXT_LINE] = address_of(index.rows) + ln.ROW_BYTES * int(np.searchsorted(entries, entry, side="right"))
