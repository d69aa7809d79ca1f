"""The straight way of the compiled scan: what is nearly a plain insert, behind one that is, against the plain twin."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.scan.index import HAS_TIMESTAMP, ROW_LINE, Status
from tailer.scan.tables import LENGTH_PREFIX, NO_COLUMN, ScanColumn, ScanTable, ScanTables, scan_tables
from tests.unit.scan.compiled.twins import compiled_only, scan_both
from tests.unit.scan.mutations import FIRST, OTHER, TABLE, T, cell, ck, counted, mutation, update, vint

pytestmark = compiled_only

ALL_COLUMNS = 0x20
PLAIN_CELL = 0x08
NAMES = ("a", "b", "c")


def _table(table_id: bytes = TABLE, *, kept: bool = True, truncations: int = NO_COLUMN) -> ScanTable:
    columns = {b"a": ScanColumn(0, 4, False), b"b": ScanColumn(1, LENGTH_PREFIX, False), b"c": ScanColumn(2, 8, False)}
    columns[b"m"] = ScanColumn(3, LENGTH_PREFIX, True)
    return ScanTable(table_id, (8, LENGTH_PREFIX), columns, kept, truncations)


TABLES = scan_tables([_table(), _table(OTHER)])


def _row(text: bytes = b"alpha", *, flags: int = HAS_TIMESTAMP | ALL_COLUMNS, after: int = 5) -> bytes:
    clustering = vint(0) + bytes(7) + b"\x09" + counted(b"second")
    cells = cell(PLAIN_CELL, b"\0\0\0\7"), cell(PLAIN_CELL, counted(text)), cell(PLAIN_CELL, struct.pack(">d", 0.5))
    return bytes([flags]) + clustering + vint(after) + b"".join(cells)


def _insert(text: bytes = b"alpha", table: bytes = TABLE, names: Sequence[str] = NAMES) -> bytes:
    return mutation(update(_row(text), columns=names, table=table))


def _some(number: int) -> bytes:
    """A row of one of several lists of columns, with a static row or without."""
    names = [("a",), ("b",), ("a", "b"), NAMES][number % 4]
    values = {"a": b"\0\0\0\7", "b": counted(b"x" * number), "c": struct.pack(">d", number)}
    clustering = vint(0) + bytes(7) + b"\x09" + counted(b"second")
    cells = b"".join(cell(PLAIN_CELL, values[name]) for name in names)
    return mutation(update(bytes([HAS_TIMESTAMP | ALL_COLUMNS]) + clustering + vint(5) + cells, columns=names))


def _both(payloads: Sequence[bytes], tables: ScanTables = TABLES, *, slack: int = 0) -> list[int]:
    """Scans entries one behind the other; at which ones it stopped."""
    starts, data = [], b""
    for payload in payloads:
        starts.append(len(data))
        data += payload + b"\xcc" * 4
    return [index.stopped.entry for index in scan_both(data + bytes(slack), starts, list(map(len, payloads)), tables)]


def test_a_plain_insert_is_one() -> None:
    index = scan_both(
        _insert() * 30 + bytes(200), [n * len(_insert()) for n in range(30)], [len(_insert())] * 30, TABLES
    )[0]
    assert index.stopped.status == Status.OK
    assert len(index.updates) == len(index.rows) == 30
    assert index.rows["kind"].tolist() == [ROW_LINE] * 30
    assert index.rows["ts"].tolist() == [T + 5] * 30
    assert index.cells["value_len"].tolist() == [4, 5, 8] * 30


def _prefixes(payload: bytes) -> Iterator[bytes]:
    for length in range(len(payload)):
        yield payload[:length]


@pytest.mark.parametrize("slack", [0, 300])
@pytest.mark.parametrize("payload", [FIRST, _insert(), _insert(b"x" * 130)], ids=["first", "three", "long"])
def test_cut_at_every_byte(payload: bytes, slack: int) -> None:
    tables = scan_tables([_table(), _table(OTHER)]) if payload is not FIRST else _first_tables()
    for cut in _prefixes(payload):
        _both([payload, payload, cut, payload, payload], tables, slack=slack)
        # With good bytes behind, and the size wrong by so much.
        data = payload * 5 + bytes(slack)
        size = len(payload)
        scan_both(data, [n * size for n in range(5)], [size, size, len(cut), size, size], tables)
        scan_both(data, [n * size for n in range(4)], [size, size, size + len(cut), size], tables)


def _first_tables() -> ScanTables:
    return scan_tables([ScanTable(TABLE, (LENGTH_PREFIX,), {b"v": ScanColumn(0, 4, False)}, kept=True)])


def test_every_bit() -> None:
    payload = _insert()
    for bit in range(8 * len(payload)):
        damaged = bytearray(payload)
        damaged[bit // 8] ^= 1 << bit % 8
        _both([payload, payload, bytes(damaged), payload], slack=200 * (bit & 1))


def test_every_value_of_every_flags_byte() -> None:
    payload = _insert()
    row = payload.index(_row())
    places = [17 + 5, row, row + 1, row + 1 + 16 + 1, payload.index(b"\x08\0\0\0\7"), payload.index(b"\5alpha") - 1, -1]
    for place in places:
        for value in range(256):
            damaged = bytearray(payload)
            damaged[place] = value
            _both([payload, payload, bytes(damaged), payload], slack=200)


@given(st.integers(0, 120), st.binary(max_size=40), st.sampled_from([0, 200]))
def test_any_tail(length: int, tail: bytes, slack: int) -> None:
    payload = _insert()
    _both([payload, payload, payload[:length] + tail, payload], slack=slack)


@given(st.lists(st.sampled_from(["same", "longer", "other", "order", "fewer", "empty", "flags", "none"]), max_size=30))
def test_others_between(kinds: list[str]) -> None:
    made = {
        "same": _insert(),
        "longer": _insert(b"y" * 300),
        "other": _insert(table=OTHER),
        "order": _insert(names=("c", "a", "b")),
        "fewer": mutation(update(_row()[:-9], columns=("a", "b"))),
        "empty": mutation(update()),
        "flags": mutation(update(bytes([HAS_TIMESTAMP]) + _row()[1:-23] + vint(0) + _row()[-23:], columns=NAMES)),
        "none": mutation(update(_row()[:-23], columns=())),
    }
    _both([made[kind] for kind in kinds], slack=200)


@pytest.mark.parametrize(
    "tables",
    [
        scan_tables([_table(kept=False), _table(OTHER)]),
        scan_tables([_table(truncations=1), _table(OTHER)]),
        scan_tables([_table(OTHER)]),
        scan_tables([_table(OTHER)], [TABLE]),
        scan_tables([_table(OTHER)], unusable=[TABLE]),
    ],
    ids=["walked", "truncations", "unknown", "unread", "unusable"],
)
def test_tables_that_are_not_just_kept(tables: ScanTables) -> None:
    _both([_insert(table=OTHER)] * 3 + [_insert(), _insert(), _insert(table=OTHER)] * 4, tables, slack=200)
    two = mutation(update(_row(), columns=NAMES, table=OTHER), update(_row(), columns=NAMES))
    _both([_insert(table=OTHER)] * 3 + [two] * 3 + [_insert(table=OTHER)] * 3, tables, slack=200)


def test_no_clustering_and_more_than_a_header_tells() -> None:
    for count in (0, 1, 32, 33, 40):
        table = ScanTable(TABLE, (1,) * count, {b"a": ScanColumn(0, 0, False)}, kept=True)
        headers = b"".join(vint(0) + bytes(min(32, count - first)) for first in range(0, count, 32))
        row = bytes([HAS_TIMESTAMP | ALL_COLUMNS]) + headers + vint(1) + cell(PLAIN_CELL)
        _both([mutation(update(row, columns=["a"]))] * 20, scan_tables([table]), slack=200)


def test_null_and_empty_clustering_values() -> None:
    for values in ((b"a", b"b"), (b"", b"b"), (b"a", None), (None, None)):
        table = ScanTable(TABLE, (LENGTH_PREFIX,) * 2, {b"a": ScanColumn(0, 4, False)}, kept=True)
        row = bytes([HAS_TIMESTAMP | ALL_COLUMNS]) + ck(*values) + vint(1) + cell(PLAIN_CELL, b"\0\0\0\1")
        _both([mutation(update(row, columns=["a"]))] * 5, scan_tables([table]), slack=200)


def test_more_cells_than_there_was_room_for() -> None:
    names = [f"{number}" for number in range(60)]
    columns = {name.encode(): ScanColumn(number, 0, False) for number, name in enumerate(names)}
    table = ScanTable(TABLE, (), columns, kept=True)
    row = bytes([HAS_TIMESTAMP | ALL_COLUMNS]) + vint(1) + cell(PLAIN_CELL) * 60
    assert _both([mutation(update(row, columns=names))] * 3000, scan_tables([table]), slack=200) == [3000]


@given(st.lists(st.integers(0, 15), max_size=40), st.sampled_from([0, 200]))
def test_statements_take_turns(numbers: list[int], slack: int) -> None:
    """Two lists of columns are known at a time, whichever were read last; more of them are read anew."""
    assert _both([_some(number) for number in numbers], slack=slack)[-1:] in ([], [len(numbers)])


def test_a_list_that_fails_is_not_known_afterwards() -> None:
    payloads = [_some(0), _some(1), _some(2).replace(b"\1b", b"\1z", 1), _some(0), _some(1), _some(2), _some(3)]
    assert _both(payloads * 3, slack=200) == [2, 9, 16, 21]
