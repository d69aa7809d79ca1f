"""The keyspaces and tables that the workload of a cluster writes into: RF 3 and RF 2, the same tables in both."""

from __future__ import annotations

KEYSPACES = {"three": 3, "two": 2}
"""With how many replicas."""

TABLES = {
    "events": "pk int, ck int, n int, body text, PRIMARY KEY (pk, ck)",
    "profiles": "pk int PRIMARY KEY, n int, a int, b text",
    "cleared": "pk int, ck int, n int, PRIMARY KEY (pk, ck)",
    "former": "pk int PRIMARY KEY, n int, old int",
}
"""Rows of `cleared` are truncated, and `former` loses its column `old`."""


def create() -> list[str]:
    """The statements that make them."""
    return [
        *(
            f"CREATE KEYSPACE {name} WITH replication = {{'class': 'NetworkTopologyStrategy', 'dc1': {replicas}}}"
            for name, replicas in KEYSPACES.items()
        ),
        *(
            f"CREATE TABLE {keyspace}.{table} ({columns}) WITH cdc = true"
            for keyspace in KEYSPACES
            for table, columns in TABLES.items()
        ),
    ]


def told() -> list[str]:
    """Those of whose rows it is told by writes alone what becomes of them."""
    return [name for name in tables() if name.rpartition(".")[2] in {"events", "profiles"}]


def tables() -> list[str]:
    """All of them, as `keyspace.table`."""
    return [f"{keyspace}.{table}" for keyspace in KEYSPACES for table in TABLES]
