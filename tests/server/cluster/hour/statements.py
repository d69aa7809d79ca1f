"""The statements of the workload: for each kind of table the writes that Cassandra allows, at random.

Each write has a *ticket*: a number of seven digits that no other write has. It is in a value that the write sets, so
that a log row or a row image of this write is found by it. Deletions have no value and so no ticket. Knows no
connection.
"""

# ruff: noqa: E501 - a statement is read best on one line

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from uuid import UUID

from tests.server.cluster.hour.tables import KEYSPACE

FIRST_TICKET = 1_000_000
LONGEST_TTL = 60
PAST_SECONDS = 30
TIE_MICROSECONDS = 2_000_000
"""Writes of `ties` have their timestamps rounded down to this, so that many of them are equal."""


@dataclass(frozen=True)
class Statement:
    """One request. `tickets`: number and table of each write in it that sets a value.

    `surely`: it has a row image of its own unless a newer write overtook it. False where its timestamp is of the past
    or equal to that of another write, or where it may expire before it is merged. `conditional`: a lightweight
    transaction, which may not apply.
    `table`: the table whose schema it needs, for the gates of `SchemaState`.
    """

    kind: str
    cql: str
    table: str
    tickets: tuple[tuple[int, str], ...] = ()
    surely: bool = True
    conditional: bool = False


@dataclass
class SchemaState:
    """What schema changes have done by now, for the statements that depend on it. All under `lock`.

    `closed`: tables that take no writes at the moment. `made`: tables that were created during the run and exist.
    `snapshots_over`: the consumers have read what was there before them.
    """

    lock: Lock = field(default_factory=Lock)
    altered_columns: set[str] = field(default_factory=lambda: {"a", "x"})
    shelf_static: bool = False
    closed: set[str] = field(default_factory=set)
    snapshots_over: bool = False
    made: list[int] = field(default_factory=list)


class Statements:
    """Makes statements; not for two threads at once."""

    def __init__(self, seed: int, schema: SchemaState) -> None:
        self._random = random.Random(seed)
        self._schema = schema
        self._ticket = FIRST_TICKET
        self._started = time.time_ns() // 1000
        self._written: list[int] = []
        makers: list[tuple[Callable[[], Statement], int]] = [
            (self._seq, 14), (self._lat, 8), (self._wide, 12), (self._kv, 10), (self._ties, 5), (self._coll, 12),
            (self._counts, 4), (self._lwt, 4), (self._ttl, 5), (self._typed, 4), (self._nested, 3), (self._keys, 3),
            (self._statics, 4), (self._big, 1), (self._batch, 3), (self._ordered, 3), (self._altered, 5),
            (self._shelf, 4), (self._again, 4), (self._anew, 3), (self._cleared, 4), (self._made, 5),
        ]  # fmt: skip
        self._makers, self._weights = zip(*makers, strict=True)

    def next(self) -> Statement:
        """A statement of a table that takes writes."""
        while True:
            (maker,) = self._random.choices(self._makers, self._weights)
            found: Statement = maker()
            with self._schema.lock:
                if found.table not in self._schema.closed:
                    return found

    # --- parts ---

    def _take(self) -> int:
        self._ticket += 1
        return self._ticket

    def _below(self, bound: int) -> int:
        return self._random.randrange(bound)

    def _seconds(self) -> int:
        return self._random.randrange(5, LONGEST_TTL)

    def _one_of(self, *makers: tuple[float, Callable[[], Statement]]) -> Statement:
        weights = [weight for weight, _ in makers]
        ((_, maker),) = self._random.choices(makers, weights)
        return maker()

    def _write(self, kind: str, table: str, ticket: int, cql: str, surely: bool = True) -> Statement:
        return Statement(f"{table}.{kind}", cql, table, ((ticket, table),), surely=surely and " TTL " not in cql)

    def _delete(self, kind: str, table: str, where: str, columns: str = "", using: str = "") -> Statement:
        cql = f"DELETE {columns} FROM {KEYSPACE}.{table} {using} WHERE {where}"
        return Statement(f"{table}.{kind}", cql, table)

    # --- one method for each kind of table ---

    def _seq(self) -> Statement:
        w, pk = self._take(), self._below(300)
        if self._random.random() < 0.7:
            return self._write("update", "seq", w, f"UPDATE {KEYSPACE}.seq SET w = {w}, v = '{w}' WHERE pk = {pk}")
        return self._write("insert", "seq", w, f"INSERT INTO {KEYSPACE}.seq (pk, w, v) VALUES ({pk}, {w}, '{w}')")

    def _lat(self) -> Statement:
        if len(self._written) > 200 and self._random.random() < 0.15:
            return self._delete("delete_once", "lat", f"pk = {self._written.pop(0)}")
        w = self._take()
        self._written.append(w)
        return self._write("insert", "lat", w, f"INSERT INTO {KEYSPACE}.lat (pk, t) VALUES ({w}, {w})")

    def _wide(self) -> Statement:
        w, pk, low = self._take(), self._below(60), self._below(40)
        name, table = self._random.choice("abcd"), f"{KEYSPACE}.wide"
        row = f"pk = {pk} AND ck1 = {low} AND ck2 = '{name}'"
        values = f"({pk}, {low}, '{name}', {w}, 'w{w}', {w / 7!r})"
        now = time.time_ns() // 1000
        batch = (
            f"BEGIN UNLOGGED BATCH DELETE FROM {table} USING TIMESTAMP {now} WHERE pk = {pk} AND ck1 >= {low} "
            f"AND ck1 <= {low + 3}; INSERT INTO {table} (pk, ck1, ck2, a) VALUES ({pk}, {low}, 'a', {w}) "
            f"USING TIMESTAMP {now + 1}; UPDATE {table} USING TIMESTAMP {now} SET s = {w} WHERE pk = {pk}; APPLY BATCH"
        )
        return self._one_of(
            (30, lambda: self._write("insert", "wide", w, f"INSERT INTO {table} (pk, ck1, ck2, a, b, c) VALUES {values}")),
            (15, lambda: self._write("update", "wide", w, f"UPDATE {table} SET a = {w} WHERE {row}")),
            (5, lambda: Statement("wide.nulls", f"UPDATE {table} SET a = null, b = null, c = null WHERE {row}", "wide")),
            (8, lambda: self._write("static", "wide", w, f"UPDATE {table} SET s = {w}, st = 'st{w}' WHERE pk = {pk}")),
            (4, lambda: self._write("static_and_row", "wide", w, f"UPDATE {table} SET s = {w}, a = {w} WHERE {row}")),
            (8, lambda: self._delete("delete_row", "wide", row)),
            (6, lambda: self._delete("delete_prefix", "wide", f"pk = {pk} AND ck1 = {low}")),
            (7, lambda: self._delete("delete_range", "wide", f"pk = {pk} AND ck1 >= {low} AND ck1 < {low + 5}")),
            (2, lambda: self._delete("delete_above", "wide", f"pk = {pk} AND ck1 > 35")),
            (3, lambda: self._delete("delete_inner", "wide", f"pk = {pk} AND ck1 = {low} AND ck2 > 'b'")),
            (2, lambda: self._delete("delete_partition", "wide", f"pk = {pk}")),
            (4, lambda: self._delete("delete_static", "wide", f"pk = {pk}", "s")),
            (5, lambda: self._write("batch", "wide", w, batch, surely=False)),
        )  # fmt: skip

    def _kv(self) -> Statement:
        w, pk, table = self._take(), self._below(400), f"{KEYSPACE}.kv"
        past = max(self._started, time.time_ns() // 1000 - self._below(PAST_SECONDS * 1_000_000))
        return self._one_of(
            (25, lambda: self._write("insert", "kv", w, f"INSERT INTO {table} (pk, a, b, v) VALUES ({pk}, {w}, {w}, 'v{w}')")),
            (10, lambda: self._write("update", "kv", w, f"UPDATE {table} SET a = {w} WHERE pk = {pk}")),
            (10, lambda: self._write("update_ttl", "kv", w, f"UPDATE {table} USING TTL {self._seconds()} SET b = {w} WHERE pk = {pk}")),
            (10, lambda: self._write("insert_ttl", "kv", w, f"INSERT INTO {table} (pk, a) VALUES ({pk}, {w}) USING TTL {self._seconds()}")),
            (10, lambda: self._delete("delete_row", "kv", f"pk = {pk}")),
            (7, lambda: self._delete("delete_columns", "kv", f"pk = {pk}", "a, v")),
            (8, lambda: self._write("past", "kv", w, f"UPDATE {table} USING TIMESTAMP {past} SET v = 'past{w}' WHERE pk = {pk}", surely=False)),
            (4, lambda: self._delete("delete_past", "kv", f"pk = {pk}", using=f"USING TIMESTAMP {past}")),
            (8, lambda: self._write("insert_null", "kv", w, f"INSERT INTO {table} (pk, a, v) VALUES ({pk}, {w}, null)")),
        )  # fmt: skip

    def _ties(self) -> Statement:
        """Values are few, so that equal writes and ties of every order come about; no tickets."""
        grid = time.time_ns() // 1000 // TIE_MICROSECONDS * TIE_MICROSECONDS
        pk, table, using = grid // TIE_MICROSECONDS % 100, f"{KEYSPACE}.ties", f"USING TIMESTAMP {grid}"
        number, word = self._random.choice([-1, 0, 1, 256, -256]), self._random.choice(["", "a", "b", "zz", "é"])
        cql = self._random.choice([
            f"UPDATE {table} {using} SET a = {number}, v = '{word}' WHERE pk = {pk}",
            f"UPDATE {table} {using} AND TTL {self._random.choice([20, 30])} SET a = {number} WHERE pk = {pk}",
            f"UPDATE {table} {using} SET b = {number} WHERE pk = {pk}",
            f"DELETE a FROM {table} {using} WHERE pk = {pk}",
            f"DELETE FROM {table} {using} WHERE pk = {pk}",
            f"INSERT INTO {table} (pk, b) VALUES ({pk}, {number}) {using}",
            f"INSERT INTO {table} (pk, b) VALUES ({pk}, {number}) {using} AND TTL {self._random.choice([15, 25])}",
        ])  # fmt: skip
        return Statement("ties.write", cql, "ties")

    def _coll(self) -> Statement:
        w, key, element = self._take(), f"k{self._below(7)}", self._below(9)
        pk, ck, table = self._below(40), self._below(10), f"{KEYSPACE}.coll"
        where = f"pk = {pk} AND ck = {ck}"
        changes = {
            "map_add": f"SET m = m + {{'{key}': {w}}}",
            "map_set": f"SET m['{key}'] = {w}",
            "map_replace": f"SET m = {{'{key}': {w}}}, s = {{}}",
            "set_add": f"SET s = s + {{{w}}}",
            "list_append": f"SET l = l + ['e{w}']",
            "list_prepend": f"SET l = ['p{w}', 'q{w}'] + l",
            "list_replace": f"SET l = ['x{w}']",
            "field_set": f"SET u.street = 's{w}'",
            "type_replace": f"SET u = {{street: 's{w}', zip: {w}, tags: {{'a', 'b'}}}}",
        }
        expiring = {"map_ttl": f"SET m['{key}'] = {w}", "list_ttl": f"SET l = l + ['t{w}']"}
        bare = {
            "set_remove": f"UPDATE {table} SET s = s - {{{element}}} WHERE {where}",
            "map_remove": f"DELETE m['{key}'] FROM {table} WHERE {where}",
            "type_null": f"UPDATE {table} SET u = null, f = null WHERE {where}",
            "delete_row": f"DELETE FROM {table} WHERE {where}",
            "delete_columns": f"DELETE l, s FROM {table} WHERE {where}",
            "list_index": f"UPDATE {table} SET l[0] = 'i{w}' WHERE {where}",
        }
        kind = self._random.choice([*changes, *expiring, *bare, "insert", "insert"])
        if kind == "insert":
            lists = f"{{'{key}': {w}}}, {{1, {w}}}, ['a{w}', 'b{w}'], [{w}]"
            return self._write(
                kind, "coll", w, f"INSERT INTO {table} (pk, ck, m, s, l, f) VALUES ({pk}, {ck}, {lists})"
            )
        if kind in bare:
            return Statement(f"coll.{kind}", bare[kind], "coll")
        using = f"USING TTL {self._seconds()} " if kind in expiring else ""
        change = {**changes, **expiring}[kind]
        return self._write(kind, "coll", w, f"UPDATE {table} {using}{change} WHERE {where}")

    def _counts(self) -> Statement:
        where = f"pk = {self._below(20)} AND ck = {self._below(15)}"
        add = self._random.randrange(-3, 9)
        return Statement("counts.add", f"UPDATE {KEYSPACE}.counts SET c = c + {add}, d = d - 1 WHERE {where}", "counts")

    def _lwt(self) -> Statement:
        w, pk, table = self._take(), self._below(120), f"{KEYSPACE}.lwt"
        kind, cql = self._random.choice([
            ("insert", f"INSERT INTO {table} (pk, ver, who) VALUES ({pk}, {w}, 'i{w}') IF NOT EXISTS"),
            ("update", f"UPDATE {table} SET ver = {w}, who = 'u{w}' WHERE pk = {pk} IF ver > -1"),
            ("update", f"UPDATE {table} SET ver = {w}, who = 'u{w}' WHERE pk = {pk} IF ver > -1"),
            ("delete", f"DELETE FROM {table} WHERE pk = {pk} IF EXISTS"),
            ("ttl", f"UPDATE {table} USING TTL 20 SET who = 't{w}' WHERE pk = {pk} IF ver != -7"),
        ])  # fmt: skip
        tickets = () if kind == "delete" else ((w, "lwt"),)
        return Statement(f"lwt.{kind}", cql, "lwt", tickets, surely=kind != "ttl", conditional=True)

    def _ttl(self) -> Statement:
        w, pk, ck, table = self._take(), self._below(35), self._below(22), f"{KEYSPACE}.ttl"
        row, using = f"pk = {pk} AND ck = {ck}", f"USING TTL {self._seconds()}"
        return self._one_of(
            (4, lambda: self._write("insert", "ttl", w, f"INSERT INTO {table} (pk, ck, a, b) VALUES ({pk}, {ck}, {w}, 't{w}') {using}")),
            (2, lambda: self._write("update_ttl", "ttl", w, f"UPDATE {table} {using} SET a = {w} WHERE {row}")),
            (1, lambda: self._write("update", "ttl", w, f"UPDATE {table} SET a = {w} WHERE {row}")),
            (1, lambda: self._write("insert_lasting", "ttl", w, f"INSERT INTO {table} (pk, ck, b) VALUES ({pk}, {ck}, 'n{w}')")),
            (1, lambda: self._delete("delete_row", "ttl", row)),
            (1, lambda: self._delete("delete_range", "ttl", f"pk = {pk} AND ck > 15")),
        )  # fmt: skip

    def _typed(self) -> Statement:
        w, number, table = self._take(), self._below(300), f"{KEYSPACE}.typed"
        start = f"p1 = 'pé{number % 9}' AND p2 = {UUID(int=number % 17)}"
        at = 1_577_836_800_000 + number * 1_234_567
        row = f"{start} AND c1 = {at} AND c2 = {number / 8}"
        scalars = {
            "w": w, "fl": "NaN" if w % 11 == 0 else repr(w / 3), "do": "Infinity" if w % 13 == 0 else repr(w / 7),
            "de": f"{w}.{w % 100:02}", "vi": w**5, "bl": f"0x{w % 256:02x}" * (w % 3 > 0) or "0x",
            "bo": str(w % 2 == 0), "du": f"{w % 40}d{w % 59 + 1}m", "da": f"'20{w % 90 + 10}-03-0{w % 9 + 1}'",
            "ti": f"'0{w % 9}:02:03.{w % 1000:03}'", "ts": at + w, "ip": f"'10.0.{w % 256}.7'", "sm": w % 30000,
            "tn": w % 256 - 128, "tu": UUID(int=w, version=1), "ac": f"'ac{w}'",
        }  # fmt: skip
        changes = ", ".join(f"{name} = {value}" for name, value in scalars.items())
        names, values = ", ".join(scalars), ", ".join(map(str, scalars.values()))
        key = f"'pé{number % 9}', {UUID(int=number % 17)}, {at}, {number / 8}"
        insert = f"INSERT INTO {table} (p1, p2, c1, c2, {names}) VALUES ({key}, {values})"
        return self._one_of(
            (5, lambda: self._write("insert", "typed", w, insert)),
            (2, lambda: self._write("update", "typed", w, f"UPDATE {table} SET {changes} WHERE {row}")),
            (2, lambda: self._delete("delete_row", "typed", row)),
            (1, lambda: self._delete("delete_range", "typed", f"{start} AND c1 < {at}")),
        )

    def _nested(self) -> Statement:
        w, number, table = self._take(), self._below(40), f"{KEYSPACE}.nested"
        row = f"pk = {{{number % 5}, {number % 7 + 10}}} AND ck = ({number % 4}, 't{number % 3}')"
        address = f"{{street: 's{w}', zip: {w}, tags: {{'a'}}}}"
        return self._one_of(
            (5, lambda: self._write("update", "nested", w, f"UPDATE {table} SET w = {w}, t = ({number}, null), v = [{w}, 0.5, -0.0] WHERE {row}")),
            (3, lambda: self._write("append", "nested", w, f"UPDATE {table} SET a = a + [{address}] WHERE {row}")),
            (3, lambda: self._write("replace", "nested", w, f"UPDATE {table} SET w = {w}, a = [{address}], n = {{'k': {{1, {number}}}}} WHERE {row}")),
            (2, lambda: self._delete("delete_row", "nested", row)),
        )  # fmt: skip

    def _keys(self) -> Statement:
        """Rows that expire are in partitions of their own, and not before the snapshots are over: the TTL of a row that
        has no value is not known to a snapshot (docs/snapshot.md, "What SELECT cannot tell")."""
        expiring = (
            f"INSERT INTO {KEYSPACE}.keys (pk, ck) VALUES ({100 + self._below(50)}, 'e') USING TTL {self._seconds()}"
        )
        if self._schema.snapshots_over and self._random.random() < 0.2:
            return Statement("keys.insert_ttl", expiring, "keys")
        pk, ck, table = self._below(50), f"c{self._below(40)}", f"{KEYSPACE}.keys"
        row = f"pk = {pk} AND ck = '{ck}'"
        insert = f"INSERT INTO {table} (pk, ck) VALUES ({pk}, '{ck}')"
        return self._one_of(
            (5, lambda: Statement("keys.insert", insert, "keys")),
            (2, lambda: self._delete("delete_row", "keys", row)),
            (1, lambda: self._delete("delete_range", "keys", f"pk = {pk} AND ck >= 'c1' AND ck < 'c2'")),
        )

    def _statics(self) -> Statement:
        w, pk, ck, table = self._take(), self._below(120), self._below(5), f"{KEYSPACE}.statics"
        return self._one_of(
            (3, lambda: self._write("static", "statics", w, f"UPDATE {table} SET s = {w}, ss = ss + {{{w % 7}}} WHERE pk = {pk}")),
            (2, lambda: self._write("insert", "statics", w, f"INSERT INTO {table} (pk, ck, v, s) VALUES ({pk}, {ck}, {w}, {w})")),
            (1, lambda: self._delete("delete_static", "statics", f"pk = {pk}", "s")),
            (2, lambda: self._delete("delete_row", "statics", f"pk = {pk} AND ck = {ck}")),
            (1, lambda: self._write("static_ttl", "statics", w, f"UPDATE {table} USING TTL {self._seconds()} SET s = {w} WHERE pk = {pk}")),
            (1, lambda: self._delete("delete_partition", "statics", f"pk = {pk}")),
            (1, lambda: self._write("static_set", "statics", w, f"UPDATE {table} SET ss = {{{w}}} WHERE pk = {pk}")),
        )  # fmt: skip

    def _big(self) -> Statement:
        w, table = self._take(), f"{KEYSPACE}.big"
        text = f"{w}-" + chr(97 + w % 26) * self._random.randrange(60_000, 110_000)
        entries = ", ".join(f"{self._below(3000)}: {w}" for _ in range(100))
        low = self._below(1000)
        return self._one_of(
            (4, lambda: self._write("value", "big", w, f"INSERT INTO {table} (pk, ck, v) VALUES (2, {self._below(8)}, '{text}')")),
            (2, lambda: self._write("map", "big", w, f"UPDATE {table} SET m = m + {{{entries}}} WHERE pk = 3 AND ck = 0")),
            (3, lambda: self._write("many", "big", w, f"UPDATE {table} SET v = 'u{w}' WHERE pk = 1 AND ck = {low}")),
            (1, lambda: self._delete("delete_range", "big", f"pk = 1 AND ck >= {low} AND ck < {low + 150}")),
        )  # fmt: skip

    def _batch(self) -> Statement:
        """Over four tables; each write has a ticket of its own."""
        one, two, three = self._take(), self._take(), self._take()
        pk, ck = self._below(80), self._below(20)
        cql = (
            f"BEGIN BATCH INSERT INTO {KEYSPACE}.batched (pk, ck, v) VALUES ({pk}, {ck}, {one}); "
            f"UPDATE {KEYSPACE}.seq SET w = {two}, v = '{two}' WHERE pk = {self._below(300)}; "
            f"INSERT INTO {KEYSPACE}.ordered (a, b, c, v) VALUES ({pk % 9}, 'b', {ck}, {three}); "
            f"DELETE FROM {KEYSPACE}.ttl WHERE pk = {self._below(35)} AND ck = 3; APPLY BATCH"
        )
        return Statement("batched.batch", cql, "batched", ((one, "batched"), (two, "seq"), (three, "ordered")))

    def _ordered(self) -> Statement:
        w, table = self._take(), f"{KEYSPACE}.ordered"
        a, b, c = self._below(9), self._random.choice("abc"), self._below(30)
        return self._one_of(
            (4, lambda: self._write("insert", "ordered", w, f"INSERT INTO {table} (a, b, c, v) VALUES ({a}, '{b}', {c}, {w})")),
            (1, lambda: self._delete("delete_range", "ordered", f"a = {a} AND b = '{b}' AND c > {c} AND c <= {c + 4}")),
        )  # fmt: skip

    # --- tables that schema changes are made to ---

    def _altered(self) -> Statement:
        """Of a column that exists as far as is known: a request may meet a schema that has changed meanwhile."""
        w, pk, table = self._take(), self._below(300), f"{KEYSPACE}.altered"
        with self._schema.lock:
            column = self._random.choice(sorted(self._schema.altered_columns))
        if self._random.random() < 0.4:
            return self._write("insert", "altered", w, f"INSERT INTO {table} (pk, {column}) VALUES ({pk}, {w})")
        return self._write("update", "altered", w, f"UPDATE {table} SET {column} = {w} WHERE pk = {pk}")

    def _shelf(self) -> Statement:
        w, pk, ck, table = self._take(), self._below(60), self._below(6), f"{KEYSPACE}.shelf"
        with self._schema.lock:
            static = self._schema.shelf_static
        if static and self._random.random() < 0.4:
            return self._write("static", "shelf", w, f"UPDATE {table} SET s = {w} WHERE pk = {pk}")
        return self._one_of(
            (4, lambda: self._write("insert", "shelf", w, f"INSERT INTO {table} (pk, ck, v) VALUES ({pk}, {ck}, {w})")),
            (1, lambda: self._delete("delete_row", "shelf", f"pk = {pk} AND ck = {ck}")),
            (1, lambda: self._delete("delete_partition", "shelf", f"pk = {pk}")),
        )

    def _again(self) -> Statement:
        w, pk = self._take(), self._below(300)
        return self._write("insert", "again", w, f"INSERT INTO {KEYSPACE}.again (pk, v) VALUES ({pk}, {w})")

    def _anew(self) -> Statement:
        return self._plain("anew")

    def _cleared(self) -> Statement:
        return self._plain("cleared")

    def _made(self) -> Statement:
        with self._schema.lock:
            numbers = list(self._schema.made)
        return self._plain(f"made_{self._random.choice(numbers)}" if numbers else "cleared")

    def _plain(self, table: str) -> Statement:
        w, pk, ck = self._take(), self._below(40), self._below(25)
        row = f"pk = {pk} AND ck = {ck}"
        insert = f"INSERT INTO {KEYSPACE}.{table} (pk, ck, v) VALUES ({pk}, {ck}, {w})"
        update = f"UPDATE {KEYSPACE}.{table} SET v = {w} WHERE {row}"
        return self._one_of(
            (5, lambda: self._write("insert", table, w, insert)),
            (3, lambda: self._write("update", table, w, update)),
            (1, lambda: self._delete("delete_row", table, row)),
        )
