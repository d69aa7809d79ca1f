"""The Arrow array of texts of which there are few: each row has the number of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailer.jit.addresses import address_of
from tailer.limits import OFFSET_MAX
from tailer.rows.typed.arrays import text_array
from tailer.rows.typed.columns import too_long
from tailer.rows.typed.compiled.chosen import SLACK, put_chosen
from tailer.rows.typed.compiled.decode import TOO_LONG

Numbers = npt.NDArray[Any]


def chosen_texts(column: str, texts: tuple[str, ...], choice: npt.NDArray[np.int32]) -> pa.Array:
    """Those with the numbers of `choice`. `column`: what an error names."""
    letters, ends, longest = _laid_out(texts)
    to_ends = np.empty(len(choice) + 1, np.int32)
    out = np.empty(min(len(choice) * longest, OFFSET_MAX) + SLACK, np.uint8)
    given = address_of(letters), address_of(ends), address_of(choice), len(choice)
    total = put_chosen(*given, address_of(to_ends), address_of(out))
    if total == TOO_LONG:
        raise too_long(column)
    # In place: a copy would need both in memory at once.
    out.resize(total, refcheck=False)
    return text_array(pa.string(), to_ends, out, None, len(choice))


@lru_cache(maxsize=64)
def _laid_out(texts: tuple[str, ...]) -> tuple[Numbers, Numbers, int]:
    """The texts end to end with SLACK behind them, and their ends; the bytes of the longest."""
    encoded = [text.encode() for text in texts]
    ends = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(text) for text in encoded], out=ends[1:])
    return np.frombuffer(b"".join(encoded) + bytes(SLACK), np.uint8), ends, max(map(len, encoded))
