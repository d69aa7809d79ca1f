"""Rows of followed tables as bytes."""

from __future__ import annotations

from tailer.rows.neutral import neutral_rows
from tailer.scan.mutation.scan import scan
from tailer.schema.decode import RawCell, RawRange, RawRow
from tests.unit.rows.tables import EXAMPLE, prepared
from tests.unit.scan.mutations import FIRST, SECOND, T, ck, deletion, marker, mutation, update

KEY = b"\0\0\0\x01"


def rows(payload: bytes, *, followed: bool = True) -> list[RawRow]:
    tables = prepared(EXAMPLE, followed=[EXAMPLE.id] if followed else [])
    index = scan(payload, [0], [len(payload)], tables.scan_tables)
    return list(neutral_rows(index, payload, tables))


def test_the_worked_examples() -> None:
    assert rows(FIRST) == [RawRow("t", KEY, (b"a",), liveness=T, cells=(RawCell("v", None, b"\0\0\0\x2a", T),))]
    assert rows(SECOND) == [
        RawRow("t", KEY, (), cells=(RawCell("s", None, b"hi", T),)),
        RawRow(
            "t", KEY, (b"a",), liveness=T,
            cells=(
                RawCell("v", None, b"\0\0\0\x07", T),
                RawCell("m", None, None, T - 1),
                RawCell("m", b"k", b"\0\0\0\x09", T),
            ),
        ),
        RawRow("t", KEY, (b"b",), cells=(RawCell("v", None, None, T),)),
        RawRow("t", KEY, range=RawRange((b"c",), False, (b"e",), True, T)),
    ]  # fmt: skip


def test_deletions() -> None:
    payload = mutation(
        update(
            b"\x34" + ck(b"a") + b"\x02" + deletion(1),
            marker(1, [b"b"], deletion(2)),
            marker(5, [b"c"], deletion(2), deletion(3)),
            marker(6, [], deletion(3)),
            deletion=deletion(9),
        )
    )
    assert rows(payload) == [
        RawRow("t", KEY, partition_deletion=T + 9),
        RawRow("t", KEY, (b"a",), liveness=T + 2, row_deletion=T + 1),
        RawRow("t", KEY, range=RawRange((b"b",), True, (b"c",), True, T + 2)),
        RawRow("t", KEY, range=RawRange((b"c",), False, (), True, T + 3)),
    ]


def test_tables_that_nobody_follows_give_none() -> None:
    assert rows(SECOND, followed=False) == []
