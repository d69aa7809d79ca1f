"""Texts of whole columns at once, by Arrow: joined, quoted as JSON. Knows no change row.

Importing this loads pyarrow.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.types import quote

_ESCAPED: Final = np.isin(np.arange(256), [*range(0x20), ord('"'), ord("\\")])


def joined(*parts: pa.Array | str | None) -> pa.Array:
    """The parts one behind the other, row by row: columns and texts that are the same in each row.

    None is left out. A row is null where one of its parts is. At least one part is a column, all of one type.
    """
    (kind,) = {part.type for part in parts if isinstance(part, pa.Array)}
    made = [pa.scalar(part, kind) if isinstance(part, str) else part for part in parts if part is not None]
    return pc.binary_join_element_wise(*made, pa.scalar("", kind))


def quoted(texts: pa.Array) -> pa.Array:
    """Each text as a JSON string; nulls stay."""
    if is_clean(texts):
        return joined('"', texts, '"')
    known = texts.dictionary_encode()
    spelled = [quote(text) for text in known.dictionary.cast(pa.string()).to_pylist()]
    return pa.array(spelled, texts.type).take(known.indices)


def is_clean(texts: pa.Array) -> bool:
    """Whether no text has a letter that JSON writes otherwise."""
    return not _ESCAPED[letters(texts)].any()


def letters(texts: pa.Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of all texts one behind the other, those of nulls included."""
    if len(texts) == 0 or texts.buffers()[2] is None:
        return np.empty(0, np.uint8)
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(texts.buffers()[2], np.uint8)[ends[0] : ends[-1]]


def lines_of(data: bytes) -> pa.Array:
    """The lines of `data`, each ended by a newline, as texts without it."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")).astype(np.int32) + 1
    offsets = np.concatenate((np.zeros(1, np.int32), ends))
    whole = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    return pc.binary_slice(whole, 0, -1)
