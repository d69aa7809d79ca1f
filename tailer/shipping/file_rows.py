"""The rows of a data file in batches, as an outlet takes them from a log. Knows no target.

Of generic rows: those of a typed form need its definition, which is not in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from tailer.errors import UsageError
from tailer.rows.batch import COLUMNS, ChangeBatch
from tailer.rows.widened import Rows, WidenedBatch, with_columns
from tailer.schema.extras import extra_columns
from tailer.sinks.files.index import Form, Index
from tailer.sinks.files.series import DataFile
from tailer.typed_decode import json_decoder

BATCH_ROWS: Final = 2_000

_JSON: Final = frozenset(("partition_key", "clustering", "columns", "range", "cells", "attrs"))
"""Columns that hold the text of an object."""

_EXTRAS: Final = extra_columns(with_origin=True, with_primary=True)
_Line: Final = msgspec.defstruct(
    "_Line",
    [
        *((name, msgspec.Raw if name in _JSON else Any) for name in COLUMNS),
        *((name, Any, msgspec.UNSET) for name in _EXTRAS),
    ],
    array_like=False,
)
_NULL: Final = b"null"


def check_generic(index: Index, path: str, target: str, forms: Sequence[Form]) -> None:
    """UsageError for a file whose rows `target` cannot be given."""
    if index.typed is not None or index.format not in forms:
        raise UsageError(
            f"{target} needs files of generic rows",
            file=path,
            expected=f"follow --to files:DIR with --format {' or '.join(forms)}, without --typed",
            found=f"{index.format} of {index.typed}" if index.typed else index.format,
        )


def row_batches(file: DataFile, target: str) -> Iterator[Rows | WidenedBatch]:
    """The rows of a file in order. UsageError for a form that `target` cannot be given."""
    check_generic(file.index, str(file.path), target, ("rows", "arrow"))
    if file.index.format == "arrow":
        for batch in file.batches():
            for start in range(0, batch.num_rows, BATCH_ROWS):
                columns = batch.slice(start, BATCH_ROWS).to_pydict()
                yield with_columns(ChangeBatch(tuple(columns.pop(name) for name in COLUMNS)), columns)
        return
    decode = json_decoder(_Line).decode
    waiting: list[Any] = []
    for line in file.lines():
        waiting.append(decode(line))
        if len(waiting) == BATCH_ROWS:
            yield _batch(waiting)
            waiting = []
    if waiting:
        yield _batch(waiting)


def _batch(lines: Sequence[Any]) -> Rows | WidenedBatch:
    alone = ChangeBatch(tuple([value_of(getattr(line, name), name in _JSON) for line in lines] for name in COLUMNS))
    there = [name for name in _EXTRAS if getattr(lines[0], name) is not msgspec.UNSET]
    return with_columns(alone, {name: [getattr(line, name) for line in lines] for name in there})


def value_of(value: Any, is_json: bool) -> Any:
    """As a batch holds it: of an object its text, which stays the very text it was."""
    if not is_json:
        return value
    text = bytes(value)
    return None if text == _NULL else text.decode()
