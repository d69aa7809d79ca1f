"""The Arrow array of texts of which there are few: each row has the number of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailer.jit.addresses import address_of
from tailer.rows.typed.arrays import text_array
from tailer.rows.typed.columns import too_long
from tailer.rows.typed.compiled.chosen import SLACK, put_chosen_ends, put_chosen_texts
from tailer.rows.typed.compiled.decode import TOO_LONG

Numbers = npt.NDArray[Any]


def chosen_texts(column: str, texts: tuple[str, ...], choice: npt.NDArray[np.int32]) -> pa.Array:
    """Those with the numbers of `choice`. `column`: what an error names."""
    letters, ends = _laid_out(texts)
    to_ends = np.empty(len(choice) + 1, np.int32)
    chosen = address_of(choice), len(choice), address_of(to_ends)
    total = put_chosen_ends(address_of(ends), *chosen)
    if total == TOO_LONG:
        raise too_long(column)
    out = np.empty(total + SLACK, np.uint8)
    put_chosen_texts(address_of(letters), address_of(ends), *chosen, address_of(out))
    return text_array(pa.string(), to_ends, out[:total], None, len(choice))


@lru_cache(maxsize=64)
def _laid_out(texts: tuple[str, ...]) -> tuple[Numbers, Numbers]:
    """The texts end to end with SLACK behind them, and their ends."""
    encoded = [text.encode() for text in texts]
    ends = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(text) for text in encoded], out=ends[1:])
    return np.frombuffer(b"".join(encoded) + bytes(SLACK), np.uint8), ends
