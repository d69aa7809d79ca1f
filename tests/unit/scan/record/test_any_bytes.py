"""Any bytes at all end in a status, the same in both scans: no exception, no line outside of the entry."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.scan.index import Status
from tailer.scan.record.scan import Scanned
from tailer.scan.tables import ScanTables
from tests.unit.scan.inside import check_inside
from tests.unit.scan.record.packed import entry
from tests.unit.scan.record.scanned import (
    OTHER_ID,
    OTHER_PRINT,
    PAIR,
    PAIRS,
    SINGLE,
    TABLES,
    cell,
    change,
    row,
    scan_both,
)

ITEMS = [[b"p", b"v", None, 5, 6], [b"q", None, 3, None, None]]
PAYLOADS = {
    "insert": entry(change(row(cells=[cell(3, b"\0\0\0\7")]))),
    "all": entry(
        change(
            row(ttl=1, expires=2, cells=[cell(3, b"1234", 4, 5, 6), cell(4, None, None, None, None, [1, ITEMS])]),
            row(1, clustering=None, static=True, cells=[cell(2, None)]),
            row(2, ts=-5),
            row(3, clustering=None, bounds=[[b"a"], True, [], False]),
            row(4, clustering=None),
            txn=3,
            more=({"a": [1, {"b": 0.5}]}, "more"),
        )
    ),
    "pair": entry(
        change(row(key=[b"a", b"bc"], clustering=None, cells=[cell(2, b"x")]), table=OTHER_ID, mark=OTHER_PRINT)
    ),
}
KEPT = {"insert": TABLES, "all": TABLES, "pair": PAIRS}
BEHIND = bytes(64)
"""Enough for the straight way."""


def check(found: Scanned) -> None:
    """Every line lies inside the data, and runs of lines inside their arrays."""
    index, size = found.index, len(found.data)
    for _, _, off, length in index.updates.tolist():
        assert 0 <= off <= off + length <= size
    for off, length in index.values.tolist():
        assert 0 <= off <= off + length <= size
    check_inside(index, size)
    if index.stopped.status != Status.OK:
        assert len(found.attrs) == 0


def scans(payload: bytes, tables: ScanTables, **options: Any) -> list[Scanned]:
    """With and without bytes behind it, as an entry of a transaction and as one that counts at once."""
    found = []
    for number in (None, 3):
        for behind in (b"", BEHIND):
            found.append(scan_both(payload + behind, [0], [len(payload)], tables, 0, number, **options))
            check(found[-1])
    return found


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_prefix_is_refused(name: str) -> None:
    payload = PAYLOADS[name]
    for length in range(len(payload)):
        for found in scans(payload[:length], KEPT[name]):
            is_passed = name == "all" and not len(found.index.updates) and found.number == 0
            assert found.index.stopped.status != Status.OK or (is_passed and length > 30), length
        # What follows the entry must not be taken for a part of it.
        found = scan_both(payload, [0], [length], KEPT[name], 0, 0)
        assert found.index.stopped.status not in (Status.OK, Status.WRONG_SIZE), length


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_byte_replaced(name: str) -> None:
    payload = PAYLOADS[name]
    for at in range(len(payload)):
        bits = [payload[at] ^ 1 << bit for bit in range(8)]
        for byte in (*bits, 0, 0x7F, 0x90, 0xC0, 0xC1, 0xC6, 0xCF, 0xD3, 0xDD, 0xFF):
            scans(payload[:at] + bytes([byte]) + payload[at + 1 :], KEPT[name])


@given(st.binary(max_size=120), st.sampled_from(sorted(PAYLOADS)), st.integers(0, 200))
def test_random_bytes_behind_a_good_head(tail: bytes, name: str, cut: int) -> None:
    scans(PAYLOADS[name][:cut] + tail, KEPT[name])
    scans(PAYLOADS[name][:cut] + tail, ScanTables((SINGLE, PAIR), skip_unknown=True))


@given(
    st.lists(st.tuples(st.integers(-9, 400), st.integers(-9, 400)), max_size=5),
    st.sampled_from(sorted(PAYLOADS)),
    st.sampled_from([None, 0]),
)
def test_entries_that_lie_anywhere(places: list[tuple[int, int]], name: str, number: int | None) -> None:
    starts, sizes = [start for start, _ in places], [size for _, size in places]
    for tables in (TABLES, PAIRS):
        scan_both(PAYLOADS[name] * 3, starts, sizes, tables, 0, number)


@pytest.mark.parametrize("name", ["insert", "pair"])
def test_the_straight_way_and_the_long_one_give_the_same(name: str) -> None:
    """Many in a row, with others among them; the last ones stand too near the end for the straight way."""
    usual, other = PAYLOADS[name], entry([8, bytes(16), bytes(16)])
    payloads = [other if number % 40 == 39 else usual for number in range(200)]
    data, starts = b"", []
    for payload in payloads:
        starts.append(len(data))
        data += payload
    found = scan_both(data, starts, [len(payload) for payload in payloads], KEPT[name])
    assert found.index.stopped.status == Status.OK
    assert len(found.index.rows) == 195
