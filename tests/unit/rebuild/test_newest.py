"""Which of two definitions of one table is the newer one."""

from __future__ import annotations

import itertools

import pytest

from tailer.rebuild.newest import newer
from tailer.rebuild.table import Table
from tailer.schema.model import Column, TableDefinition

T = 1_795_893_138_511_000
LIVE = Column("x", "regular", "int")
DROPPED = Column("x", "regular", "int", dropped=True, dropped_time=T)
PHANTOM = Column("x", "regular", "int", dropped_time=T)
AGAIN = Column("x", "regular", "int", dropped_time=T, added_time=T + 5)
TWICE = Column("x", "regular", "int", dropped=True, dropped_time=T + 9)


USING = [
    Column("x", "regular", "int", dropped_time=T, added_time=T + 5),
    # Dropped again at T + 9 USING TIMESTAMP 7, added again, dropped USING TIMESTAMP of the future, added again.
    Column("x", "regular", "int", dropped=True, dropped_time=7, dropped_at=T + 9),
    Column("x", "regular", "int", dropped_time=7, dropped_at=T + 9, added_time=T + 12),
    Column("x", "regular", "int", dropped=True, dropped_time=4 * T, dropped_at=T + 15),
    Column("x", "regular", "int", dropped_time=4 * T, dropped_at=T + 15, added_time=T + 17),
]


def table(x: Column) -> Table:
    columns = (Column("pk", "partition_key", "int", 0), x)
    return Table.of(TableDefinition("0a" * 16, "k", "alt", columns, cdc=True))


@pytest.mark.parametrize(
    ("older", "later"),
    [*itertools.combinations([LIVE, PHANTOM, DROPPED, AGAIN, TWICE], 2), *itertools.combinations(USING, 2)],
)
def test_the_newer_one_wins_whichever_was_known_first(older: Column, later: Column) -> None:
    """A3: a column that is live and has a `dropped_time` alone was put together of two moments."""
    assert newer(table(older), table(later)).definition.columns[1] == later
    assert newer(table(later), table(older)).definition.columns[1] == later
