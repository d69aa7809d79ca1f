"""The keyspace of the hour: one table of each kind, and what the schema changes do to some of them.

Knows CQL definitions only.
"""

from __future__ import annotations

from dataclasses import dataclass

KEYSPACE = "hour"
REPLICAS = 3

TYPES = ("CREATE TYPE {keyspace}.address (street text, zip bigint, tags frozen<set<text>>)",)

_SCALARS = (
    "fl float, do double, de decimal, vi varint, bl blob, bo boolean, du duration, da date, ti time, ts timestamp, "
    "ip inet, sm smallint, tn tinyint, tu timeuuid, ac ascii"
)


@dataclass(frozen=True)
class TableKind:
    """A table and why it is in the run. `options`: what follows `cdc = true`."""

    name: str
    columns: str
    purpose: str
    options: str = ""

    def create(self, *, table_id: str | None = None) -> str:
        """The CREATE statement; with an id, that of a table that existed before."""
        with_id = "" if table_id is None else f" AND ID = {table_id}"
        return f"CREATE TABLE {KEYSPACE}.{self.name} ({self.columns}) WITH cdc = true{self.options}{with_id}"


KINDS = (
    TableKind("seq", "pk int PRIMARY KEY, w bigint, v text", "few rows, each written often"),
    TableKind("lat", "pk bigint PRIMARY KEY, t bigint", "each row written once, some deleted once"),
    TableKind(
        "wide",
        "pk int, ck1 int, ck2 text, a bigint, b text, c double, s bigint static, st text static, "
        "PRIMARY KEY (pk, ck1, ck2)",
        "range, prefix and partition deletions; static columns",
    ),
    TableKind("kv", "pk int PRIMARY KEY, a bigint, b bigint, v text", "nulls, TTLs, timestamps of the past"),
    TableKind("ties", "pk int PRIMARY KEY, a bigint, b bigint, v text", "writes of equal timestamps"),
    TableKind(
        "coll",
        "pk int, ck int, m map<text, bigint>, s set<bigint>, l list<text>, f frozen<list<bigint>>, u address, "
        "PRIMARY KEY (pk, ck)",
        "collections and a type that is not frozen",
    ),
    TableKind("counts", "pk int, ck int, c counter, d counter, PRIMARY KEY (pk, ck)", "counters"),
    TableKind("lwt", "pk int PRIMARY KEY, ver bigint, who text", "lightweight transactions"),
    TableKind("ttl", "pk int, ck int, a bigint, b text, PRIMARY KEY (pk, ck)", "rows and cells that expire"),
    TableKind(
        "typed",
        f"p1 text, p2 uuid, c1 timestamp, c2 decimal, w bigint, {_SCALARS}, PRIMARY KEY ((p1, p2), c1, c2)",
        "every scalar type, descending order",
        " AND CLUSTERING ORDER BY (c1 DESC, c2 ASC)",
    ),
    TableKind(
        "nested",
        "pk frozen<set<int>>, ck frozen<tuple<int, text>>, w bigint, t tuple<int, text>, v vector<float, 3>, "
        "a list<frozen<address>>, n map<text, frozen<set<int>>>, PRIMARY KEY (pk, ck)",
        "collections in the key, tuples, vectors, nested collections",
    ),
    TableKind("keys", "pk int, ck text, PRIMARY KEY (pk, ck)", "rows without a value"),
    TableKind(
        "statics",
        "pk int, ck int, v bigint, s bigint static, ss set<bigint> static, PRIMARY KEY (pk, ck)",
        "partitions that are a static row alone",
    ),
    TableKind("big", "pk int, ck int, v text, m map<int, bigint>, PRIMARY KEY (pk, ck)", "large values"),
    TableKind("batched", "pk int, ck int, v bigint, PRIMARY KEY (pk, ck)", "logged batches over several tables"),
    TableKind(
        "ordered",
        "a int, b text, c int, v bigint, PRIMARY KEY ((a, b), c)",
        "a partition key of two columns, descending order",
        " AND CLUSTERING ORDER BY (c DESC)",
    ),
    TableKind("altered", "pk int PRIMARY KEY, a bigint, x bigint", "columns added, dropped and added again"),
    TableKind("shelf", "pk int, ck int, v bigint, PRIMARY KEY (pk, ck)", "its first static column, its last one gone"),
    TableKind("again", "pk int PRIMARY KEY, v bigint", "dropped and created again with the same id"),
    TableKind("anew", "pk int, ck int, v bigint, PRIMARY KEY (pk, ck)", "dropped and created again with another id"),
    TableKind("cleared", "pk int, ck int, v bigint, PRIMARY KEY (pk, ck)", "truncated"),
)
BY_NAME = {kind.name: kind for kind in KINDS}

MADE_PREFIX = "made_"


def made(number: int) -> TableKind:
    """A table that is created during the run; every third one has a static column and a list."""
    columns = "pk int, ck int, v bigint, PRIMARY KEY (pk, ck)"
    if number % 3 == 0:
        columns = "pk int, ck int, v bigint, s bigint static, l list<bigint>, PRIMARY KEY (pk, ck)"
    return TableKind(f"{MADE_PREFIX}{number}", columns, "created during the run")


def create_all() -> list[str]:
    """The statements that make the keyspace, its types and its first tables."""
    replication = f"{{'class': 'NetworkTopologyStrategy', 'dc1': {REPLICAS}}}"
    return [
        f"CREATE KEYSPACE {KEYSPACE} WITH replication = {replication}",
        *(statement.format(keyspace=KEYSPACE) for statement in TYPES),
        *(kind.create() for kind in KINDS),
    ]
