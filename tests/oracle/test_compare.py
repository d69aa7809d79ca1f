"""The comparison that the golden tests rest on finds what it must find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.compare import same_rows
from tests.oracle import Row, expected


@pytest.fixture(scope="module")
def rows(sets_root: Path) -> list[Row]:
    return expected(sets_root / "50-cases", sets_root / "50-cases" / "cdc_raw").rows


def test_the_rows_are_themselves(rows: list[Row]) -> None:
    same_rows(rows, [row.text for row in rows])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"op":"insert"', '"op":"update"'),
        ('"row":0', '"row":1'),
        ('"write_ts":', '"write_ts":1'),
        ('"txn":null', '"txn":""'),
        (',"attrs":null', ""),
        (":", ": "),
        ('"node":"local","keyspace":"cdc"', '"keyspace":"cdc","node":"local"'),
    ],
)
def test_a_row_that_differs_is_found(old: str, new: str, rows: list[Row]) -> None:
    lines = [row.text for row in rows]
    place = next(number for number, line in enumerate(lines) if old in line)
    lines[place] = lines[place].replace(old, new, 1)
    with pytest.raises(AssertionError, match=f"row {place} "):
        same_rows(rows, lines)


def test_rows_too_few_too_many_or_elsewhere_are_found(rows: list[Row]) -> None:
    lines = [row.text for row in rows]
    with pytest.raises(AssertionError, match="first missing"):
        same_rows(rows, lines[:-1])
    with pytest.raises(AssertionError, match="first too many"):
        same_rows(rows, [*lines, lines[-1]])
    with pytest.raises(AssertionError, match="row 7 "):
        same_rows(rows, [*lines[:7], lines[8], lines[7], *lines[9:]])


def test_only_a_float_may_be_spelled_otherwise(rows: list[Row]) -> None:
    lines = [row.text for row in rows]
    place = next(number for number, line in enumerate(lines) if '"c_double":-1.7976931348623157E308' in line)
    spelled = lines[place].replace("-1.7976931348623157E308", "-17.976931348623157E307")
    same_rows(rows, [*lines[:place], spelled, *lines[place + 1 :]])
    other = lines[place].replace("-1.7976931348623157E308", "-1.7976931348623155E308")
    with pytest.raises(AssertionError, match="c_double"):
        same_rows(rows, [*lines[:place], other, *lines[place + 1 :]])
