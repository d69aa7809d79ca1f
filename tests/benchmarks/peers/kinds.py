"""Kinds of change, each with a table of its own; by a tag in each change it is known wherever it comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

KEYSPACE = "kinds"
BEHIND = "behind"
"""The table of the plain rows that are written behind each kind into the same segment."""

CREATE = (
    f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
    f"CREATE TYPE {KEYSPACE}.address (street text, number int)",
    f"CREATE TABLE {KEYSPACE}.{BEHIND} (id text PRIMARY KEY, v text) WITH cdc = true",
)
COLUMNS = (
    "id text, ck text, v text, s text static, u address, f frozen<address>, l list<text>, e set<text>, "
    "m map<text, int>, PRIMARY KEY (id, ck)"
)
PLAIN_COLUMNS = (
    "id text, ck text, v text, s text static, l list<text>, e set<text>, m map<text, int>, PRIMARY KEY (id, ck)"
)
"""Without the UDTs: a table that has one of them might be lost whole, and that is a kind of its own."""


class Kind(NamedTuple):
    """A kind of change: its table's columns, and the statement that makes one (`{tag}`: the tag, quoted)."""

    name: str
    statement: str
    columns: str = PLAIN_COLUMNS

    @property
    def table(self) -> str:
        return "of_" + self.name.replace(",", "").replace(" ", "_").lower()

    def create(self) -> str:
        return f"CREATE TABLE {KEYSPACE}.{self.table} ({self.columns}) WITH cdc = true"

    def change(self, number: int) -> str:
        tag = f"'{self.tag(number)}'"
        return self.statement.format(t=f"{KEYSPACE}.{self.table}", tag=tag)

    def tag(self, number: int) -> str:
        return f"{self.table}-{number:04d}."


_ROW = "WHERE id = 'k' AND ck = 'c'"
KINDS = (
    Kind("insert", "INSERT INTO {t} (id, ck, v) VALUES ('k', 'c', {tag})"),
    Kind("update", f"UPDATE {{t}} SET v = {{tag}} {_ROW}"),
    Kind("row delete", "DELETE FROM {t} WHERE id = 'k' AND ck = {tag}"),
    Kind("partition delete", "DELETE FROM {t} WHERE id = {tag}"),
    Kind("range delete", "DELETE FROM {t} WHERE id = 'k' AND ck >= {tag} AND ck < 'z'"),
    Kind("static alone", "UPDATE {t} SET s = {tag} WHERE id = 'k'"),
    Kind("static beside a row", "INSERT INTO {t} (id, ck, v, s) VALUES ('k', 'c', 'v', {tag})"),
    Kind("counter", "UPDATE {t} SET hits = hits + 1 WHERE id = {tag}", "id text PRIMARY KEY, hits counter"),
    Kind("frozen UDT", "INSERT INTO {t} (id, ck, f) VALUES ('k', 'c', {{street: {tag}, number: 1}})", COLUMNS),
    Kind("UDT, whole", "INSERT INTO {t} (id, ck, u) VALUES ('k', 'c', {{street: {tag}, number: 1}})", COLUMNS),
    Kind("UDT, one field", f"UPDATE {{t}} SET u.street = {{tag}} {_ROW}", COLUMNS),
    Kind("list, whole", f"UPDATE {{t}} SET l = [{{tag}}] {_ROW}"),
    Kind("list append", f"UPDATE {{t}} SET l = l + [{{tag}}] {_ROW}"),
    Kind("set add", f"UPDATE {{t}} SET e = e + {{{{{{tag}}}}}} {_ROW}"),
    Kind("set remove", f"UPDATE {{t}} SET e = e - {{{{{{tag}}}}}} {_ROW}"),
    Kind("map put", f"UPDATE {{t}} SET m[{{tag}}] = 1 {_ROW}"),
    Kind("map remove", f"DELETE m[{{tag}}] FROM {{t}} {_ROW}"),
)
ALIKE = (("list, whole", "list append"), ("set add", "set remove"), ("map put", "map remove"))
"""Two kinds of which one must not look like the other: overwriting and appending, adding and removing."""


def behind(kind: Kind, number: int) -> tuple[str, str]:
    """A plain insert behind a kind, and its tag."""
    tag = f"behind-{kind.tag(number)}"
    return f"INSERT INTO {KEYSPACE}.{BEHIND} (id, v) VALUES ('{tag}', 'v')", tag


def create(session: Any) -> None:
    """Makes the tables, and one row: a segment without any is not shown, and the definitions would not be either."""
    first = f"INSERT INTO {KEYSPACE}.{BEHIND} (id, v) VALUES ('first', 'v')"
    for statement in (*CREATE, *(kind.create() for kind in KINDS), first):
        session.execute(statement)


def write(session: Any, between: Callable[[], None], count: int) -> None:
    """`count` changes of each kind and as many plain rows behind them, `between` the kinds whatever that is."""
    for kind in KINDS:
        between()
        for number in range(count):
            session.execute(kind.change(number))
        for number in range(count):
            session.execute(behind(kind, number)[0])
    between()
