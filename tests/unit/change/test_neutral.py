"""Rows of followed tables as bytes."""

from __future__ import annotations

from tailer.change.neutral import NeutralCell, NeutralRange, NeutralRow, neutral_rows
from tailer.format.scan import scan
from tests.unit.change.tables import EXAMPLE, compiled
from tests.unit.format.mutations import FIRST, SECOND, T, ck, deletion, marker, mutation, update

KEY = b"\0\0\0\x01"


def rows(payload: bytes, *, followed: bool = True) -> list[NeutralRow]:
    tables = compiled(EXAMPLE, followed=[EXAMPLE.id] if followed else [])
    index = scan(payload, [0], [len(payload)], tables.scan_tables)
    return list(neutral_rows(index, payload, tables))


def test_the_worked_examples() -> None:
    assert rows(FIRST) == [
        NeutralRow(0, "ks", "t", KEY, (b"a",), liveness=T, cells=[NeutralCell("v", None, b"\0\0\0\x2a", T)])
    ]
    assert rows(SECOND) == [
        NeutralRow(0, "ks", "t", KEY, (), cells=[NeutralCell("s", None, b"hi", T)]),
        NeutralRow(
            0, "ks", "t", KEY, (b"a",), liveness=T,
            cells=[
                NeutralCell("v", None, b"\0\0\0\x07", T),
                NeutralCell("m", None, None, T - 1),
                NeutralCell("m", b"k", b"\0\0\0\x09", T),
            ],
        ),
        NeutralRow(0, "ks", "t", KEY, (b"b",), cells=[NeutralCell("v", None, None, T)]),
        NeutralRow(0, "ks", "t", KEY, range_deletion=T, range=NeutralRange((b"c",), False, (b"e",), True)),
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
        NeutralRow(0, "ks", "t", KEY, partition_deletion=T + 9),
        NeutralRow(0, "ks", "t", KEY, (b"a",), liveness=T + 2, row_deletion=T + 1),
        NeutralRow(0, "ks", "t", KEY, range_deletion=T + 2, range=NeutralRange((b"b",), True, (b"c",), True)),
        NeutralRow(0, "ks", "t", KEY, range_deletion=T + 3, range=NeutralRange((b"c",), False, (), True)),
    ]


def test_tables_that_nobody_follows_give_none() -> None:
    assert rows(SECOND, followed=False) == []
