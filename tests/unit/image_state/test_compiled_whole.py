"""Stored rows that are not as long as they say are found before compiled code reads them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tailer.image_state.compiled import whole
from tailer.image_state.compiled.whole import first_broken
from tailer.images.facts import Copies, Fact
from tailer.images.marks import LONG_AGO, Mark
from tailer.images.packed import Row, pack
from tailer.jit.addresses import address_of
from tailer.rebuild.facts import Kind

CELL = Fact(int(Kind.CELL), "v", b"path", b"\0\0\0\x07", 1_795, 60, 900)
LIVE = Fact(int(Kind.LIVE), "", b"", b"", 1_795)
MARKS = (Mark(0, (12, 340)), Mark(1, (12, 7)))
ROWS = [
    pack(Row(b"k", b"\0\0\0\x01", facts={CELL: Copies(MARKS, 8), LIVE: Copies((Mark(0, LONG_AGO),), 8)})),
    pack(Row(b"k")),
]


def broken(*rows: bytes) -> int:
    data = np.frombuffer(b"".join(rows) + b" ", np.uint8)
    return first_broken(data, np.array([len(row) for row in rows], np.int64))


def test_what_compiled_code_has_the_address_of_is_there_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs without the interpreter's lock: another thread takes what is free for arrays of its own."""
    seen: list[int] = []

    def run(block: int) -> int:
        others = [np.ones(24, np.bool_) for _ in range(16)]
        seen.extend(np.frombuffer(ctypes.string_at(block, 24), np.int64).tolist())
        return len(others)

    monkeypatch.setattr(whole, "find_broken", run)
    data, lengths = np.frombuffer(ROWS[1], np.uint8), np.array([len(ROWS[1])], np.int64)
    whole.first_broken(data, lengths)
    assert seen == [address_of(data), 1, address_of(lengths)]


def test_rows_that_are_whole() -> None:
    assert broken(*ROWS, *ROWS) == 4
    assert broken() == 0


@pytest.mark.parametrize("at", range(len(ROWS[0])))
def test_one_that_is_cut(at: int) -> None:
    assert broken(ROWS[1], ROWS[0][:at]) == 1


def test_one_with_bytes_behind_it() -> None:
    assert broken(ROWS[0], ROWS[0] + b"\0") == 1


@pytest.mark.parametrize("place", [2, 3, 4, 5, 6, 7, 32, 33, 34, 35])
def test_one_whose_numbers_are_greater(place: int) -> None:
    """Of sets, of facts, and the length of the clustering."""
    row = bytearray(ROWS[0])
    row[place] ^= 0x40
    assert broken(bytes(row)) == 0
