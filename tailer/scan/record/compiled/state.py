"""What a scan of records has in its block behind what every scan has there (`scan.compiled.block`)."""

from __future__ import annotations

from typing import Final

from tailer.limits import RECORD_DEPTH_MAX
from tailer.scan.compiled import block as b

IN_TXN: Final = b.STATE_SIZE
WRITE_TS: Final = b.STATE_SIZE + 1
# Of the table being read: how many key, clustering and static columns it has; its columns. With COUNTS_ONLY in place of
# the first, rows are counted by no definition.
KEY_COLUMNS: Final = b.STATE_SIZE + 2
CLUSTERING: Final = b.STATE_SIZE + 3
STATICS: Final = b.STATE_SIZE + 4
COLUMNS_AT: Final = b.STATE_SIZE + 5
COLUMNS_N: Final = b.STATE_SIZE + 6
# How many lines of attributes and bytes of keys there are, and their addresses; where the data end in front of keys.
ATTRS: Final = b.STATE_SIZE + 7
ATTRS_AT: Final = b.STATE_SIZE + 8
EXTRA: Final = b.STATE_SIZE + 9
EXTRA_AT: Final = b.STATE_SIZE + 10
DATA_END: Final = b.STATE_SIZE + 11
# Table ids of kept tables.
HEADS: Final = b.STATE_SIZE + 12
HEADS_N: Final = b.STATE_SIZE + 13
# How many values are left at each depth of what is passed over, and marks of columns that a row has.
STACK: Final = b.STATE_SIZE + 14
MARKS: Final = STACK + RECORD_DEPTH_MAX + 2

COUNTS_ONLY: Final = -1
