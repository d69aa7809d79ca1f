"""The table that is rebuilt: its newest definition, and the names that its types' fields had before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache

import msgspec

from tailer.errors import DefinitionError
from tailer.rebuild.by_name import in_order
from tailer.schema.column_type import column_type
from tailer.schema.model import Column, TableDefinition
from tailer.schema.record_definitions import with_earlier
from tailer.typed_decode import decode_msgpack
from tailer.types import CqlType, Shape, parse_type
from tailer.types.cql import FromJson, Order
from tailer.types.encode import encoder, key_encoder, timeuuid_bytes
from tailer.types.kinds import ELEMENT_ID
from tailer.types.order import Component, component, order_bytes


class Table(msgspec.Struct, frozen=True):
    """A definition, complete for rebuilding. `fields`: of each user-defined type every name that a field ever had.

    Changes made before a field was renamed have its old name; by its newest definition alone nobody can tell which.
    `types`: of each column that was dropped and added again with another type the types that it had before. What the
    DROP did not cover keeps its bytes, and its change row spells it in the type of its time.
    `native`: a native log's, whose columns and fields are their names: one that was removed is kept, as a dropped one.
    `ended`: by node the place in its log where the table was dropped that had the same id before. `born`: when this one
    was created (µs), where there was an earlier one. See `is_former`. `former`: ids of earlier tables of the name.
    `keys`: the names that the columns of the key had before, as `key_names`; `renamed`: by node a place in its log
    where it has shown those that they have.
    """

    definition: TableDefinition
    fields: Mapping[str, Mapping[str, int]] = {}
    native: bool = False
    ended: Mapping[str, tuple[int, int]] = {}
    born: int | None = None
    former: tuple[str, ...] = ()
    types: Mapping[str, tuple[str, ...]] = {}
    keys: tuple[tuple[str, ...], ...] = ()
    renamed: Mapping[str, tuple[int, int]] = {}

    @classmethod
    def of(cls, newest: TableDefinition, earlier: Iterable[TableDefinition] = (), *, native: bool = False) -> Table:
        """The table by its newest definition and those it had before, oldest first."""
        if native:
            return cls(with_earlier(newest, earlier), native=True)
        fields: dict[str, dict[str, int]] = {}
        had: set[tuple[str, str]] = set()
        keys: set[tuple[str, ...]] = set()
        for definition in (*earlier, newest):
            keys.add(_key_names(definition))
            for name, members in definition.types.items():
                fields.setdefault(name, {}).update({field.name: at for at, field in enumerate(members)})
            had |= {(column.name, column.type) for column in definition.data_columns}
        return cls(newest, fields, types=_other_types(newest, had), keys=_other_keys(newest, keys))

    def succeeded_by(self, newer: Table) -> Table:
        """The same table by a newer definition, with every name that either one knows."""
        if self.native:
            return Table.of(newer.definition, [self.definition], native=True)
        known, told = self.fields, newer.fields
        names = sorted({*known, *told})
        fields = {name: {**known.get(name, {}), **told.get(name, {})} for name in names}
        born = max((time for time in (self.born, newer.born) if time is not None), default=None)
        former = tuple(sorted({*self.former, *newer.former}))
        ended = latest_places(self.ended, newer.ended)
        had = {(name, each) for table in (self, newer) for name, types in table.types.items() for each in types}
        had |= {(column.name, column.type) for column in self.definition.data_columns}
        types = _other_types(newer.definition, had)
        keys = _other_keys(newer.definition, {*self.keys, *newer.keys, self.key_names})
        same = self.key_names == newer.key_names
        renamed = latest_places(self.renamed, newer.renamed) if same else newer.renamed
        return Table(
            newer.definition, fields, ended=ended, born=born, former=former, types=types, keys=keys, renamed=renamed
        )

    def is_former(self, node: str, place: tuple[int, int], write_ts: int | None) -> bool:
        """Whether a change is of an earlier table with this id: what its node logged before the DROP; of a node whose
        log does not tell of it, what was written before the table was created again."""
        if node in self.ended:
            return place < self.ended[node]
        return bool(self.ended) and self.born is not None and write_ts is not None and write_ts <= self.born

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the columns of the partition key, then of the clustering columns."""
        return _key_names(self.definition)

    def has_later_names(self, other: Table) -> bool:
        """Whether the other table is the same one with the names that its key had before a RENAME.

        RENAME leaves nothing in a definition by which two could be ordered: the places where logs show it tell, or the
        names that one of them knows as earlier ones. False where nothing tells.
        """
        if self.key_names == other.key_names:
            return False
        shared = self.renamed.keys() & other.renamed.keys()
        later = any(self.renamed[node] > other.renamed[node] for node in shared)
        if later != any(self.renamed[node] < other.renamed[node] for node in shared):
            return later
        return other.key_names in self.keys and self.key_names not in other.keys


def _key_names(definition: TableDefinition) -> tuple[str, ...]:
    return tuple(column.name for column in (*definition.partition_key, *definition.clustering))


def _other_keys(newest: TableDefinition, had: Collection[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Of the names that a key had those that it no longer has. One of another length was of an earlier table."""
    now = _key_names(newest)
    return tuple(sorted(names for names in had if names != now and len(names) == len(now)))


def _other_types(newest: TableDefinition, had: Collection[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Of the columns of the newest definition the types that they had (`had`: with names) but no longer have."""
    now = {column.name: column.type for column in newest.data_columns}
    found: dict[str, tuple[str, ...]] = {}
    for name, type_ in sorted(had):
        if type_ != now.get(name, type_):
            found[name] = (*found.get(name, ()), type_)
    return found


def latest_places(
    known: Mapping[str, tuple[int, int]], told: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """By node the later one of two places in its log."""
    return {node: max(known.get(node, (0, 0)), told.get(node, (0, 0))) for node in sorted({*known, *told})}


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the primary key. `order` takes its values into clustering order."""

    name: str
    type: CqlType
    encode: FromJson
    order: Component


@dataclass(frozen=True, slots=True)
class DataColumn:
    """A static or regular column. `path`: of the JSON that names an element its bytes; `path_key`: those by order;
    `encode_fields`: the values of a non-frozen UDT's fields, by their numbers.

    What was written at or before `void` is void: the column was dropped then. `earlier`: the column as it was with
    other types.
    """

    name: str
    type: CqlType
    static: bool
    dropped: bool
    void: int | None
    encode: FromJson
    encode_element: FromJson
    path: FromJson
    path_key: Order
    encode_fields: tuple[FromJson, ...] = ()
    earlier: tuple[DataColumn, ...] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """A table made ready."""

    table: Table
    key: tuple[KeyColumn, ...]
    clustering: tuple[KeyColumn, ...]
    columns: Mapping[str, DataColumn]

    @cached_property
    def elements(self) -> Mapping[str, Order]:
        """Of the columns that have a cell for each element the order of what names one."""
        return {name: column.path_key for name, column in self.columns.items() if column.type.complex}

    @cached_property
    def counters(self) -> frozenset[str]:
        """The names of counters."""
        return frozenset(name for name, column in self.columns.items() if column.type.shape is Shape.COUNTER)

    @cached_property
    def guessed(self) -> frozenset[str]:
        """The names of columns of which a server shows values alone, and not what they are made of."""
        shapes = (Shape.LIST, Shape.COUNTER)
        return frozenset(name for name, column in self.columns.items() if column.type.shape in shapes)

    @cached_property
    def voids(self) -> Mapping[str, int]:
        """Of columns that were ever dropped until when what they had is void."""
        return {name: column.void for name, column in self.columns.items() if column.void is not None}

    @property
    def shown(self) -> tuple[DataColumn, ...]:
        """The columns that a row has today, static ones first."""
        live = [column for column in self.columns.values() if not column.dropped]
        return tuple(sorted(live, key=lambda column: not column.static))


def plan_of(table: Table) -> Plan:
    """The table made ready; the same one for the same table."""
    return _plan(msgspec.msgpack.encode(table))


@lru_cache(maxsize=16)
def _plan(encoded: bytes) -> Plan:
    table = decode_msgpack(encoded, Table)
    definition = table.definition
    return Plan(
        table,
        tuple(_key_column(column, definition) for column in definition.partition_key),
        tuple(_key_column(column, definition) for column in definition.clustering),
        {column.name: _data_column(column, table) for column in definition.data_columns},
    )


def _key_column(column: Column, definition: TableDefinition) -> KeyColumn:
    type_ = column_type(column, definition.types)
    order = component(type_, desc=column.desc)
    return KeyColumn(column.name, type_, encoder(type_), order)


def _data_column(column: Column, table: Table) -> DataColumn:
    return _of_type(column, column.type, table, tuple(_earlier(column, table)))


def _earlier(column: Column, table: Table) -> Iterator[DataColumn]:
    """The column as it was with other types. The server lets none with a user-defined type be added again."""
    for type_ in table.types.get(column.name, ()):
        with suppress(DefinitionError):
            yield _of_type(column, type_, table)


def _of_type(column: Column, cql: str, table: Table, earlier: tuple[DataColumn, ...] = ()) -> DataColumn:
    type_ = parse_type(cql, table.definition.types)
    encode = _no_value if type_.shape is Shape.COUNTER else _encoder(type_, table)
    element, path, path_key = _elements(type_, table) if type_.complex else (encode, encode, bytes)
    fields = tuple(_encoder(part, table) for part in type_.arguments) if type_.shape is Shape.UDT else ()
    return DataColumn(
        column.name,
        type_,
        column.kind == "static",
        column.dropped,
        column.dropped_time,
        encode,
        element,
        path,
        path_key,
        fields,
        earlier,
    )


def _encoder(type_: CqlType, table: Table) -> FromJson:
    encode = encoder(type_)
    if not table.native:
        return encode
    order = in_order(type_)
    return lambda value: encode(order(value))


def _no_value(value: object) -> bytes:
    raise ValueError(f"{value!r:.80} is no array of a counter's shards")


def _elements(type_: CqlType, table: Table) -> tuple[FromJson, FromJson, Order]:
    if type_.shape is Shape.LIST:
        return _encoder(type_.element, table), timeuuid_bytes, order_bytes(ELEMENT_ID)
    if type_.shape is Shape.SET:
        return lambda value: b"", _encoder(type_.element, table), order_bytes(type_.element)
    if type_.shape is Shape.MAP:
        return _encoder(type_.value, table), key_encoder(type_.key), order_bytes(type_.key)
    return _no_value, _field_path(type_, table), bytes


def _field_path(type_: CqlType, table: Table) -> FromJson:
    bare = type_.text[1:-1].replace('""', '"') if type_.text.startswith('"') else type_.text
    numbers = {name: at for at, name in enumerate(type_.names)}
    # A name of a field that the type does not have is of a type of an earlier incarnation of the table.
    earlier = {name: at for name, at in table.fields.get(bare, {}).items() if at < len(numbers)}
    known = {**earlier, **numbers}

    def path(name: str) -> bytes:
        if name not in known:
            raise ValueError(f"the type {type_.text} has, and had, no field {name!r:.80}")
        return known[name].to_bytes(2, "big")

    return path
