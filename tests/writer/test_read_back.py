"""Rows of a change as values again: against the values that the program gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tailer.scan.record.record import Change, decode_record
from tests.writer.test_table import ORDERS, WIDE
from writer_hooks import read_back
from writer_hooks.cell_arrays import Delta
from writer_hooks.read_back import RowReader, RowValues


def read(change: Any) -> list[RowValues]:
    record = decode_record(change.encode(None, 5_000_000))
    assert isinstance(record, Change)
    return list(RowReader(change.table.model).rows(record))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: ORDERS.insert(
                {"id": 1, "line": 2, "article": "tea", "price": None, "item": {"name": "a", "tags": ["b"]}}
            ),
            [
                RowValues(
                    "insert",
                    {"id": 1, "line": 2},
                    {"article": "tea", "price": None, "item": {"name": "a", "tags": ["b"]}},
                )
            ],
        ),
        (lambda: ORDERS.delete({"id": 1, "line": 2}), [RowValues("delete_row", {"id": 1, "line": 2}, {})]),
        (lambda: ORDERS.delete_partition({"id": 1}), [RowValues("delete_partition", {"id": 1}, {})]),
        (
            lambda: ORDERS.delete_range({"id": 1}, start=[2], start_inclusive=False),
            [
                RowValues(
                    "delete_range",
                    {"id": 1},
                    {},
                    {"start": {"line": 2}, "end": None, "start_inclusive": False, "end_inclusive": True},
                )
            ],
        ),
        (
            lambda: WIDE.update(
                {
                    "k": "a",
                    "c": 2,
                    "s": 3,
                    "tags": {"x"},
                    "parts": Delta({"p": 1}, ["q"]),
                    "place": Delta({"street": "s"}, ["number"]),
                    "marks": Delta((), [UUID(int=1 << 76)]),
                }
            ),
            [
                RowValues("update", {"k": "a"}, {"s": 3}),
                RowValues(
                    "update",
                    {"k": "a", "c": 2},
                    {
                        "tags": {"replaced": True, "put": ["x"]},
                        "parts": {"replaced": False, "put": {"p": 1}, "removed": ["q"]},
                        "marks": {"replaced": False, "removed": [UUID(int=1 << 76)]},
                        "place": {"replaced": False, "put": {"street": "s"}, "removed": ["number"]},
                    },
                ),
            ],
        ),
    ],
)
def test_rows_are_what_was_given(make: Callable[[], Any], expected: list[RowValues]) -> None:
    assert read(make()) == expected


def test_every_kind_of_row_has_a_name() -> None:
    assert read_back.OPS == ("insert", "update", "delete_row", "delete_range", "delete_partition")
