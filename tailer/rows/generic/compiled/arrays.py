"""The arrays that the compiled build fills: change rows by column. Values only.

`fixed` has one line per field below, a column per change row. Texts lie end to end, as Arrow has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tailer.types.compiled.plan import Bytes, Numbers

Flags = npt.NDArray[np.bool_]

# The lines of `fixed`. HAS_*: whether the fields behind it are there, 0 or 1. LINE: of the index, or -1.
TABLE: Final = 0
OP: Final = 1
IS_STATIC: Final = 2
WRITE_TS: Final = 3
HAS_ROW_TTL: Final = 4
TTL: Final = 5
EXPIRES_AT: Final = 6
HAS_TOKEN: Final = 7
TOKEN: Final = 8
OFFSET: Final = 9
NUMBER: Final = 10
ENTRY: Final = 11
LINE: Final = 12
FIXED: Final = 13

OPS: Final = ("insert", "update", "delete_row", "delete_range", "delete_partition", "truncate")
"""The words that OP counts."""

INSERT: Final = 0
UPDATE: Final = 1
DELETE_ROW: Final = 2
DELETE_RANGE: Final = 3
DELETE_PARTITION: Final = 4

TEXT_BYTES_MAX: Final = 2**31 - 1
"""Arrow's offsets of strings are signed 32-bit."""


class Texts(NamedTuple):
    """A column of JSON texts: that of row n in `data` from `offsets[n]` to `offsets[n + 1]`, none if not `valid[n]`."""

    offsets: npt.NDArray[np.int32]
    data: Bytes
    valid: Flags


class Rows(NamedTuple):
    """Change rows. All arrays may be longer than there are rows. ENTRY is set for what the compiled build made."""

    fixed: Numbers
    key: Texts
    clustering: Texts
    columns: Texts
    cells: Texts
    range: Texts


def empty_texts(rows: int, size: int) -> Texts:
    """Room for that many texts of together `size` bytes."""
    offsets = np.empty(rows + 1, np.int32)
    offsets[0] = 0
    return Texts(offsets, np.empty(size, np.uint8), np.empty(rows, np.bool_))


def grown(texts: Texts, size: int) -> Texts:
    """The same texts with room for `size` bytes."""
    data = np.empty(size, np.uint8)
    data[: len(texts.data)] = texts.data
    return texts._replace(data=data)


def trimmed(texts: Texts, rows: int) -> Texts:
    """The first `rows` texts, and no room behind them."""
    used = int(texts.offsets[rows])
    # In place: a copy would need both in memory at once.
    texts.data.resize(used, refcheck=False)
    return Texts(texts.offsets[: rows + 1], texts.data, texts.valid[:rows])


def texts_of(values: Sequence[str | None]) -> Texts:
    """Texts one by one."""
    encoded = [b"" if value is None else value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    valid = np.array([value is not None for value in values], np.bool_)
    # A copy, for what is read only is another type to compiled code.
    return Texts(offsets, np.frombuffer(b"".join(encoded), np.uint8).copy(), valid)


def no_texts(rows: int) -> Texts:
    """That many times no text."""
    return Texts(np.zeros(rows + 1, np.int32), np.empty(0, np.uint8), np.zeros(rows, np.bool_))


def text_bytes(texts: Texts) -> int:
    """Bytes of all texts together."""
    return int(texts.offsets[-1]) - int(texts.offsets[0])
