"""Compiled and plain scan over generated mutations: every feature of the format page, any damage, any cut."""

from __future__ import annotations

import struct
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.framing.entry import encode_entry
from tailer.scan.index import Status
from tailer.scan.tables import ScanTables, scan_tables
from tests.helpers.logs.generate import mutations, tables
from tests.helpers.logs.model import Cell, Column, Complex, Liveness, Row, Table, Update
from tests.helpers.logs.mutation import encode_mutation
from tests.unit.scan import tables as example
from tests.unit.scan.compiled.twins import compiled_only, entries_both, scan_both, scan_table
from tests.unit.scan.mutations import FIRST, SECOND, mutation, update

pytestmark = [compiled_only, pytest.mark.slow]

# Making a log takes far longer than reading it.
fewer = settings(max_examples=max(25, settings.default.max_examples // 4))


class Log(NamedTuple):
    """A section's bytes, where the payloads lie in it, and definitions to read them by."""

    data: bytes
    starts: list[int]
    sizes: list[int]
    tables: ScanTables


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """A few mutations of a few tables, of which some are known, some kept, and some known by name only."""
    known = [draw(tables(number)) for number in range(1, draw(st.integers(1, 3)) + 1)]
    payloads = [encode_mutation(draw(mutations(known))) for _ in range(draw(st.integers(1, 5)))]
    scanned, unread, unusable = [], [], []
    for table in known:
        what = draw(st.sampled_from(["kept", "kept", "kept", "walked", "truncations", "unread", "unusable", "unknown"]))
        if what == "unread":
            unread.append(table.id.bytes)
        elif what == "unusable":
            unusable.append(table.id.bytes)
        elif what != "unknown":
            column = draw(st.integers(0, 3)) if what == "truncations" else -1
            scanned.append(scan_table(table, kept=what != "walked", truncations=column))
    data, starts = b"", []
    for payload in payloads:
        starts.append(len(data) + 8)
        data += encode_entry(payload)
    return Log(data, starts, list(map(len, payloads)), scan_tables(scanned, unread, unusable))


@fewer
@given(logs(), st.booleans())
def test_genuine_entries(log: Log, unsigned_times: bool) -> None:
    scan_both(log.data, log.starts, log.sizes, log.tables, unsigned_times=unsigned_times)
    assert entries_both(log.data).starts == log.starts


@fewer
@given(logs(), st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_entries(log: Log, damage: list[tuple[int, int]]) -> None:
    data = bytearray(log.data)
    for at, byte in damage:
        data[at % len(data)] ^= byte
    scan_both(bytes(data), log.starts, log.sizes, log.tables)
    entries_both(bytes(data))


@fewer
@given(logs(), st.data())
def test_other_sizes_and_places(log: Log, data: st.DataObject) -> None:
    """Sizes that are wrong, entries that lie over the end, before the beginning and over one another."""
    starts = [start + data.draw(st.sampled_from([0, 0, 0, 1, -1, -(2**40)])) for start in log.starts]
    sizes = [size + data.draw(st.sampled_from([0, 0, 1, -1, 9, 2**40, -(2**40), 2**63 - 2**41])) for size in log.sizes]
    cut = data.draw(st.integers(0, len(log.data)))
    scan_both(log.data[:cut], starts, sizes, log.tables)
    entries_both(log.data[:cut])
    entries_both(log.data[cut:])


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    scan_both(data, [0], [len(data)], example.TABLES)
    entries_both(data)


@given(st.binary(max_size=120))
def test_any_bytes_behind_a_good_head(tail: bytes) -> None:
    data = mutation(update(columns=["v", "m"]))[:-2] + tail
    scan_both(data, [0], [len(data)], example.TABLES)


@pytest.mark.parametrize("payload", [FIRST, SECOND], ids=["first", "second"])
def test_every_prefix_and_every_bit(payload: bytes) -> None:
    for length in range(len(payload) + 1):
        scan_both(payload[:length], [0], [length], example.TABLES)
        # With good bytes behind what is scanned.
        scan_both(payload * 4, [0], [length], example.TABLES)
    for bit in range(len(payload) * 8):
        damaged = bytearray(payload)
        damaged[bit // 8] ^= 1 << bit % 8
        scan_both(bytes(damaged), [0], [len(payload)], example.TABLES)


@given(st.binary(min_size=10, max_size=40), st.integers(0, 2**20))
def test_any_bit_of_entries(payload: bytes, bit: int) -> None:
    data = bytearray(b"".join(encode_entry(payload) for _ in range(3)))
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    found = entries_both(bytes(data))
    assert len(found.faults) == 1
    assert len(found.starts) <= 2


def test_crcs_of_every_length() -> None:
    payloads = [bytes(range(251))[:length] for length in range(10, 200)]
    found = entries_both(b"".join(map(encode_entry, payloads)))
    assert found.sizes == list(map(len, payloads))
    assert not found.faults


def test_more_faults_and_entries_than_there_was_room_for() -> None:
    bad = struct.pack(">iI", 10, 0x38D3E5A5)
    good = encode_entry(bytes(10))
    assert not entries_both(good * 1000).faults
    broken = good[:-1] + bytes([good[-1] ^ 1])
    assert len(entries_both(broken * 1000 + bad).faults) == 1001


def test_more_lines_than_there_was_room_for() -> None:
    table = Table(
        UUID(bytes=example.EXAMPLE.id),
        "ks",
        "t",
        (
            Column("pk", "partition_key", "int", 0),
            Column("c", "clustering", "boolean", 0),
            Column("m", "regular", "set<blob>"),
        ),
    )
    cells = tuple(Cell(path=b"", like_row=1) for _ in range(20_000))
    wide = Row((b"\x01",), Liveness(1), None, (("m", Complex(cells)),))
    narrow = Row((b"",), Liveness(1))
    payloads = [encode_mutation((Update(table, b"k", (row,) * n),)) for row, n in ((narrow, 9000), (wide, 1))]
    starts = np.array([0, len(payloads[0])])
    index = scan_both(b"".join(payloads), starts, [len(p) for p in payloads], scan_tables([scan_table(table)]))[0]
    assert index.stopped.status == Status.OK
    assert (len(index.rows), len(index.cells)) == (9001, 20_000)


def test_many_unread_tables_are_counted_each() -> None:
    ids = [number.to_bytes(16, "big") for number in range(1, 200)] * 2
    payloads = [b"\x01" + table_id + b"rest of it" for table_id in ids]
    data = b"".join(payloads)
    starts = [number * len(payloads[0]) for number in range(len(payloads))]
    index = scan_both(data, starts, [len(payloads[0])] * len(starts), scan_tables([], ids))[0]
    assert set(index.skipped.values()) == {2}
    assert len(index.skipped) == 199
