"""Ids of tables: which of two tables was created first."""

from __future__ import annotations

from tailer.schema.table_ids import created_before

FIRST = "9b5d64e0-eb56-11f1-86cd-9d5b19ef72c9"
SECOND = "9b5d64e1-eb56-11f1-86cd-9d5b19ef72c9"
"""100 ns later: the first field of an id of version 1 has the low bits of its time."""
RANDOM = "0b0f1d5e-7a2c-4d3b-9f6a-1c2d3e4f5a6b"


def test_the_time_of_the_ids_decides() -> None:
    assert created_before(FIRST, SECOND)
    assert created_before(FIRST.replace("-", ""), SECOND)
    assert not created_before(SECOND, FIRST)
    assert not created_before(FIRST, FIRST)


def test_nothing_is_known_of_another_version() -> None:
    assert not created_before(FIRST, RANDOM)
    assert not created_before(RANDOM, FIRST)
