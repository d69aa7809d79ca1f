"""What users are told of definitions and of rows that are passed over."""

from __future__ import annotations

from tailer.definitions.notices import DefinitionNotices, StaleFlags
from tailer.schema.model import Column, TableDefinition
from tailer.schema.selection import Selection

ID = "0" * 31 + "1"


def table(*columns: Column, cdc: bool = True, keyspace: str = "shop") -> TableDefinition:
    return TableDefinition(ID, keyspace, "t", (Column("id", "partition_key", "int", 0), *columns), cdc=cdc)


def told(definition: TableDefinition, *globs: str) -> list[str]:
    return list(DefinitionNotices(Selection(globs)).about([definition]))


def test_a_table_that_does_not_capture_is_best_effort_when_it_is_named() -> None:
    assert told(table(cdc=False)) == []
    assert told(table(cdc=False), "shop.*") == [], "a glob does not take it"
    (line,) = told(table(cdc=False), "shop.t")
    assert "shop.t" in line
    assert "best effort" in line


def test_an_overwrite_that_logs_no_deletion_is_told_of_non_frozen_columns_beyond_ascii() -> None:
    for type_ in ("list<int>", "map<text, int>", "set<int>", "addr"):
        (line,) = told(table(Column("ä", "regular", type_)))
        assert "ä" in line
    for name, type_ in (("a", "list<int>"), ("ä", "int"), ("ä", "frozen<list<int>>"), ("ä", "tuple<int, int>")):
        assert told(table(Column(name, "regular", type_))) == []


def test_a_notice_comes_once_for_a_table() -> None:
    notices = DefinitionNotices(Selection())
    odd = table(Column("ä", "regular", "list<int>"))
    assert len(list(notices.about([odd, odd]))) == 1
    assert list(notices.about([odd])) == []


def test_updates_of_a_table_without_cdc_are_a_warning_only_behind_a_gap() -> None:
    known = {ID: table(cdc=False)}
    stale = StaleFlags(Selection())
    stale.enter(10, [10, 11])
    assert list(stale.about({ID: 3}, known)) == []
    stale.enter(11, [10, 11])
    assert list(stale.about({ID: 4}, known)) == []
    stale.enter(15, [10, 11, 12, 15])
    (line,) = stale.about({ID: 5}, known)
    assert "shop.t" in line
    assert "--schema" in line
    assert list(stale.about({ID: 6}, known)) == [], "the first of each table only"
    stale.enter(30, [15, 30])
    assert len(list(stale.about({ID: 7}, known))) == 1
    stale.enter(50, [30, 50])
    assert list(stale.about({ID: 7}, known)) == [], "nothing was passed over since"


def test_the_servers_own_tables_are_no_warning() -> None:
    stale = StaleFlags(Selection())
    stale.enter(1, [1])
    stale.enter(9, [1, 9])
    assert list(stale.about({ID: 1}, {ID: table(cdc=False, keyspace="system_auth")})) == []


def test_a_flag_decides_for_what_a_glob_covers_and_not_for_names() -> None:
    for tables, told_of in ((("shop.*",), 1), (("shop.u",), 0), (("other.*",), 0), (("shop.u", "shop.?"), 1)):
        stale = StaleFlags(Selection(tables))
        stale.enter(1, [1])
        stale.enter(9, [1, 9])
        assert len(list(stale.about({ID: 1}, {ID: table(cdc=False)}))) == told_of, tables


def test_a_table_that_is_left_out_is_not_said_to_capture_nothing() -> None:
    """Its flag is not what keeps it out."""
    known = {ID: table(cdc=True)}
    for selection in (Selection((), ("shop.t",)), Selection(("shop.*",), ("shop.t",)), Selection(("shop.other",))):
        stale = StaleFlags(selection)
        stale.enter(10, [10])
        stale.enter(15, [10, 15])
        assert list(stale.about({ID: 5}, known)) == []
    left_out = StaleFlags(Selection((), ("shop.t",)))
    left_out.enter(10, [10])
    left_out.enter(15, [10, 15])
    assert list(left_out.about({ID: 5}, {ID: table(cdc=False)})) == [], "it is left out whatever its flag says"
