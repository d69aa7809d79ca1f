"""Varied CQL statements for a running server, the same ones for the same seed.

Statements are text, so that neither the driver's types nor a clock on this side plays a part; what the server itself
chooses (timestamps, list element ids) differs from run to run. `Workload` gives steps: first those that create, then
as many as wanted of a mix in which the schema changes at fixed places. A step that changes the schema says so: who
watches the log with the server's reader must look before it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.server import literals as lit
from tests.server.schema import CHANGES, CREATE, KEYSPACE, Names


@dataclass(frozen=True)
class Step:
    """One statement. `may_fail`: the server may refuse it for what the rows hold just then (a list index, say)."""

    cql: str
    changes_schema: bool = False
    may_fail: bool = False


@dataclass
class Outcome:
    """What `run` did: how many statements, and those that were refused with the server's words."""

    done: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


def run(session: Any, steps: Iterable[Step], before_schema_change: Callable[[], None]) -> Outcome:
    """Runs the steps one after the other; a refusal of a step that must not fail is raised."""
    outcome = Outcome()
    for step in steps:
        if step.changes_schema:
            before_schema_change()
        try:
            session.execute(step.cql)
            outcome.done += 1
        except Exception as refused:
            if not step.may_fail:
                raise AssertionError(f"the server refused {step.cql[:2000]}: {refused}") from refused
            outcome.refused.append((step.cql, str(refused)))
    return outcome


class Workload:
    """A deterministic source of steps. What one call of `mix` leaves of the schema changes, the next goes on with."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._names = Names()
        self._changes = iter(CHANGES)
        self._serial = 0
        self._makers: list[tuple[Callable[[], str], int]] = [
            (self._plain_insert, 6),
            (self._plain_update, 6),
            (self._plain_delete, 4),
            (self._static, 3),
            (self._slices_write, 4),
            (self._slices_delete, 4),
            (self._collections_whole, 4),
            (self._collections_part, 8),
            (self._udt, 5),
            (self._scalars, 6),
            (self._counter, 4),
            (self._cas, 5),
            (self._odd_name, 3),
            (self._small_tables, 6),
            (self._batch, 5),
            (self._shadowed_batch, 1),
            (self._filler, 12),
        ]

    def create(self) -> Iterator[Step]:
        for cql in CREATE:
            yield Step(cql, changes_schema=True)

    def mix(self, count: int, changes: int = 0) -> Iterator[Step]:
        """`count` statements on the data, and among them, evenly, the next `changes` changes of the schema."""
        makers, weights = [maker for maker, _ in self._makers], [weight for _, weight in self._makers]
        every = count // (changes + 1)
        for number in range(count):
            if changes and number and number % every == 0:
                changes -= 1
                change = next(self._changes)
                # Rows before and after in the same segment: one without any may vanish with the change in it.
                yield Step(self._filler())
                yield Step(change.cql, changes_schema=True)
                change.apply(self._names)
                yield Step(self._filler())
            cql = self._rng.choices(makers, weights)[0]()
            yield Step(cql, may_fail="l[0]" in cql)

    # --- plain rows ---

    def _plain_row(self) -> str:
        return f"id = {lit.number(self._rng)} AND ck = {self._short()}"

    def _short(self) -> str:
        return lit.quoted(self._rng.choice("abcdefgh"))

    def _using(self, ttl: bool = True) -> str:
        """A USING clause: nothing mostly, else a timestamp of its own, a TTL, or both."""
        parts = []
        if self._rng.random() < 0.2:
            parts.append(f"TIMESTAMP {1_700_000_000_000_000 + self._rng.randrange(10**12)}")
        if ttl and self._rng.random() < 0.25:
            parts.append(f"TTL {self._rng.choice([0, 5, 3600, 86400 * 365])}")
        return f" USING {' AND '.join(parts)}" if parts else ""

    def _or_null(self, maker: Callable[[random.Random], str]) -> str:
        return "null" if self._rng.random() < 0.15 else maker(self._rng)

    def _plain_insert(self) -> str:
        if self._rng.random() < 0.15:
            row = f'{{"id": {lit.number(self._rng)}, "ck": "j", "v": 1}}'
            return f"INSERT INTO {KEYSPACE}.plain JSON '{row}' DEFAULT UNSET"
        columns = {"id": lit.number(self._rng), "ck": self._short()}
        columns |= {"v": self._or_null(lit.whole(32)), "w": self._or_null(lit.text), "s": self._or_null(lit.text)}
        for name, value in self._names.plain_more.items():
            columns[name] = self._or_null(value)
        kept = {name: value for name, value in columns.items() if name in ("id", "ck") or self._rng.random() < 0.6}
        return self._insert("plain", kept, self._using())

    def _insert(self, table: str, columns: dict[str, str], more: str = "") -> str:
        return f"INSERT INTO {KEYSPACE}.{table} ({', '.join(columns)}) VALUES ({', '.join(columns.values())}){more}"

    def _plain_update(self) -> str:
        sets = [f"v = {self._or_null(lit.whole(32))}"]
        if self._rng.random() < 0.5:
            sets.append(f"w = {self._or_null(lit.text)}")
        for name, value in self._names.plain_more.items():
            sets.append(f"{name} = {self._or_null(value)}")
        where = (
            f"id = {lit.number(self._rng)} AND ck IN ({self._short()}, 'x')"
            if self._rng.random() < 0.2
            else self._plain_row()
        )
        return f"UPDATE {KEYSPACE}.plain{self._using()} SET {', '.join(sets)} WHERE {where}"

    def _plain_delete(self) -> str:
        using, partition = self._using(ttl=False), f"id = {lit.number(self._rng)}"
        low, high = sorted([self._short(), self._short()])
        where = self._rng.choice(
            [
                self._plain_row(),
                partition,
                f"{partition} AND ck >= {low} AND ck < {high}",
                f"{partition} AND ck > {low}",
                f"{partition} AND ck <= {high}",
            ]
        )
        if self._rng.random() < 0.2:
            return f"DELETE v, w FROM {KEYSPACE}.plain{using} WHERE {self._plain_row()}"
        return f"DELETE FROM {KEYSPACE}.plain{using} WHERE {where}"

    def _static(self) -> str:
        row = f"id = {lit.number(self._rng)}"
        more = lit.list_of(lit.several(self._rng, lit.text, 1))
        values = f"s = {self._or_null(lit.text)}, n = {lit.whole(64)(self._rng)}"
        return self._rng.choice(
            [
                f"UPDATE {KEYSPACE}.plain{self._using()} SET {values} WHERE {row}",
                f"INSERT INTO {KEYSPACE}.plain (id, s) VALUES ({lit.number(self._rng)}, {lit.text(self._rng)})",
                f"DELETE s FROM {KEYSPACE}.plain WHERE {row}",
                f"UPDATE {KEYSPACE}.collections SET ls = ls + {more} WHERE {row}",
            ]
        )

    # --- composite keys, ranges ---

    def _slices_partition(self) -> str:
        return f"a = {lit.number(self._rng)} AND b = {self._short()}"

    def _slices_write(self) -> str:
        columns = {"a": lit.number(self._rng), "b": self._short(), "c": lit.number(self._rng)}
        columns |= {self._names.slices_d: lit.number(self._rng), "v": self._or_null(lit.floating)}
        if self._names.slices_w:
            columns["w"] = self._or_null(lit.blob)
        return self._insert("slices", columns)

    def _slices_delete(self) -> str:
        d = self._names.slices_d
        one, two = sorted([self._rng.randrange(8), self._rng.randrange(8)])
        where = self._rng.choice(
            [
                f"c = {one}",
                f"c = {one} AND {d} >= {one} AND {d} <= {two}",
                f"c > {one} AND c <= {two}",
                f"c < {two}",
                f"(c, {d}) > ({one}, {two})",
                f"c IN ({one}, {two}, 9)",
                f"c = {one} AND {d} = {two}",
            ]
        )
        return f"DELETE FROM {KEYSPACE}.slices WHERE {self._slices_partition()} AND {where}"

    # --- collections, types ---

    def _collection_row(self) -> str:
        return f"id = {lit.number(self._rng)} AND ck = {self._rng.randrange(3)}"

    def _collections_whole(self) -> str:
        rng = self._rng
        numbers = lit.several(rng, lit.number)
        texts = sorted(set(lit.several(rng, lit.text)))
        columns = {
            "id": lit.number(rng),
            "ck": str(rng.randrange(3)),
            "l": lit.list_of(numbers),
            "s": lit.set_of(texts),
            "m": lit.map_of(texts, [lit.number(rng) for _ in texts]),
            "f": lit.list_of(texts),
            "n": lit.map_of(["1", "2"], [lit.set_of(texts), lit.set_of(["'z'"])]),
        }
        kept = {name: value for name, value in columns.items() if name in ("id", "ck") or rng.random() < 0.7}
        return self._insert("collections", kept, self._using())

    def _collections_part(self) -> str:
        rng = self._rng
        some = lit.list_of(lit.several(rng, lit.number, 1))
        texts = lit.set_of(sorted(set(lit.several(rng, lit.text, 1))))
        change = rng.choice(
            [
                f"l = l + {some}",
                f"l = {some} + l",
                f"l = l - {some}",
                f"l[0] = {lit.number(rng)}",
                f"s = s + {texts}, l = {some}",
                f"s = s - {texts}",
                f"m = m + {lit.map_of([lit.text(rng)], [lit.number(rng)])}",
                f"m = m - {texts}",
                f"m[{self._short()}] = {self._or_null(lit.number)}",
                f"n[{lit.number(rng)}] = {texts}",
                f"m = null, s = {{}}, f = {lit.list_of([lit.text(rng)])}",
            ]
        )
        if rng.random() < 0.15:
            what = rng.choice(["l[0]", f"m[{self._short()}]", f"s[{lit.text(rng)}]", "l, m"])
            return f"DELETE {what} FROM {KEYSPACE}.collections WHERE {self._collection_row()}"
        return f"UPDATE {KEYSPACE}.collections{self._using()} SET {change} WHERE {self._collection_row()}"

    def _address(self) -> str:
        parts = {"street": self._or_null(lit.text), "number": lit.number(self._rng), "tags": lit.set_of(["'t'", "'u'"])}
        if self._names.address_zip:
            parts["zip"] = lit.number(self._rng)
        kept = {name: value for name, value in parts.items() if self._rng.random() < 0.8}
        # Never none of them: the server takes `{}` for an empty set.
        kept = kept or {"number": parts["number"]}
        return f"{{{', '.join(f'{name}: {value}' for name, value in kept.items())}}}"

    def _udt(self) -> str:
        rng = self._rng
        row = f"id = {lit.number(rng)}"
        field_name = rng.choice(["street", "tags", "number", "zip" if self._names.address_zip else "number"])
        some_number = self._or_null(lit.whole(32))
        deep = f"{{name: {lit.text(rng)}, home: {self._address()}}}"
        return rng.choice(
            [
                self._insert(
                    "udts", {"id": lit.number(rng), "open": self._address(), "closed": self._address(), "deep": deep}
                ),
                f"UPDATE {KEYSPACE}.udts SET open = {self._address()} WHERE {row}",
                f"UPDATE {KEYSPACE}.udts{self._using()} SET open.number = {some_number}, closed = null WHERE {row}",
                f"DELETE open.{field_name} FROM {KEYSPACE}.udts WHERE {row}",
                f"UPDATE {KEYSPACE}.udts SET many = many + {lit.list_of([self._address()])} WHERE {row}",
                f"DELETE FROM {KEYSPACE}.udts WHERE {row}",
            ]
        )

    def _scalars(self) -> str:
        rng = self._rng
        columns = {"c_int": lit.number(rng), "c_text": lit.text(rng)}
        for name, literal in lit.SCALARS.items():
            if f"c_{name}" not in columns and rng.random() < 0.6:
                columns[f"c_{name}"] = self._or_null(literal)
        if rng.random() < 0.5:
            columns["c_tuple"] = f"({self._or_null(lit.whole(32))}, {lit.text(rng)}, {self._or_null(lit.uuid)})"
            columns["c_vector"] = lit.list_of([lit.number(rng), "1.5", "-2.25"])
            columns["c_words"] = lit.list_of([lit.text(rng), lit.text(rng)])
        return self._insert("scalars", columns, self._using())

    # --- counters, light-weight transactions ---

    def _counter(self) -> str:
        row = f"id = {self._short()} AND ck = {self._rng.randrange(3)}"
        up = f"UPDATE {KEYSPACE}.counts SET hits = hits + {self._rng.randrange(1, 99)}"
        return self._rng.choice(
            [
                f"{up} WHERE {row}",
                f"{up}, misses = misses - 1 WHERE {row}",
                f"BEGIN COUNTER BATCH {up} WHERE {row}; {up} WHERE id = 'z' AND ck = 1; APPLY BATCH",
                f"DELETE hits FROM {KEYSPACE}.counts WHERE id = 'gone{self._rng.randrange(50)}' AND ck = 0",
            ]
        )

    def _cas(self) -> str:
        row = f"id = {lit.number(self._rng)}"
        value = lit.text(self._rng)
        insert = (
            f"INSERT INTO {KEYSPACE}.cas (id, v, w) VALUES ({lit.number(self._rng)}, {lit.number(self._rng)}, {value})"
        )
        first = f"UPDATE {KEYSPACE}.cas SET v = 1 WHERE {row} IF v != 1"
        return self._rng.choice(
            [
                f"{insert} IF NOT EXISTS",
                f"{insert} IF NOT EXISTS USING TTL 900",
                f"UPDATE {KEYSPACE}.cas SET w = {value} WHERE {row} IF EXISTS",
                f"UPDATE {KEYSPACE}.cas SET v = {lit.number(self._rng)} WHERE {row} IF v > 3",
                f"DELETE FROM {KEYSPACE}.cas WHERE {row} IF EXISTS",
                f"BEGIN BATCH {first}; DELETE w FROM {KEYSPACE}.cas WHERE {row}; APPLY BATCH",
            ]
        )

    # --- the rest ---

    def _odd_name(self) -> str:
        key, part = lit.number(self._rng), lit.text(self._rng)
        return self._rng.choice(
            [
                f'INSERT INTO {KEYSPACE}."OddName" ("Key", "ж", "a""b", "Set") VALUES ({key}, {part}, 1, {{1, 2}})',
                f'UPDATE {KEYSPACE}."OddName" SET "Set" = "Set" + {{{key}}} WHERE "Key" = {key} AND "ж" = {part}',
                f'DELETE "a""b" FROM {KEYSPACE}."OddName" WHERE "Key" = {key} AND "ж" = {part}',
            ]
        )

    def _small_tables(self) -> str:
        rng = self._rng
        tables = ["toggled", "quiet", "emptied", *(["doomed"] if self._names.doomed else [])]
        if self._names.late and rng.random() < 0.4:
            return self._insert("late", {"id": lit.uuid(rng), "at": lit.timestamp(rng), "v": lit.text(rng)})
        table = rng.choice(tables)
        columns = {"id": lit.number(rng), "v": lit.text(rng)}
        if table == "doomed" and self._names.doomed_again:
            columns["again"] = lit.boolean(rng)
        return self._insert(table, columns)

    def _batch(self) -> str:
        makers = [
            self._plain_insert,
            self._plain_delete,
            self._slices_write,
            self._small_tables,
            self._udt,
            self._odd_name,
        ]
        statements = [self._rng.choice(makers)() for _ in range(self._rng.randint(2, 6))]
        kind = self._rng.choice(["BATCH", "UNLOGGED BATCH"])
        return f"BEGIN {kind} {'; '.join(statements)}; APPLY BATCH"

    def _shadowed_batch(self) -> str:
        """An older cell under a range deletion of the same batch: the log gets a row with nothing in it."""
        key = lit.number(self._rng)
        return (
            f"BEGIN UNLOGGED BATCH UPDATE {KEYSPACE}.plain USING TIMESTAMP 10 SET v = 1 WHERE id = {key} AND ck = 'q'; "
            f"DELETE FROM {KEYSPACE}.plain USING TIMESTAMP 20 WHERE id = {key} AND ck > 'p'; APPLY BATCH"
        )

    def _filler(self) -> str:
        """Bulk, so that the log rolls over."""
        self._serial += 1
        size = self._rng.choice([100, 1000, 4000, 4000, 30_000])
        body = f"{self._serial:06}" + "".join(self._rng.choices("abcdef ", k=size))
        return self._insert("filler", {"id": lit.number(self._rng), "seq": str(self._serial), "body": lit.quoted(body)})
