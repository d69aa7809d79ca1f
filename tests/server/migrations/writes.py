"""Statements that write rows of every kind to a table by its definition of now.

Ordinary writes, short TTLs and timestamps of the future go to different partitions, so that a check can tell which rows
it may expect. Knows the model of the schema, no server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.server.migrations.model import FUTURE, NORMAL, TTL, Column, Schema, Table, key_literal, literal

CLUSTERING_KEYS = 4
SHORT_TTL = (2, 5)
LONG_TTL = 100_000
YEAR_3000 = "32503680000000000"


@dataclass(frozen=True)
class Target:
    """One partition that a statement writes."""

    table: str
    key: tuple[tuple[str, int], ...]
    """Its partition key by name: the numbers that the values are made of."""


@dataclass(frozen=True)
class Statement:
    """CQL, with `@+N@` for the time of its execution plus N microseconds.

    `targets`: what it writes; none for a change of the schema. `server_time`: the server chooses the timestamps.
    """

    text: str
    targets: tuple[Target, ...] = ()
    server_time: bool = False


class Writes:
    """Writes to the tables of a schema at random."""

    def __init__(self, schema: Schema, rng: Random) -> None:
        self._schema, self._rng = schema, rng

    def one(self, tables: Sequence[Table]) -> Statement:
        rng = self._rng
        table = rng.choice(tables)
        if table.counter:
            return self._counter(table)
        kind = rng.random()
        if kind < 0.08:
            return self._batch([table for table in tables if not table.counter])
        if kind < 0.18:
            return self._conditional(table)
        partition = NORMAL
        if kind < 0.24:
            return self._with_ttl(table)
        if kind < 0.30:
            return self._of_the_future(table)
        key = self._key(table, rng.choice(partition))
        return self._statement(self._plain(table, key, ""), table, key)

    # --- kinds ---

    def _plain(self, table: Table, key: _Key, using: str) -> str:
        rng = self._rng
        choices = [self._insert, self._insert, self._insert, self._update, self._update, self._delete]
        if table.of("static"):
            choices += [self._static, self._static]
        return rng.choice(choices)(table, key, using)

    def _insert(self, table: Table, key: _Key, using: str) -> str:
        rng = self._rng
        values = {name: text for name, (_, text) in (key.partition | key.clustering).items()}
        for column in table.of("regular", "static"):
            if rng.random() < 0.75:
                values[column.name] = "null" if rng.random() < 0.05 else self._value(table, column)
        names = ", ".join(values)
        return f"INSERT INTO {table.full_name} ({names}) VALUES ({', '.join(values.values())}){_using(using)}"

    def _update(self, table: Table, key: _Key, using: str) -> str:
        rng, regular = self._rng, table.of("regular")
        if not regular:
            return self._insert(table, key, using)
        chosen = rng.sample(regular, min(len(regular), rng.randint(1, 2)))
        sets = ", ".join(self._assignment(table, column) for column in chosen)
        return f"UPDATE {table.full_name}{_using(using)} SET {sets} WHERE {key.where()}"

    def _static(self, table: Table, key: _Key, using: str) -> str:
        rng = self._rng
        column = rng.choice(table.of("static"))
        where = key.where(clustering=False)
        if rng.random() < 0.2 and not using.startswith("TTL"):
            return f"DELETE {column.name} FROM {table.full_name}{_using(using)} WHERE {where}"
        return f"UPDATE {table.full_name}{_using(using)} SET {self._assignment(table, column)} WHERE {where}"

    def _delete(self, table: Table, key: _Key, using: str) -> str:
        """Of a cell, a row, a range or the partition."""
        rng, regular, clustering = self._rng, table.of("regular"), table.of("clustering")
        name, kind = table.full_name, rng.random()
        if using.startswith("TTL"):
            return self._insert(table, key, using)
        if kind < 0.3 and regular:
            return f"DELETE {rng.choice(regular).name} FROM {name}{_using(using)} WHERE {key.where()}"
        if kind < 0.55:
            return f"DELETE FROM {name}{_using(using)} WHERE {key.where()}"
        if kind < 0.8 and clustering:
            first = clustering[0]
            lower, upper = sorted(rng.sample(range(CLUSTERING_KEYS + 1), 2))
            bounds = f"{first.name} >= {key_literal(first.type, lower)}"
            if rng.random() < 0.7:
                bounds += f" AND {first.name} < {key_literal(first.type, upper)}"
            return f"DELETE FROM {name}{_using(using)} WHERE {key.where(clustering=False)} AND {bounds}"
        return f"DELETE FROM {name}{_using(using)} WHERE {key.where(clustering=False)}"

    def _with_ttl(self, table: Table) -> Statement:
        rng = self._rng
        seconds = LONG_TTL if rng.random() < 0.3 else rng.randint(*SHORT_TTL)
        key = self._key(table, rng.choice(TTL))
        return self._statement(self._plain(table, key, f"TTL {seconds}"), table, key)

    def _of_the_future(self, table: Table) -> Statement:
        """Deletions more often than values; half of them in the next seconds, so that later writes live again."""
        rng = self._rng
        key = self._key(table, rng.choice(FUTURE))
        if rng.random() < 0.4:
            return self._statement(self._plain(table, key, ""), table, key)
        at = rng.choice([f"@+{rng.randint(1, 8)}000000@", f"@+{rng.randint(1, 8)}000000@", YEAR_3000])
        write = self._delete if rng.random() < 0.7 else self._plain
        return self._statement(write(table, key, f"TIMESTAMP {at}"), table, key)

    def _conditional(self, table: Table) -> Statement:
        """LWT: the server chooses the timestamp."""
        rng, regular = self._rng, table.of("regular")
        key = self._key(table, rng.choice(NORMAL))
        simple = [column for column in regular if not column.collection]
        if not simple or rng.random() < 0.5:
            text = self._insert(table, key, "") + " IF NOT EXISTS"
        else:
            column = rng.choice(simple)
            sets = f"{column.name} = {self._value(table, column)}"
            text = f"UPDATE {table.full_name} SET {sets} WHERE {key.where()} IF EXISTS"
        return Statement(text, (_target(table, key),), server_time=True)

    def _counter(self, table: Table) -> Statement:
        rng = self._rng
        key = self._key(table, rng.choice(NORMAL))
        column = rng.choice(table.of("regular", "static"))
        where = key.where(clustering=column.kind == "regular")
        if rng.random() < 0.05:
            text = f"DELETE FROM {table.full_name} WHERE {where}"
            return self._statement(text, table, key)
        text = f"UPDATE {table.full_name} SET {column.name} = {column.name} + {rng.randint(1, 9)} WHERE {where}"
        return Statement(text, (_target(table, key),), server_time=True)

    def _batch(self, tables: Sequence[Table]) -> Statement:
        """A logged batch of up to three tables."""
        rng = self._rng
        chosen = [rng.choice(tables) for _ in range(rng.randint(2, 3))]
        parts, targets = [], []
        for table in chosen:
            key = self._key(table, rng.choice(NORMAL))
            parts.append(self._insert(table, key, ""))
            targets.append(_target(table, key))
        return Statement(f"BEGIN BATCH {'; '.join(parts)}; APPLY BATCH", tuple(targets))

    # --- parts ---

    def _statement(self, text: str, table: Table, key: _Key) -> Statement:
        return Statement(text, (_target(table, key),))

    def _key(self, table: Table, number: int) -> _Key:
        rng = self._rng
        partition = {}
        for at, column in enumerate(table.of("partition")):
            each = number if at == 0 else rng.randrange(2)
            partition[column.name] = (each, key_literal(column.type, each))
        clustering = {}
        for column in table.of("clustering"):
            each = rng.randrange(CLUSTERING_KEYS)
            clustering[column.name] = (each, key_literal(column.type, each))
        return _Key(partition, clustering)

    def _assignment(self, table: Table, column: Column) -> str:
        rng, name, value = self._rng, column.name, self._value(table, column)
        if rng.random() < 0.1:
            return f"{name} = null"
        if column.collection and rng.random() < 0.7:
            if column.type.startswith("list"):
                return rng.choice([f"{name} = {name} + {value}", f"{name} = {value} + {name}"])
            if column.type.startswith("map") and rng.random() < 0.5:
                return f"{name}['m{rng.randrange(3)}'] = {rng.randrange(100)}"
            return f"{name} = {name} + {value}"
        types = self._schema.keyspaces[table.keyspace].types
        if column.type in types and rng.random() < 0.5:
            field, of = rng.choice(types[column.type].fields)
            return f"{name}.{field} = {literal(self._schema, table.keyspace, of, rng)}"
        return f"{name} = {value}"

    def _value(self, table: Table, column: Column) -> str:
        return literal(self._schema, table.keyspace, column.type, self._rng)


@dataclass(frozen=True)
class _Key:
    """Of one row: by column the number and its literal."""

    partition: dict[str, tuple[int, str]]
    clustering: dict[str, tuple[int, str]]

    def where(self, *, clustering: bool = True) -> str:
        columns = self.partition | self.clustering if clustering else self.partition
        return " AND ".join(f"{name} = {text}" for name, (_, text) in columns.items())


def _target(table: Table, key: _Key) -> Target:
    return Target(table.full_name, tuple((name, number) for name, (number, _) in key.partition.items()))


def _using(using: str) -> str:
    return f" USING {using}" if using else ""
