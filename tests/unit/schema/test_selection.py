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

SERVERS_OWN = [
    "system", "system_schema", "system_auth", "system_distributed", "system_traces", "system_views",
    "system_virtual_schema",
]  # fmt: skip
"""`SchemaConstants` of 4.0 to 5.0: LOCAL_, REPLICATED_ and VIRTUAL_SYSTEM_KEYSPACE_NAMES."""


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


@pytest.mark.parametrize("keyspace", ["system_app", "system_", "systems", "system_cluster_metadata", "system_accord"])
def test_a_users_keyspace_whose_name_begins_with_system(keyspace: str) -> None:
    captures = table(f"{keyspace}.peers", cdc=True)
    for tables in ((), ("*",), (f"{keyspace}.*",)):
        selection = Selection(tables)
        assert selection.wants(captures)
        assert selection.names(captures)
        assert selection.reaches(keyspace)


@pytest.mark.parametrize("keyspace", SERVERS_OWN)
def test_the_servers_own_keyspaces_are_taken_by_name_alone(keyspace: str) -> None:
    own = table(f"{keyspace}.t", cdc=True)
    for tables in ((), ("*",), (f"{keyspace}.*",)):
        assert not Selection(tables).wants(own)
        assert not Selection(tables).reaches(keyspace)
    assert Selection((own.name,)).wants(own)
