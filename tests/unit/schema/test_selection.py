"""Which tables names and globs take: of a glob those that capture, by its name any."""

from __future__ import annotations

import pytest

from tailer.schema.model import TableDefinition
from tailer.schema.selection import Selection


def table(name: str, *, cdc: bool) -> TableDefinition:
    keyspace, _, own = name.partition(".")
    return TableDefinition(name, keyspace, own, (), cdc=cdc)


CAPTURES = table("shop.orders", cdc=True)
SILENT = table("shop.views", cdc=False)
SYSTEM = table("system_auth.roles", cdc=True)
ALL = (CAPTURES, SILENT, SYSTEM)


@pytest.mark.parametrize(
    ("tables", "wanted", "meant"),
    [
        ((), [CAPTURES], [CAPTURES, SILENT]),
        (("shop.*",), [CAPTURES], [CAPTURES, SILENT]),
        (("*",), [CAPTURES], [CAPTURES, SILENT]),
        (("shop.[ov]*",), [CAPTURES], [CAPTURES, SILENT]),
        (("*.view?",), [], [SILENT]),
        (("shop.views",), [SILENT], [SILENT]),
        (("shop.*", "shop.views"), [CAPTURES, SILENT], [CAPTURES, SILENT]),
        (("system_auth.*",), [], []),
        (("system_auth.roles",), [SYSTEM], [SYSTEM]),
        (("views",), [], []),
    ],
    ids=str,
)
def test_what_is_taken_and_what_is_meant(
    tables: tuple[str, ...], wanted: list[TableDefinition], meant: list[TableDefinition]
) -> None:
    selection = Selection(tables)
    assert [each for each in ALL if selection.wants(each)] == wanted
    assert [each for each in ALL if selection.names(each)] == meant
    assert selection.ids({each.id: each for each in ALL}) == {each.id for each in wanted}
    assert selection.wide(ALL) is any(not each.cdc for each in wanted)
