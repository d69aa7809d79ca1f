"""What the server accepted of a history, with times: statements, rows that the log must hold, the lives of tables.

Knows statements and answers of the server, no log and no consumer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.server.migrations.writes import Statement, Target

_CREATE = re.compile(r"CREATE TABLE (\S+) .*cdc = (true|false)")
_DROP = re.compile(r"DROP TABLE (\S+)")
_DROP_KEYSPACE = re.compile(r"DROP KEYSPACE (\S+)")
_TOGGLE = re.compile(r"ALTER TABLE (\S+) WITH cdc = (true|false)")


@dataclass(frozen=True)
class Accepted:
    """`text`: as it was executed. `first`, `last`: µs between which its timestamp is, by the client's clock.
    `segments`: of a DROP, those of which one has it."""

    step: int
    text: str
    first: int
    last: int
    segments: frozenset[int] = frozenset()


@dataclass
class Life:
    """A table from its CREATE on. `captures`: it has `cdc = true`; `whole`: it had all the time; if not, `since`: when
    that was altered last (µs)."""

    table: str
    step: int
    captures: bool
    whole: bool
    began: int
    """µs"""
    id: str = ""
    since: int = 0


@dataclass(frozen=True)
class Expected:
    """A partition that an acknowledged write has written, and which the log must therefore have a row of."""

    target: Target
    by: Accepted
    life: Life


@dataclass
class Ledger:
    accepted: list[Accepted] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    """Step, statement, the server's words."""
    failed: list[tuple[int, str, str]] = field(default_factory=list)
    """As `refused`: timeouts, of which nobody knows whether they took effect."""
    lives: dict[str, Life] = field(default_factory=dict)
    """Of the tables that are there."""
    gone: set[str] = field(default_factory=set)
    """Names of tables that were dropped, and are not there again."""
    drops: dict[str, Accepted] = field(default_factory=dict)
    """By the name of a table the last DROP of one that had captured."""

    def accept(self, statement: Statement, done: Accepted, applied: bool) -> None:
        self.accepted.append(done)
        if not statement.targets:
            self._migrate(done)
        elif applied:
            for target in statement.targets:
                life = self.lives[target.table]
                if life.captures:
                    self.expected.append(Expected(target, done, life))

    def near(self, table: str, step: int | None = None) -> list[str]:
        """The migrations that name a table, and its writes in a step: for a person who looks for the cause."""
        keyspace = table.partition(".")[0]
        found = []
        for each in self.accepted:
            migrates = not each.text.startswith(("INSERT", "UPDATE", "DELETE", "BEGIN"))
            named = re.search(rf"\b{re.escape(table)}\b", each.text) or f"KEYSPACE {keyspace}" in each.text
            typed = "TYPE " + keyspace in each.text
            if (migrates and (named or typed)) or (named and each.step == step):
                found.append(f"step {each.step}: {each.text[:160]}")
        return found[-14:]

    def dropped_columns(self, table: str) -> list[tuple[int, str]]:
        """When which columns were dropped, since the table was created last."""
        pattern = re.compile(rf"ALTER TABLE {re.escape(table)} DROP (\S+)")
        found = ((each.first, pattern.match(each.text)) for each in self.accepted)
        return [(at, match[1]) for at, match in found if match and at > self.lives[table].began]

    def never_whole(self, names: Iterable[str]) -> set[str]:
        """Tables whose rows nobody can know: they did not capture all the time."""
        return {name for name in names if name not in self.lives or not self.lives[name].whole}

    def _migrate(self, done: Accepted) -> None:
        text = done.text
        if found := _CREATE.match(text):
            self.lives[found[1]] = Life(found[1], done.step, found[2] == "true", found[2] == "true", done.first)
            self.gone.discard(found[1])
        elif found := _DROP.match(text):
            self._end(found[1], done)
        elif found := _DROP_KEYSPACE.match(text):
            for name in [name for name in self.lives if name.startswith(f"{found[1]}.")]:
                self._end(name, done)
        elif found := _TOGGLE.match(text):
            life = self.lives[found[1]]
            life.captures, life.whole, life.since = found[2] == "true", False, done.first

    def _end(self, table: str, done: Accepted) -> None:
        life = self.lives.pop(table, None)
        if life is not None and (life.captures or life.since):
            self.drops[table] = done
        self.gone.add(table)
