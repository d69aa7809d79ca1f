"""The worked examples of format page 11, line by line of the index."""

from __future__ import annotations

from tailer.scan import index as ix
from tailer.scan.index import NO_DELETION
from tests.unit.scan.mutations import FIRST, NOW, SECOND, T
from tests.unit.scan.tables import M, S, V, lines, ok


def test_first_example() -> None:
    index = ok(FIRST)
    assert index.updates.tolist() == [(0, 0, 18, 4)]
    assert index.rows.tolist() == [(0, 0, ix.ROW_LINE, ix.HAS_TIMESTAMP, T, 0, 0, NO_DELETION, 0, 1, 0, 1)]
    assert index.values.tolist() == [(39, 1)]
    assert index.cells.tolist() == [(V, 0, T, 0, 0, 0, 0, 42, 4)]
    assert FIRST[42:46] == (42).to_bytes(4, "big")


def test_second_example_rows() -> None:
    index = ok(SECOND)
    static, row, tombstone, start, end = index.rows.tolist()
    expiring = ix.HAS_TIMESTAMP | ix.HAS_TTL
    assert static == (0, 0, ix.STATIC_ROW, 0, NO_DELETION, 0, 0, NO_DELETION, 0, 0, 0, 1)
    assert row == (0, 1, ix.ROW_LINE, expiring, T, 3600, NOW + 3600, NO_DELETION, 0, 1, 1, 3)
    assert tombstone == (0, 2, ix.ROW_LINE, 0, NO_DELETION, 0, 0, NO_DELETION, 1, 1, 4, 1)
    assert start == (0, 3, ix.RANGE_START, 0, T, 0, 0, NO_DELETION, 2, 1, 5, 0)
    assert end == (0, 4, ix.RANGE_END, ix.CLOSE_INCLUSIVE, NO_DELETION, 0, 0, T, 3, 1, 5, 0)
    assert [SECOND[off : off + length] for off, length in index.values.tolist()] == [b"a", b"b", b"c", b"e"]


def test_second_example_cells() -> None:
    index = ok(SECOND)
    told = lines(index.cells, "column", "flags", "ts", "ttl", "expires")
    assert told == [
        (S, 0, T, 0, 0),
        (V, ix.CELL_EXPIRING, T, 3600, NOW + 3600),
        (M, ix.COMPLEX_DELETION, T - 1, 0, 0),
        (M, ix.CELL_EXPIRING, T, 3600, NOW + 3600),
        (V, ix.CELL_DELETED | ix.CELL_EMPTY, T, 0, NOW),
    ]
    paths = [SECOND[off : off + length] for off, length in lines(index.cells, "path_off", "path_len")]
    values = [SECOND[off : off + length] for off, length in lines(index.cells, "value_off", "value_len")]
    assert paths == [b"", b"", b"", b"k", b""]
    assert values == [b"hi", b"\0\0\0\x07", b"", b"\0\0\0\x09", b""]


def test_both_in_one_scan_and_again_from_the_second() -> None:
    whole = ok(FIRST, SECOND)
    assert lines(whole.updates, "entry") == [0, 1]
    assert lines(whole.rows, "update") == [0, 1, 1, 1, 1, 1]
    assert lines(whole.rows, "number") == [0, 0, 1, 2, 3, 4]
    rest = ok(FIRST, SECOND, first=1)
    assert lines(rest.updates, "entry") == [1]
    assert rest.cells.tolist() == whole.cells.tolist()[1:]
