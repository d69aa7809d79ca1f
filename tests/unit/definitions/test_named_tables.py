"""Names that nothing defines: which were meant, and what is said of globs and names that give no rows."""

from __future__ import annotations

import pytest

from tailer.definitions.named_tables import nearest, nothing_defines, undefined, without_rows
from tailer.errors import CorruptError, DefinitionError
from tailer.schema.model import TableDefinition


def table(name: str, *, cdc: bool = True) -> TableDefinition:
    keyspace, _, own = name.partition(".")
    return TableDefinition(name, keyspace, own, (), cdc=cdc)


KNOWN = [table("shop.orders"), table("shop.order_items"), table("Mixed.Case"), table("system.local", cdc=False)]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("shop.ordres", "shop.orders"),
        ("shop.order_itms", "shop.order_items"),
        ("shoop.orders", "shop.orders"),
        ("orders", "shop.orders"),
        ("billing.orders", "shop.orders"),
        ("SHOP.ORDERS", "shop.orders"),
        ("mixed.case", "Mixed.Case"),
        ("t", None),
        ("billing.invoices", None),
    ],
)
def test_the_nearest_name(name: str, first: str | None) -> None:
    found = nearest(name, [each.name for each in KNOWN if each.keyspace != "system"])
    assert (found[0] if found else None) == first


def test_globs_are_no_names() -> None:
    assert undefined(["a.b", "c.d", "a.*", "a.?", "a.[b]", "c.d"], {"a.b"}) == ("c.d",)


def test_the_error_has_what_was_meant_and_what_to_do() -> None:
    error = nothing_defines(["shop.ordres"], KNOWN, file="/log")
    assert isinstance(error, DefinitionError)
    assert str(error).startswith(
        "no definition for table shop.ordres (/log): expected shop.orders or shop.order_items, found shop.ordres. "
    )
    for word in ("--schema", "--server", "--table-may-come", "tablesMayCome", "tables_may_come"):
        assert word in str(error)
    assert "may-come" not in str(nothing_defines(["shop.ordres"], KNOWN, may_come=False))


def test_where_no_name_is_near_some_are_shown() -> None:
    assert "expected one of 3 tables, such as Mixed.Case, shop.order_items, shop.orders, found a.b" in str(
        nothing_defines(["a.b"], KNOWN)
    )
    assert str(nothing_defines(["a.b"], [])).startswith("no definition for table a.b. Correct")


def test_a_log_that_cannot_be_read_is_named_first() -> None:
    unread = CorruptError("the header does not check", file="CommitLog-7-1.log", remedy="Restore it.")
    assert str(nothing_defines(["a.b"], KNOWN, unread=unread)).endswith(
        "It may be defined where the log cannot be read: the header does not check (CommitLog-7-1.log). Restore it."
    )


def test_what_gives_no_rows_is_told_by_what_it_is() -> None:
    known = [table("shop.orders"), table("shop.views", cdc=False)]
    assert list(without_rows(["shop.*", "shop.orders", "shop.views"], known)) == []
    (line,) = without_rows(["shop.v*"], known)
    assert "cdc = false: shop.views" in line
    assert "exact names" in line
    (line,) = without_rows(["shopp.*"], known)
    assert "no table that is known here is covered by shopp.*" in line
    (line,) = without_rows(["shop.new"], known)
    assert "nothing here defines table shop.new yet" in line
