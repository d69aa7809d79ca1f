"""The migrations that a step of a history may consist of. Each changes the model and gives the statements for it.

A migration gives no statement where the schema has nothing to apply it to. Knows no server and writes no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from uuid import UUID

from tests.server.migrations.model import (
    CLUSTERING_TYPES,
    FIELD_TYPES,
    PARTITION_KEY_TYPES,
    Column,
    Keyspace,
    Schema,
    Table,
    UserType,
    has_user_types,
)

MOST_TABLES = 7
KEYSPACES = ("m0", "m1")
COMPATIBLE = {
    "text": "blob", "ascii": "text", "timestamp": "bigint", "bigint": "timestamp", "varint": "blob", "decimal": "blob",
    "boolean": "boolean",
}  # fmt: skip
"""Types that the server lets a dropped column have when it is added again."""


class Migrations:
    def __init__(self, schema: Schema, rng: Random) -> None:
        self._schema, self._rng = schema, rng
        self._numbers: dict[str, int] = {}
        self.touched: list[Table] = []
        """The tables that the last migrations changed, for the writes behind them."""

    def every(self) -> Sequence[tuple[int, Callable[[], list[str]]]]:
        """All kinds, with their weights."""
        return (
            (10, self.create_table),
            (4, self.drop_table),
            (5, self.create_again_same_key),
            (4, self.create_again_other_key),
            (4, self.create_again_same_id),
            (12, self.add_column),
            (8, self.drop_column),
            (7, self.add_column_again),
            (5, self.add_column_again_other_type),
            (6, self.rename_key),
            (4, self.create_type),
            (6, self.add_field),
            (5, self.rename_field),
            (2, self.drop_type),
            (4, self.first_static),
            (4, self.last_static),
            (5, self.toggle_cdc),
            (2, self.create_view),
            (2, self.drop_view),
            (2, self.create_index),
            (2, self.drop_index),
            (2, self.keyspace_again),
            (2, self.truncate),
            (3, self.alter_property),
            (8, self.between_dropped_tables),
        )

    # --- tables ---

    def create_table(self, keyspace: str | None = None, *, cdc: bool | None = None) -> list[str]:
        rng = self._rng
        if len(self._schema.tables()) >= MOST_TABLES:
            return []
        found = keyspace or rng.choice(sorted(self._schema.keyspaces))
        name = self._free("t", self._schema.keyspaces[found].tables)
        captured = rng.random() < 0.85 if cdc is None else cdc
        return [self._make(self._definition(found, name, captured))]

    def drop_table(self) -> list[str]:
        if len(self._schema.tables()) <= 3:
            return []
        table = self._any()
        return self._drop(table)

    def create_again_same_key(self) -> list[str]:
        """DROP and CREATE under the same name with a new id and the same primary key."""
        table = self._any()
        made = self._definition(table.keyspace, table.name, table.cdc, counter=table.counter)
        made.columns = table.of("partition", "clustering") + made.of("static", "regular")
        if not table.of("clustering"):
            made.columns = [column for column in made.columns if column.kind != "static"]
        return [*self._drop(table), self._make(made)]

    def create_again_other_key(self) -> list[str]:
        table = self._any()
        made = self._definition(table.keyspace, table.name, table.cdc)
        if self._rng.random() < 0.3:
            made.id = table.id
        return [*self._drop(table), self._make(made)]

    def create_again_same_id(self) -> list[str]:
        """As a dropped table is restored from the `schema.cql` of its snapshot."""
        found = [table for table in self._schema.tables() if table.id]
        if not found:
            return []
        table = self._rng.choice(found)
        made = Table(table.keyspace, table.name, list(table.columns), table.id, table.cdc, table.counter)
        if self._rng.random() < 0.3:
            # A snapshot that is older: it lacks a column of now.
            made.columns = [column for column in made.columns if column not in made.of("regular")[1:2]]
        return [*self._drop(table), self._make(made)]

    def truncate(self) -> list[str]:
        table = self._any()
        return [f"TRUNCATE {table.full_name}"] if not table.views else []

    def alter_property(self) -> list[str]:
        seconds = self._rng.choice((864000, 86400))
        return [f"ALTER TABLE {self._any().full_name} WITH comment = 'c{self._rng.randrange(9)}' "
                f"AND gc_grace_seconds = {seconds}"]  # fmt: skip

    def toggle_cdc(self) -> list[str]:
        table = self._any()
        table.cdc = not table.cdc
        return [f"ALTER TABLE {table.full_name} WITH cdc = {str(table.cdc).lower()}"]

    def between_dropped_tables(self) -> list[str]:
        """A captured table that is created in a segment of its own without a captured change, which vanishes unread."""
        keyspace = self._rng.choice(sorted(self._schema.keyspaces))
        tables = self._schema.keyspaces[keyspace].tables
        if len(self._schema.tables()) >= MOST_TABLES:
            return []
        first, second = (Table(keyspace, self._free(f"x{n}", {}), [Column("id", "int", "partition")], None, False)
                         for n in "ab")  # fmt: skip
        made = self._definition(keyspace, self._free("t", tables), cdc=True)
        return [first.create(), second.create(), f"DROP TABLE {first.full_name}", self._make(made),
                f"DROP TABLE {second.full_name}"]  # fmt: skip

    # --- columns ---

    def add_column(self) -> list[str]:
        table = self._any()
        kind = "static" if table.of("clustering") and self._rng.random() < 0.2 else "regular"
        name = self._free("c", {column.name: column for column in table.columns} | table.dropped)
        type_ = "counter" if table.counter else self._schema.column_type(table.keyspace, self._rng)
        return self._add(table, Column(name, type_, kind))

    def drop_column(self) -> list[str]:
        table = self._any()
        found = [column for column in table.of("regular", "static") if not _is_user_type(column)]
        if len(found) < 2:
            return []
        return self._drop_columns(table, [self._rng.choice(found)])

    def add_column_again(self) -> list[str]:
        found = [
            (table, column)
            for table in self._schema.tables()
            for column in table.dropped.values()
            if not has_user_types(column.type)
        ]
        if not found:
            return self._drop_and_add(None)
        table, column = self._rng.choice(found)
        return self._add(table, column)

    def add_column_again_other_type(self) -> list[str]:
        found = [
            (table, column)
            for table in self._schema.tables()
            for column in table.dropped.values()
            if column.type in COMPATIBLE
        ]
        if not found:
            return self._drop_and_add(COMPATIBLE)
        table, column = self._rng.choice(found)
        return self._add(table, Column(column.name, COMPATIBLE[column.type], column.kind))

    def first_static(self) -> list[str]:
        found = [table for table in self._schema.tables() if table.of("clustering") and not table.of("static")]
        found = [table for table in found if not table.counter]
        if not found:
            return []
        table = self._rng.choice(found)
        name = self._free("s", {column.name: column for column in table.columns} | table.dropped)
        return self._add(table, Column(name, self._rng.choice(("int", "text", "set<text>")), "static"))

    def last_static(self) -> list[str]:
        """All static columns of one table are dropped."""
        found = [table for table in self._schema.tables() if table.of("static") and not table.counter]
        if not found:
            return self.first_static()
        table = self._rng.choice(found)
        return self._drop_columns(table, table.of("static"))

    def rename_key(self) -> list[str]:
        table = self._any()
        column = self._rng.choice(table.of("partition", "clustering"))
        name = self._free("k", {each.name: each for each in table.columns})
        text = f"ALTER TABLE {table.full_name} RENAME {column.name} TO {name}"
        table.columns = [Column(name, each.type, each.kind) if each is column else each for each in table.columns]
        return [text]

    # --- types ---

    def create_type(self) -> list[str]:
        keyspace = self._keyspace()
        if len(keyspace.types) >= 3:
            return []
        name = self._free("u", keyspace.types)
        fields = [(f"f{n}", self._rng.choice(FIELD_TYPES)) for n in range(self._rng.randint(1, 3))]
        keyspace.types[name] = UserType(keyspace.name, name, fields)
        made = ", ".join(f"{field} {of}" for field, of in fields)
        return [f"CREATE TYPE {keyspace.name}.{name} ({made})"]

    def add_field(self) -> list[str]:
        type_ = self._type()
        if type_ is None:
            return self.create_type()
        field = self._free("f", dict(type_.fields))
        type_.fields.append((field, self._rng.choice(FIELD_TYPES)))
        return [f"ALTER TYPE {type_.keyspace}.{type_.name} ADD {field} {type_.fields[-1][1]}"]

    def rename_field(self) -> list[str]:
        type_ = self._type()
        if type_ is None:
            return self.create_type()
        at = self._rng.randrange(len(type_.fields))
        old, of = type_.fields[at]
        new = self._free("g", dict(type_.fields))
        type_.fields[at] = (new, of)
        return [f"ALTER TYPE {type_.keyspace}.{type_.name} RENAME {old} TO {new}"]

    def drop_type(self) -> list[str]:
        keyspace = self._keyspace()
        unused = [type_ for type_ in keyspace.types.values() if not keyspace.uses(type_)]
        if not unused:
            return []
        type_ = self._rng.choice(unused)
        del keyspace.types[type_.name]
        return [f"DROP TYPE {keyspace.name}.{type_.name}"]

    # --- views, indexes, keyspaces ---

    def create_view(self) -> list[str]:
        found = [
            table for table in self._schema.tables()
            if table.of("clustering") and not (table.views or table.counter or table.of("static"))
        ]  # fmt: skip
        if not found:
            return []
        table = self._rng.choice(found)
        view = self._free("v", {})
        table.views.append(view)
        partition, clustering = table.of("partition"), table.of("clustering")
        key = ", ".join(column.name for column in [clustering[0], *partition, *clustering[1:]])
        known = " AND ".join(f"{column.name} IS NOT NULL" for column in [*partition, *clustering])
        return [f"CREATE MATERIALIZED VIEW {table.keyspace}.{view} AS SELECT {key} FROM {table.full_name} "
                f"WHERE {known} PRIMARY KEY ({key})"]  # fmt: skip

    def drop_view(self) -> list[str]:
        found = [table for table in self._schema.tables() if table.views]
        if not found:
            return []
        return _without_views(self._rng.choice(found))

    def create_index(self) -> list[str]:
        found = [
            (table, column) for table in self._schema.tables() if not table.counter
            for column in table.of("regular") if column.type in ("int", "text")
        ]  # fmt: skip
        if not found:
            return []
        table, column = self._rng.choice(found)
        name = self._free("i", {})
        table.indexes[name] = column.name
        return [f"CREATE INDEX {name} ON {table.full_name} ({column.name})"]

    def drop_index(self) -> list[str]:
        found = [(table, name) for table in self._schema.tables() for name in table.indexes]
        if not found:
            return []
        table, name = self._rng.choice(found)
        del table.indexes[name]
        return [f"DROP INDEX {table.keyspace}.{name}"]

    def keyspace_again(self) -> list[str]:
        """DROP KEYSPACE, and CREATE with some of its types and tables."""
        old = self._keyspace()
        del self._schema.keyspaces[old.name]
        texts = [f"DROP KEYSPACE {old.name}", self._schema.create_keyspace(old.name)]
        texts += self.create_type()
        for table in list(old.tables.values())[:3]:
            made = self._definition(old.name, table.name, table.cdc)
            if self._rng.random() < 0.4:
                made.id = table.id
            texts.append(self._make(made))
        return texts

    # --- parts ---

    def _definition(self, keyspace: str, name: str, cdc: bool, *, counter: bool | None = None) -> Table:
        rng = self._rng
        counts = rng.random() < 0.12 if counter is None else counter
        columns = [Column("id", rng.choice(PARTITION_KEY_TYPES), "partition")]
        if rng.random() < 0.3:
            columns.append(Column("id2", rng.choice(("int", "text")), "partition"))
        for at in range(rng.choice((0, 1, 1, 1, 2))):
            columns.append(Column(f"ck{at}", rng.choice(CLUSTERING_TYPES), "clustering"))
        clustered = columns[-1].kind == "clustering"
        for at in range(rng.randint(1, 4)):
            type_ = "counter" if counts else self._schema.column_type(keyspace, rng)
            columns.append(Column(f"c{at}", type_, "regular"))
        if clustered and not counts and rng.random() < 0.4:
            columns.append(Column("s", rng.choice(("int", "text", "list<int>")), "static"))
        id_ = str(UUID(int=rng.getrandbits(128), version=4)) if rng.random() < 0.6 else None
        return Table(keyspace, name, columns, id_, cdc, counts)

    def _make(self, table: Table) -> str:
        self._schema.keyspaces[table.keyspace].tables[table.name] = table
        self.touched.append(table)
        return table.create()

    def _drop(self, table: Table) -> list[str]:
        texts = _without_views(table)
        del self._schema.keyspaces[table.keyspace].tables[table.name]
        return [*texts, f"DROP TABLE {table.full_name}"]

    def _add(self, table: Table, column: Column) -> list[str]:
        table.dropped.pop(column.name, None)
        table.columns.append(column)
        static = " static" if column.kind == "static" else ""
        return [f"ALTER TABLE {table.full_name} ADD {column.name} {column.type}{static}"]

    def _drop_columns(self, table: Table, columns: Sequence[Column]) -> list[str]:
        texts = _without_views(table)
        for column in list(columns):
            for name in [name for name, of in table.indexes.items() if of == column.name]:
                del table.indexes[name]
                texts.append(f"DROP INDEX {table.keyspace}.{name}")
            table.columns.remove(column)
            table.dropped[column.name] = column
            at = " USING TIMESTAMP @+0@" if self._rng.random() < 0.2 else ""
            texts.append(f"ALTER TABLE {table.full_name} DROP {column.name}{at}")
        return texts

    def _drop_and_add(self, types: dict[str, str] | None) -> list[str]:
        """A column dropped and added again at once, with the type that `types` has for it."""
        found = [
            (table, column)
            for table in self._schema.tables()
            if not table.counter
            for column in table.of("regular", "static")
            if not has_user_types(column.type) and (types is None or column.type in types)
        ]
        if not found:
            return []
        table, column = self._rng.choice(found)
        again = Column(column.name, types[column.type] if types else column.type, column.kind)
        return [*self._drop_columns(table, [column]), *self._add(table, again)]

    def _any(self) -> Table:
        table = self._rng.choice(self._schema.tables())
        self.touched.append(table)
        return table

    def _keyspace(self) -> Keyspace:
        return self._schema.keyspaces[self._rng.choice(sorted(self._schema.keyspaces))]

    def _type(self) -> UserType | None:
        found = [type_ for keyspace in self._schema.keyspaces.values() for type_ in keyspace.types.values()]
        return self._rng.choice(found) if found else None

    def _free(self, letter: str, taken: object) -> str:
        """A name that nothing had before; seldom one that is free again."""
        number = self._numbers.get(letter, 0)
        self._numbers[letter] = number + 1
        name = f"{letter}{number}"
        return name if name not in taken else self._free(letter, taken)  # type: ignore[operator]


def _without_views(table: Table) -> list[str]:
    views, table.views = table.views, []
    return [f"DROP MATERIALIZED VIEW {table.keyspace}.{view}" for view in views]


def _is_user_type(column: Column) -> bool:
    """Such a column cannot be dropped while it is not frozen."""
    return column.type[0] == "u" and column.type[1:].isdigit()
