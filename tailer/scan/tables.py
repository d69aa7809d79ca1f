"""What the scan must know of tables: flat numbers and names, no types and no output.

Every field is an int, a tuple of ints, or bytes to look up, so that it can be laid out as arrays for a compiled scan.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

LENGTH_PREFIX: Final = -1
"""In place of a fixed length: values of this type carry a vint length (format page 5.8)."""

NO_COLUMN: Final = -1


class ScanColumn(NamedTuple):
    """A column as the scan sees it. `length` is the fixed length of a value or LENGTH_PREFIX.

    `multi` marks non-frozen collections and UDTs, whose cells have paths (format page 5.6).
    """

    number: int
    length: int
    multi: bool


@dataclass(frozen=True, slots=True)
class ScanTable:
    """A table as the scan sees it: `id` its 16 bytes, `clustering` one length per clustering column.

    Lines are kept in the index for `kept` tables only; others are walked for their sizes and row numbers.
    `truncations`: the number of the column whose live cells are truncations (`system.local.truncated_at`); they take
    row numbers before the update's own rows. Of a native log's table `id` is followed by the 8 bytes of its
    fingerprint, `key` says how many partition key columns it has, `statics` how many of its columns are static; those
    come first.
    """

    id: bytes
    clustering: tuple[int, ...]
    columns: dict[bytes, ScanColumn]
    kept: bool
    truncations: int = NO_COLUMN
    key: int = 1
    statics: int = 0
    by_number: tuple[ScanColumn, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_number", tuple(sorted(set(self.columns.values()))))


@dataclass(frozen=True, slots=True)
class ScanTables:
    """All tables that a scan can read, by number.

    `unread`: ids known by name only; an entry whose first table is one of them is passed over and counted.
    `skip_unknown`: an entry whose first table is not known and that holds no kept table's id is passed over as well
    (definitions are known to be complete, or the user named the tables). `flat`: kept here by the compiled scan.
    `kept_heads`: the table ids in `kept_ids`, without fingerprints.
    """

    tables: tuple[ScanTable, ...]
    unread: frozenset[bytes] = frozenset()
    skip_unknown: bool = False
    numbers: dict[bytes, int] = field(init=False)
    kept_ids: tuple[bytes, ...] = field(init=False)
    kept_heads: frozenset[bytes] = field(init=False)
    flat: object = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {table.id: number for number, table in enumerate(self.tables)})
        object.__setattr__(self, "kept_ids", tuple(table.id for table in self.tables if table.kept))
        object.__setattr__(self, "kept_heads", frozenset(table_id[:16] for table_id in self.kept_ids))


def scan_tables(tables: Iterable[ScanTable], unread: Iterable[bytes] = (), skip_unknown: bool = False) -> ScanTables:
    """ScanTables in the order given, which makes the tables' numbers."""
    return ScanTables(tuple(tables), frozenset(unread), skip_unknown)
