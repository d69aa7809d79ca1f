"""The tables of the workload, and the changes made to them while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.server import literals as lit

KEYSPACE = "live"

_SCALARS = ", ".join(f"c_{name} {name}" for name in lit.SCALARS)
TABLES = {
    "plain": "id int, ck text, v int, w text, s text static, n bigint static, PRIMARY KEY (id, ck)",
    "slices": "a int, b text, c int, d timestamp, v double, w blob, PRIMARY KEY ((a, b), c, d)",
    "collections": "id int, ck int, l list<int>, s set<text>, m map<text, int>, f frozen<list<text>>, "
    "n map<int, frozen<set<text>>>, ls list<text> static, PRIMARY KEY (id, ck)",
    "udts": "id int PRIMARY KEY, open address, closed frozen<address>, many list<frozen<address>>, deep frozen<holder>",
    "scalars": f"{_SCALARS}, c_tuple tuple<int, text, uuid>, c_vector vector<float, 3>, c_words vector<text, 2>, "
    "PRIMARY KEY (c_int, c_text)",
    "counts": "id text, ck int, hits counter, misses counter, PRIMARY KEY (id, ck)",
    "cas": "id int PRIMARY KEY, v int, w text",
    "OddName": '"Key" int, "ж" text, "a""b" int, "Set" set<int>, PRIMARY KEY ("Key", "ж")',
    "toggled": "id int PRIMARY KEY, v text",
    "doomed": "id int PRIMARY KEY, v text",
    "emptied": "id int PRIMARY KEY, v text",
    "filler": "id int, seq int, body text, PRIMARY KEY (id, seq)",
}
_ORDERED = {"slices": " AND CLUSTERING ORDER BY (c DESC, d ASC)"}

CREATE = [
    f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
    f"CREATE TYPE {KEYSPACE}.address (street text, number int, tags frozen<set<text>>)",
    f"CREATE TYPE {KEYSPACE}.holder (name text, home frozen<address>)",
    *(
        f'CREATE TABLE {KEYSPACE}."{name}" ({columns}) WITH cdc = true{_ORDERED.get(name, "")}'
        for name, columns in TABLES.items()
    ),
    f"CREATE TABLE {KEYSPACE}.quiet (id int PRIMARY KEY, v text)",
]


@dataclass
class Names:
    """What of the changing part of the schema is there now."""

    plain_more: dict[str, Callable[[Random], str]] = field(default_factory=dict)
    slices_d: str = "d"
    slices_w: bool = True
    address_zip: bool = False
    late: bool = False
    doomed: bool = True
    doomed_again: bool = False


@dataclass(frozen=True)
class Change:
    """A statement that changes the schema (or truncates), and what it does to the names."""

    cql: str
    apply: Callable[[Names], None] = lambda names: None


def _pairs(rng: Random) -> str:
    return lit.map_of([lit.text(rng)], [lit.number(rng)])


def _tuple(rng: Random) -> str:
    return f"({lit.number(rng)}, {lit.text(rng)})"


def _set(name: str, value: object) -> Callable[[Names], None]:
    return lambda names: setattr(names, name, value)


# In the order in which a run makes them. A cell of a re-added column must not carry a timestamp before the drop (the
# server's reader would leave it out): statements on `slices` have no timestamps of their own.
CHANGES = [
    Change(f"ALTER TABLE {KEYSPACE}.plain ADD added map<text, int>", _set("plain_more", {"added": _pairs})),
    Change(f"ALTER TYPE {KEYSPACE}.address ADD zip int", _set("address_zip", True)),
    Change(
        f"CREATE TABLE {KEYSPACE}.late (id uuid, at timestamp, v text, PRIMARY KEY (id, at)) WITH cdc = true",
        _set("late", True),
    ),
    Change(f"ALTER TABLE {KEYSPACE}.toggled WITH cdc = false"),
    Change(f"TRUNCATE {KEYSPACE}.emptied"),
    Change(f"ALTER TABLE {KEYSPACE}.slices DROP w", _set("slices_w", False)),
    Change(f"ALTER TABLE {KEYSPACE}.toggled WITH cdc = true"),
    Change(f"DROP TABLE {KEYSPACE}.doomed", _set("doomed", False)),
    Change(f"ALTER TABLE {KEYSPACE}.slices ADD w blob", _set("slices_w", True)),
    Change(f"ALTER TABLE {KEYSPACE}.plain DROP added", _set("plain_more", {})),
    Change(
        f"CREATE TABLE {KEYSPACE}.doomed (id int PRIMARY KEY, v text, again boolean) WITH cdc = true",
        lambda names: names.__dict__.update(doomed=True, doomed_again=True),
    ),
    Change(f"ALTER TABLE {KEYSPACE}.plain ADD other frozen<tuple<int, text>>", _set("plain_more", {"other": _tuple})),
    Change(f"ALTER TABLE {KEYSPACE}.slices RENAME d TO at", _set("slices_d", "at")),
    Change(f"TRUNCATE {KEYSPACE}.emptied"),
]
