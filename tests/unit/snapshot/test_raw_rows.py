"""Pages as one run of bytes, and pieces of a table that are cut between tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.rebuild import Table
from tailer.rebuild.table import plan_of
from tailer.schema.server_rows import Page, Row
from tailer.snapshot import partitions
from tailer.snapshot.partitions import AskedTable
from tailer.snapshot.raw_rows import NO_ROWS, split
from tests.unit.images.told import definition


def page(rows: Sequence[Row], columns: int) -> Page:
    """As the native protocol has it."""
    parts = [
        (-1 if value is None else len(value)).to_bytes(4, "big", signed=True) + (value or b"")
        for row in rows
        for value in row
    ]
    return Page(len(rows), columns, b"".join(parts))


def token(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


values = st.none() | st.binary(max_size=5)


@given(st.lists(st.lists(st.tuples(values, values), max_size=4), max_size=4))
def test_pages_one_behind_the_other_are_their_rows(pages: list[list[tuple[bytes | None, bytes | None]]]) -> None:
    held = NO_ROWS
    whole: list[Row] = []
    for number, rows in enumerate(pages):
        told: list[Row] = [(token(number), *row) for row in rows]
        held, whole = held.and_page(page(told, 3)), whole + told
        assert list(page(told, 3).rows()) == told
        assert list(held.tuples()) == whole
        if whole:
            assert held.tokens().tolist() == [int.from_bytes(row[0] or b"", "big", signed=True) for row in whole]
        # What was taken away at the front leaves the rest as it is.
        held, whole = held.slice(len(whole) // 2), whole[len(whole) // 2 :]
    assert held.bytes_behind(1) == sum(len(value or b"") for row in whole for value in row[1:])


def test_a_value_that_was_not_set_is_null_too() -> None:
    held = split(Page(1, 2, token(0)[:0] + (8).to_bytes(4, "big") + token(7) + (-2).to_bytes(4, "big", signed=True)))
    assert list(held.tuples()) == [(token(7), None)]


@pytest.mark.parametrize("page_rows", [1, 2, 3, 100])
@pytest.mark.parametrize("most", [1, 2, 4, 100])
def test_pieces_are_cut_between_tokens(monkeypatch: pytest.MonkeyPatch, page_rows: int, most: int) -> None:
    """Two partitions may have one token."""
    keys = [(1, 1), (1, 1), (1, 2), (4, 3), (5, 4), (5, 4), (5, 4), (9, 5)]
    rows: list[Row] = [(token(at), bytes([key]), bytes([number])) for number, (at, key) in enumerate(keys)]

    def pages(*_: Any) -> Iterator[Page]:
        return (page(rows[at : at + page_rows], 3) for at in range(0, len(rows), page_rows))

    monkeypatch.setattr(partitions, "read_pages", pages)
    taken: list[int] = []
    session: Any = None
    asked = AskedTable(session, plan_of(Table.of(definition())), ["x"], "ONE", page_rows, taken.append)
    pieces = list(asked.pieces(0, 20, most))
    assert [row for piece in pieces for row in piece.rows.tuples()] == rows
    assert [piece.low for piece in pieces] == [0, *(piece.high for piece in pieces[:-1])]
    assert pieces[-1].high == 20
    for piece in pieces:
        found = piece.rows.tokens().tolist() if len(piece.rows) else []
        assert all(piece.low < each <= piece.high for each in found)
        # Without its last token it would have been too few.
        assert len([each for each in found if each != found[-1]]) < most
    told = [(each.name[-1], len(each.rows)) for piece in pieces for each in asked.partitions(piece.rows)]
    assert told == [(1, 2), (2, 1), (3, 1), (4, 3), (5, 1)]
    assert sum(taken) == len(rows)
