"""What is asked of each row, by what a server's release can tell."""

from __future__ import annotations

import pytest

from tailer.errors import UsageError
from tailer.rebuild import Table
from tailer.rebuild.table import plan_of
from tailer.schema.model import Column, TableDefinition
from tailer.snapshot.wanted import wanted_of

COLUMNS = (
    Column("k", "partition_key", "int", 0),
    Column("c", "clustering", "text", 0),
    Column("Odd", "regular", "int"),
    Column("l", "regular", "list<int>"),
    Column("f", "regular", "frozen<list<int>>"),
    Column("s", "static", "text"),
)
PLAN = plan_of(Table.of(TableDefinition("1" * 32, "ks", "t", COLUMNS, cdc=True)))
COUNTS = (Column("k", "partition_key", "int", 0), Column("n", "regular", "counter"))


@pytest.mark.parametrize("release", ["5.0.9", "5.1-alpha1", "6.0.0"])
def test_newer_servers_tell_times_of_elements(release: str) -> None:
    wanted = wanted_of(PLAN, release)
    assert wanted.texts == (
        '"c"', '"s"', 'WRITETIME("s")', 'TTL("s")', '"Odd"', 'WRITETIME("Odd")', 'TTL("Odd")',
        '"l"', 'WRITETIME("l")', 'TTL("l")', '"f"', 'WRITETIME("f")', 'TTL("f")',
    )  # fmt: skip
    assert [column.column.name for column in wanted.static] == ["s"]
    assert all(column.ttl == (column.written or 0) + 1 for column in (*wanted.static, *wanted.regular))


@pytest.mark.parametrize("release", ["4.0.19", "4.1.10"])
def test_older_ones_of_whole_values_alone(release: str) -> None:
    wanted = wanted_of(PLAN, release)
    times = {column.column.name: column.written is not None for column in (*wanted.static, *wanted.regular)}
    assert times == {"s": True, "Odd": True, "f": True, "l": False}


def test_a_counter_has_no_ttl() -> None:
    plan = plan_of(Table.of(TableDefinition("2" * 32, "ks", "n", COUNTS, cdc=True, counter=True)))
    assert [(each.written, each.ttl) for each in wanted_of(plan, "4.0.1").regular] == [(1, None)]


def test_a_release_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="release"):
        wanted_of(PLAN, "nightly")
