"""The schema that a history of migrations has built so far: keyspaces, types, tables, views, indexes.

It exists to generate statements that are likely to be legal. Whether a statement is legal the server decides. Knows
CQL, and nothing of the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

SCALARS = (
    "int", "bigint", "text", "boolean", "double", "decimal", "uuid", "blob", "date", "timestamp", "varint", "ascii",
)  # fmt: skip
COLLECTIONS = (
    "list<int>", "set<text>", "map<text, int>", "frozen<list<int>>", "frozen<map<int, text>>", "tuple<int, text>",
)  # fmt: skip
PARTITION_KEY_TYPES = ("int", "bigint", "text", "uuid")
CLUSTERING_TYPES = ("int", "text", "timestamp", "date", "bigint")

FIELD_TYPES = ("int", "text", "bigint", "boolean")

NORMAL, TTL, FUTURE = range(6), range(100, 103), range(50, 53)
"""Numbers of partitions: ordinary writes; values with a short TTL; timestamps of the future."""


@dataclass
class Column:
    """`kind`: partition, clustering, static or regular."""

    name: str
    type: str
    kind: str

    @property
    def collection(self) -> bool:
        """A collection that is not frozen."""
        return self.type.startswith(("list", "set", "map"))


@dataclass
class UserType:
    keyspace: str
    name: str
    fields: list[tuple[str, str]]


@dataclass
class Table:
    """`id`: None where the server chooses it."""

    keyspace: str
    name: str
    columns: list[Column]
    id: str | None
    cdc: bool
    counter: bool = False
    dropped: dict[str, Column] = field(default_factory=dict)
    views: list[str] = field(default_factory=list)
    indexes: dict[str, str] = field(default_factory=dict)
    """The column of each."""

    @property
    def full_name(self) -> str:
        return f"{self.keyspace}.{self.name}"

    def of(self, *kinds: str) -> list[Column]:
        return [column for column in self.columns if column.kind in kinds]

    def create(self) -> str:
        partition = ", ".join(column.name for column in self.of("partition"))
        clustering = "".join(f", {column.name}" for column in self.of("clustering"))
        columns = ", ".join(
            f"{column.name} {column.type}{' static' if column.kind == 'static' else ''}" for column in self.columns
        )
        id_ = f"ID = {self.id} AND " if self.id else ""
        cdc = str(self.cdc).lower()
        return (
            f"CREATE TABLE {self.full_name} ({columns}, PRIMARY KEY (({partition}){clustering})) WITH {id_}cdc = {cdc}"
        )


@dataclass
class Keyspace:
    name: str
    types: dict[str, UserType] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)

    def uses(self, type_: UserType) -> bool:
        """Whether a column or a field of another type has this type."""
        columns = (column.type for table in self.tables.values() for column in table.columns)
        fields = (of for other in self.types.values() for _, of in other.fields)
        return any(type_.name in _words(text) for text in (*columns, *fields))


@dataclass
class Schema:
    """`replication`: the factor of each keyspace."""

    version: str
    replication: int
    keyspaces: dict[str, Keyspace] = field(default_factory=dict)

    def tables(self) -> list[Table]:
        return [table for keyspace in self.keyspaces.values() for table in keyspace.tables.values()]

    def create_keyspace(self, name: str) -> str:
        self.keyspaces[name] = Keyspace(name)
        return (
            f"CREATE KEYSPACE {name} WITH replication = "
            f"{{'class': 'SimpleStrategy', 'replication_factor': {self.replication}}}"
        )

    def column_type(self, keyspace: str, rng: Random) -> str:
        """A type for a new column: scalar, collection or user-defined."""
        types = self.keyspaces[keyspace].types
        kind = rng.random()
        if types and kind < 0.25:
            name = rng.choice(sorted(types))
            return rng.choice([name, f"frozen<{name}>", f"list<frozen<{name}>>"])
        if kind < 0.45:
            return rng.choice(COLLECTIONS)
        return rng.choice(SCALARS)


def has_user_types(text: str) -> bool:
    """A dropped column of such a type cannot be added again: the server keeps a tuple in its place."""
    return any(word[0] == "u" and word[1:].isdigit() for word in _words(text))


def _words(text: str) -> list[str]:
    return text.replace("<", " ").replace(">", " ").replace(",", " ").split()


# --- values, as CQL literals ---


def key_literal(type_: str, number: int) -> str:
    """The key of that number: equal numbers give equal keys, and `number_of` finds the number again."""
    return {
        "text": f"'k{number}'",
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "timestamp": str(1_000_000_000_000 + number),
        "date": f"'2020-01-{number + 1:02}'",
    }.get(type_, str(number))


def number_of(value: object) -> int:
    """The number of a partition, from the JSON value of its first key column."""
    text = str(value)
    return int(text[-12:] if len(text) == 36 else text.lstrip("k"))


def literal(schema: Schema, keyspace: str, type_: str, rng: Random) -> str:
    """A random value of a type."""
    inner = _inner(type_)
    if type_.startswith("frozen<"):
        return literal(schema, keyspace, inner[0], rng)
    if type_.startswith(("list<", "set<", "map<", "tuple<")):
        return _several(schema, keyspace, type_, inner, rng)
    if (found := schema.keyspaces[keyspace].types.get(type_)) is not None:
        chosen = [each for each in found.fields if rng.random() < 0.8] or found.fields[:1]
        return _braces(f"{name}: {literal(schema, keyspace, of, rng)}" for name, of in chosen)
    return scalar(type_, rng)


def _several(schema: Schema, keyspace: str, type_: str, inner: list[str], rng: Random) -> str:
    def one(of: str) -> str:
        return literal(schema, keyspace, of, rng)

    count = rng.randint(1, 3)
    if type_.startswith("tuple<"):
        return f"({', '.join(map(one, inner))})"
    if type_.startswith("map<"):
        return _braces(f"{key}: {one(inner[1])}" for key in sorted({one(inner[0]) for _ in range(count)}))
    if type_.startswith("set<"):
        return _braces(sorted({one(inner[0]) for _ in range(count)}))
    return f"[{', '.join(one(inner[0]) for _ in range(count))}]"


def scalar(type_: str, rng: Random) -> str:
    number = rng.randrange(1000)
    return {
        "int": str(number),
        "bigint": str(number * 10**12),
        "varint": str(number * 10**24),
        "text": f"'t{number}'",
        "ascii": f"'a{number}'",
        "boolean": rng.choice(["true", "false"]),
        "double": f"{number}.5",
        "decimal": f"{number}.{rng.randrange(10, 99)}",
        "uuid": f"{number:08}-0000-4000-8000-000000000000",
        "blob": f"0x{rng.randbytes(4).hex()}",
        "date": f"'2021-{1 + number % 12:02}-{1 + number % 28:02}'",
        "timestamp": str(1_600_000_000_000 + number),
    }[type_]


def _inner(type_: str) -> list[str]:
    """The parameters of a type: `map<text, frozen<a>>` gives `text` and `frozen<a>`."""
    if "<" not in type_:
        return []
    parts, depth, text = [], 0, type_[type_.index("<") + 1 : -1]
    last = 0
    for at, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            parts.append(text[last:at].strip())
            last = at + 1
    return [*parts, text[last:].strip()]


def _braces(items: Iterable[str]) -> str:
    return "{" + ", ".join(items) + "}"
