"""Range deletes as conditions of CQL: those that hold for just the rows between the bounds, in any clustering order."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.sinks.range_text import range_texts
from tailer.sinks.row_text import Range

NAMES = ("a", "b", "c")
VALUES = range(4)

Bound = tuple[tuple[int, ...], bool] | None
"""Values of the first columns, and whether it is inclusive; None where the side is open."""


def as_range(start: Bound, end: Bound) -> Range:
    told: dict[str, Any] = {}
    for side, bound in (("start", start), ("end", end)):
        told[side] = None if bound is None else dict(zip(NAMES, bound[0], strict=False))
        told[f"{side}_inclusive"] = bound is None or bound[1]
    return msgspec.json.decode(msgspec.json.encode(told), type=Range)


@pytest.mark.parametrize(
    ("start", "end", "ordered", "expected"),
    [
        (None, ((3,), False), "A", ["a < 3"]),
        (((3,), False), None, "D", ["a < 3"]),
        (((3,), True), None, "D", ["a <= 3"]),
        (((1,), True), ((3,), False), "A", ["a >= 1", "AND a < 3"]),
        (((3,), False), ((1,), True), "D", ["a >= 1", "AND a < 3"]),
        (((1,), True), ((1,), True), "AA", ["a = 1"]),
        (((1, 2), False), ((1,), True), "AA", ["a = 1", "AND b > 2"]),
        (((1,), True), ((1, 2), False), "AD", ["a = 1", "AND b > 2"]),
        (((1, 2), False), None, "AA", ["(a, b) > (1, 2)"]),
        (None, ((1, 2), True), "DD", ["(a, b) >= (1, 2)"]),
        (((1, 2), True), ((3,), False), "AD", ["(a > 1 OR a = 1 AND b <= 2)", "AND a < 3"]),
        (((1, 2, 3), False), None, "ADA", ["(a > 1 OR a = 1 AND (b < 2 OR b = 2 AND c > 3))"]),
        (None, None, "A", ["every row"]),
    ],
)
def test_conditions(start: Bound, end: Bound, ordered: str, expected: list[str]) -> None:
    assert range_texts(as_range(start, end), [letter == "D" for letter in ordered]) == expected


def test_a_truncate_says_before_where() -> None:
    deleted = msgspec.json.decode('{"before":{"segment":7,"offset":8}}', type=Range)
    assert range_texts(deleted, None) == range_texts(deleted, [True]) == ["before 7:8"]


@pytest.mark.parametrize("descending", [None, [], [True]])
def test_without_a_definition_that_fits_bounds_stand_in_clustering_order(descending: list[bool] | None) -> None:
    assert range_texts(as_range(((1, 2), True), None), descending) == ["[a=1,b=2 .. end)"]


BOUNDS = st.none() | st.tuples(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(tuple), st.booleans())


def lies_within(row: tuple[int, ...], start: Bound, end: Bound, descending: list[bool]) -> bool:
    """By the order in which a server keeps rows: each value turned round where its column is ordered DESC."""

    def place(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(-value if down else value for value, down in zip(values, descending, strict=False))

    behind = (
        start is None
        or place(row[: len(start[0])]) > place(start[0])
        or (start[1] and row[: len(start[0])] == start[0])
    )
    before = end is None or place(row[: len(end[0])]) < place(end[0]) or (end[1] and row[: len(end[0])] == end[0])
    return behind and before


@given(start=BOUNDS, end=BOUNDS, descending=st.lists(st.booleans(), min_size=3, max_size=3))
def test_conditions_hold_for_the_rows_within_and_for_no_others(
    start: Bound, end: Bound, descending: list[bool]
) -> None:
    text = " ".join(range_texts(as_range(start, end), descending))
    code = re.sub(r" = ", " == ", text.replace("AND", "and").replace("OR", "or")).replace("every row", "True")
    for row in product(VALUES, repeat=3):
        assert eval(code, dict(zip(NAMES, row, strict=True))) == lies_within(row, start, end, descending), code
