"""The sentence of an error has the parts that it was given, and no other."""

from __future__ import annotations

import pytest

from tailer.errors import UsageError


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "a folder."),
        ({"expected": "one"}, "a folder: expected one."),
        ({"found": "two"}, "a folder: found two."),
        ({"expected": "one", "found": "two"}, "a folder: expected one, found two."),
        ({"expected": 1, "found": 0, "remedy": "Do it."}, "a folder: expected 1, found 0. Do it."),
        ({"expected": "one", "file": "f", "remedy": "Do it."}, "a folder (f): expected one. Do it."),
    ],
)
def test_a_part_that_is_not_given_is_not_printed(given: dict[str, object], sentence: str) -> None:
    assert UsageError("a folder", **given).sentence() == sentence  # type: ignore[arg-type]
