"""The flags of a mutation's bytes (format page 5.3 to 5.6), for both scans.

Those that the index keeps are named there (`scan.index`): a row's byte has HAS_TIMESTAMP, HAS_TTL and HAS_DELETION
besides these, a cell's CELL_DELETED, CELL_EXPIRING and CELL_EMPTY.
"""

from __future__ import annotations

from typing import Final

from tailer.scan.index import CELL_DELETED, CELL_EMPTY, CELL_EXPIRING, HAS_TIMESTAMP, HAS_TTL

# Of an update.
IS_EMPTY: Final = 0x01
HAS_PARTITION_DELETION: Final = 0x04
HAS_STATIC_ROW: Final = 0x08
HAS_ROW_ESTIMATE: Final = 0x10
UNKNOWN_UPDATE_FLAGS: Final = ~(IS_EMPTY | HAS_PARTITION_DELETION | HAS_STATIC_ROW | HAS_ROW_ESTIMATE)

# Of a row, a bound or the partition's end.
END_OF_PARTITION: Final = 0x01
IS_MARKER: Final = 0x02
NO_ROW: Final = END_OF_PARTITION | IS_MARKER
HAS_ALL_COLUMNS: Final = 0x20
HAS_COMPLEX_DELETION: Final = 0x40
EXTENSION: Final = 0x80
LIVENESS: Final = HAS_TIMESTAMP | HAS_TTL
"""What says that a row is there whatever becomes of its cells."""

# Of a row's second byte, which EXTENSION announces.
IS_STATIC: Final = 0x01
SHADOWABLE: Final = 0x02

# Of a cell.
USE_ROW_TIMESTAMP: Final = 0x08
USE_ROW_TTL: Final = 0x10
UNKNOWN_CELL_FLAGS: Final = 0xE0
EXPIRY: Final = CELL_DELETED | CELL_EXPIRING
"""A cell may have one of them."""

KEPT_FLAGS: Final = CELL_DELETED | CELL_EXPIRING | CELL_EMPTY
"""What the index keeps of them."""
