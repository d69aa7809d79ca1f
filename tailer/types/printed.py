"""How values are printed, for the compiled code that writes their JSON. Numbers only."""

from __future__ import annotations

from typing import Final

COUNTER: Final = 0
INTEGER: Final = 1
VARINT: Final = 2
DECIMAL: Final = 3
FLOAT: Final = 4
DOUBLE: Final = 5
TEXT: Final = 6
ASCII: Final = 7
BLOB: Final = 8
BOOLEAN: Final = 9
UUID: Final = 10
DATE: Final = 11
TIME: Final = 12
TIMESTAMP: Final = 13
DURATION: Final = 14
INET: Final = 15
KEY_TEXT: Final = 16
KEY_INET: Final = 17
KEY_TIME: Final = 18
NOTHING: Final = 19
CUSTOM: Final = 20

# From here on values have parts, and from DENSE_VECTOR on their number is the type's.
ARRAY: Final = 21
MAP: Final = 22
TUPLE: Final = 23
UDT: Final = 24
DENSE_VECTOR: Final = 25
VECTOR: Final = 26
