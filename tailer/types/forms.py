"""Forms of values of constant size, for the compiled code that copies a column at a time. Numbers only."""

from __future__ import annotations

from typing import Final

NONE: Final = -1
"""Values that are read one by one."""

BYTE: Final = 0
SHORT: Final = 1
INT: Final = 2
LONG: Final = 3
DATE: Final = 4
MILLIS: Final = 5
BOOLEAN: Final = 6
UUID: Final = 7

LETTERS: Final = 8
"""Bytes of any number, copied as they are."""
