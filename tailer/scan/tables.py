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

    `unread`: ids of tables in keyspaces of which nothing is kept. A mutation is of one keyspace
    (`org.apache.cassandra.db.Mutation`), so an entry whose first table is one of them is passed over and counted.
    `unusable`: ids of tables that are known and not kept, but cannot be read; an entry of one such table alone is
    passed over. `skip_unknown`: of a native log, changes of tables that are not known are passed over (its segments
    define each kept table themselves). `flat`: kept here by the compiled scan. `kept_heads`: the table ids of kept
    tables, without fingerprints.
    """

    tables: tuple[ScanTable, ...]
    unread: frozenset[bytes] = frozenset()
    unusable: frozenset[bytes] = frozenset()
    skip_unknown: bool = False
    numbers: dict[bytes, int] = field(init=False)
    kept_ids: tuple[bytes, ...] = field(init=False)
    kept_heads: frozenset[bytes] = field(init=False)
    flat: object = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {table.id: number for number, table in enumerate(self.tables)})
        object.__setattr__(self, "kept_ids", tuple(table.id for table in self.tables if table.kept))
        object.__setattr__(self, "kept_heads", frozenset(table_id[:16] for table_id in self.kept_ids))


def scan_tables(
    tables: Iterable[ScanTable], unread: Iterable[bytes] = (), unusable: Iterable[bytes] = ()
) -> ScanTables:
    """ScanTables in the order given, which makes the tables' numbers."""
    return ScanTables(tuple(tables), frozenset(unread), frozenset(unusable))
