"""Reads recorded folders with the `tailer` on the path, through its public door: what `compare_rows.py` starts twice.

Takes folders from standard input and writes what every reading gave to standard output, both as lines of JSON. Knows
nothing of a checkout but `tailer.open`: the same file reads with any version.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa

import tailer

AFTER_AN_ERROR: Final = (
    ("quarantine", {"on_error": "quarantine"}),
    ("stopped", {"stopped": True}),
    ("stopped, quarantine", {"stopped": True, "on_error": "quarantine"}),
)
"""How a folder is read once more whose reading ended in an error."""


class Folder(TypedDict):
    """A folder to be read: its name, and the options and the environment that it needs."""

    name: str
    path: str
    options: dict[str, str]
    environment: dict[str, str]


Row = dict[str, tuple[str, str]]
"""By column a value's digest and its text."""


class Reading(TypedDict):
    """What one reading gave. `columns`: name, type and digest of each. `error`: class and sentence."""

    place: str
    error: tuple[str, str] | None
    count: int
    columns: list[tuple[str, str, str]]
    notices: list[str]
    rows: list[Row]


def readings(folder: Folder, *, rows: bool) -> Iterator[Reading]:
    """All rows, then each table's in its typed form. `rows`: whether each row is told too."""
    os.environ.update(folder["environment"])
    tables: set[str] = set()
    for place, found in _readings(f"{folder['name']}: all", folder, {}):
        yield _told(place, found, rows)
        if found.table is not None:
            names = zip(*(found.table.column(name).to_pylist() for name in ("keyspace", "table")), strict=True)
            tables |= {f"{keyspace}.{name}" for keyspace, name in names if name is not None}
    for name in sorted(tables):
        for place, found in _readings(f"{folder['name']}: {name}", folder, {"table": name}):
            yield _told(place, found, rows)


class _Found(NamedTuple):
    table: pa.Table | None
    notices: list[str]
    error: tuple[str, str] | None


def _readings(place: str, folder: Folder, options: dict[str, Any]) -> Iterator[tuple[str, _Found]]:
    first = _read(folder, options)
    yield place, first
    if first.error is not None:
        for name, more in AFTER_AN_ERROR:
            yield f"{place}, {name}", _read(folder, {**options, **more})


def _read(folder: Folder, options: dict[str, Any]) -> _Found:
    batches: list[pa.RecordBatch] = []
    log, error = None, None
    try:
        log = tailer.open(folder["path"], **folder["options"], **options)
        batches.extend(log.read())
    except Exception as raised:  # Whatever it is, it is what a caller would have seen.
        error = (type(raised).__name__, str(raised))
    table = pa.Table.from_batches(batches) if batches else None
    return _Found(table, [] if log is None else log.notices, error)


def _told(place: str, found: _Found, rows: bool) -> Reading:
    return {
        "place": place,
        "error": found.error,
        "count": 0 if found.table is None else found.table.num_rows,
        "columns": [] if found.table is None else columns(found.table),
        "notices": found.notices,
        "rows": [] if found.table is None or not rows else [_row(found.table, n) for n in range(found.table.num_rows)],
    }


def columns(table: pa.Table) -> list[tuple[str, str, str]]:
    """Name, type and digest of each column: the same for the same values, however they are cut into batches."""
    return [
        (field.name, f"{field.type}{'' if field.nullable else ' not null'}", _digest(column))
        for field, column in zip(table.schema, table.columns, strict=True)
    ]


def _row(table: pa.Table, number: int) -> Row:
    row = table.slice(number, 1)
    return {
        name: (_digest(column), column.chunk(0).to_string(container_window=1000, skip_new_lines=True))
        for name, column in zip(table.column_names, row.columns, strict=True)
    }


def _digest(column: pa.ChunkedArray) -> str:
    digest = blake2b(digest_size=8)
    for part in _parts(pa.concat_arrays(column.chunks)):
        digest.update(part)
    return digest.hexdigest()


def _parts(array: pa.Array) -> Iterator[bytes]:
    """An array's bytes without those that mean nothing: below a null, before its first value and behind its last."""
    kind, values = array.type, array.drop_null()
    yield array.is_valid().cast(pa.uint8()).to_numpy().tobytes()
    if not len(values):
        return
    if pa.types.is_struct(kind):
        for child in values.flatten():
            yield from _parts(child)
    elif pa.types.is_list(kind) or pa.types.is_map(kind):
        offsets = values.offsets.to_numpy()
        yield np.diff(offsets).tobytes()
        yield from _parts(values.values[offsets[0] : offsets[-1]])
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        _, ends, letters = values.buffers()
        offsets = np.frombuffer(ends, np.int32)[values.offset : values.offset + len(values) + 1]
        yield np.diff(offsets).tobytes()
        if offsets[-1] > offsets[0]:
            yield letters[offsets[0] : offsets[-1]].to_pybytes()
    elif pa.types.is_boolean(kind):
        yield values.cast(pa.uint8()).to_numpy().tobytes()
    elif pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        width = kind.bit_width // 8
        yield values.buffers()[1][values.offset * width : (values.offset + len(values)) * width].to_pybytes()
    else:
        raise TypeError(f"no digest of {kind}")


def main() -> None:
    """The first line says whose `tailer` reads. Then one line of readings for each line with folders that comes in."""
    rows = sys.argv[1:] == ["rows"]
    print(tailer.__file__, flush=True)
    for line in sys.stdin:
        told = [reading for folder in json.loads(line) for reading in readings(folder, rows=rows)]
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
