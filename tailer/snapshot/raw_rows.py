"""Rows of pages as one run of bytes, and where in it each value stands. Knows no column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import address_of
from tailer.jit.ready import expect, twin_now
from tailer.schema.server_rows import Page, Row

Numbers = npt.NDArray[np.int64]

COMPILED: Final = "tailer.snapshot.compiled.split"
"""What finds the values of a page."""
_TOKEN: Final = 8


@dataclass(frozen=True)
class RawRows:
    """`values`: by row and column where in `data` a value begins and how long it is, -1 for null. The first column is
    the token."""

    data: bytes
    values: Numbers

    def __len__(self) -> int:
        return len(self.values)

    def tokens(self) -> Numbers:
        """Of each row the token."""
        held = np.frombuffer(self.data or bytes(_TOKEN), np.uint8)
        found: Numbers = held[self.values[:, 0, :1] + np.arange(_TOKEN)].view(">i8")[:, 0].astype(np.int64)
        return found

    def bytes_behind(self, column: int) -> int:
        """How many bytes the values from a column on have."""
        return int(np.maximum(self.values[:, column:, 1], 0).sum())

    def slice(self, start: int, stop: int | None = None) -> RawRows:
        """The rows from `start` to before `stop`."""
        return RawRows(self.data, self.values[start:stop])

    def and_page(self, page: Page) -> RawRows:
        """With those of a page behind them."""
        more = split(page)
        if not len(self):
            return more
        begin = int(self.values[0, 0, 0]) - _LENGTH
        own = self.values.copy()
        own[:, :, 0] -= begin
        more.values[:, :, 0] += len(self.data) - begin
        return RawRows(self.data[begin:] + more.data, np.concatenate([own, more.values]))

    def tuples(self) -> Iterator[Row]:
        """The rows one by one."""
        data = self.data
        for row in self.values.tolist():
            yield tuple([data[at : at + length] if length >= 0 else None for at, length in row])


_LENGTH: Final = 4
NO_ROWS: Final = RawRows(b"", np.empty((0, 1, 2), np.int64))


def split(page: Page) -> RawRows:
    """Where the values of a page stand."""
    values = np.empty((page.size, page.columns, 2), np.int64)
    expect(len(page.data))
    compiled: Any = twin_now(COMPILED)
    if compiled is None:
        _split(page, values)
    else:
        held = np.frombuffer(page.data or b"\0", np.uint8)
        compiled.split_values(address_of(held), page.size * page.columns, address_of(values))
    return RawRows(page.data, values)


def _split(page: Page, values: Numbers) -> None:
    """The plain twin."""
    at, places = 0, values.reshape(-1, 2)
    for number in range(len(places)):
        length = int.from_bytes(page.data[at : at + _LENGTH], "big", signed=True)
        places[number] = at + _LENGTH, max(length, -1)
        at += _LENGTH + max(length, 0)
