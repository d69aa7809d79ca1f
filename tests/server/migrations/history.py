"""A history of migrations: steps that a seed gives, each some changes of the schema and the writes around them.

A history is plain values: it can be printed in words, run again from its seed, and made shorter by leaving steps out.
What the server refuses (of a shortened history more) is no part of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from random import Random

from tests.server.migrations.migrations import KEYSPACES, Migrations
from tests.server.migrations.model import Schema
from tests.server.migrations.writes import Statement, Writes

FIRST_TABLES = 4
SHORT = 12


@dataclass(frozen=True)
class Step:
    """`number` counts from 0, and stays the same where others are left out. `title`: the kinds of migration."""

    number: int
    title: str
    statements: tuple[Statement, ...]

    def in_words(self) -> str:
        return "\n".join([f"step {self.number}: {self.title}", *(f"    {one.text}" for one in self.statements)])


def history(
    seed: int, steps: int, version: str = "5.0", replication: int = 1, without: Collection[int] = ()
) -> list[Step]:
    """Steps 0 to `steps`; the first one makes the schema to begin with."""
    rng = Random(f"history {seed}")
    schema = Schema(version, replication)
    migrations, writes = Migrations(schema, rng), Writes(schema, rng)
    made = [_first(schema, migrations, writes)]
    for number in range(1, steps + 1):
        made.append(_step(number, schema, migrations, writes, rng))
    return [step for step in made if step.number not in without]


def _first(schema: Schema, migrations: Migrations, writes: Writes) -> Step:
    texts = [schema.create_keyspace(name) for name in KEYSPACES]
    texts += [*migrations.create_type(), *migrations.create_type()]
    for at in range(FIRST_TABLES):
        texts += migrations.create_table(KEYSPACES[at % 2], cdc=True)
    rows = [writes.one(schema.tables()) for _ in range(SHORT)]
    return Step(0, "the first tables", (*map(Statement, texts), *rows))


def _step(number: int, schema: Schema, migrations: Migrations, writes: Writes, rng: Random) -> Step:
    """One to three migrations, with writes before, between (mostly not) and behind them."""
    statements: list[Statement] = []
    titles = []
    migrations.touched.clear()
    kinds = migrations.every()
    if rng.random() < 0.3:
        statements += [writes.one(schema.tables()) for _ in range(rng.randint(1, 3))]
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        kind = rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]
        texts = kind()
        titles += [kind.__name__.replace("_", " ")] if texts else []
        statements += map(Statement, texts)
        if rng.random() < 0.3:
            statements += [writes.one(schema.tables()) for _ in range(rng.randint(1, 3))]
    # Tables that were altered are written at once, in the first place.
    there = schema.tables()
    touched = [table for table in migrations.touched if table in there]
    statements += [writes.one(touched or there) for _ in range(rng.randint(2, 5))]
    statements += [writes.one(there) for _ in range(rng.randint(2, 6))]
    return Step(number, ", ".join(titles) or "writes alone", tuple(statements))
