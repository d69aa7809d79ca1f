"""Definitions made ready for decoding: flat tables for the scan, types and name texts for the rows. Knows no bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from tailer.errors import DefinitionError
from tailer.rows.table_masks import NO_MASKING, Masking, TableMasks, as_hidden, table_masks
from tailer.scan.tables import LENGTH_PREFIX, NO_COLUMN, ScanColumn, ScanTable, ScanTables
from tailer.schema.column_type import column_type
from tailer.schema.model import Column, TableDefinition
from tailer.types import CqlType, quote
from tailer.types.collections import with_strict_keys
from tailer.types.jsontext import ToJson

SYSTEM_LOCAL: Final = UUID("7ad54392-bcdd-35a6-8417-4e047860b377").hex
TRUNCATED_AT: Final = "truncated_at"

SHARED_MAX: Final = 2048
"""Tables that are kept to be shared: more than a log has, and some megabytes."""


@dataclass(frozen=True, slots=True)
class PreparedColumn:
    """A column: `label` is its JSON object key with the colon, `json` the text of a value's bytes.

    `multi`: a non-frozen collection or UDT, whose cells have paths.
    """

    name: str
    label: str
    type: CqlType
    json: ToJson
    multi: bool


@dataclass(frozen=True, slots=True)
class PreparedTable:
    """A table: `columns` by the numbers that the index has. Change rows are made of `delivered` tables only.

    With `masks` its columns are what rows are made of when values were hidden (`hidden.py`); `scan` is what is read.
    """

    definition: TableDefinition
    table_id: str
    key: tuple[PreparedColumn, ...]
    clustering: tuple[PreparedColumn, ...]
    columns: tuple[PreparedColumn, ...]
    delivered: bool
    followed: bool
    scan: ScanTable
    masks: TableMasks | None = None

    @property
    def truncations(self) -> int:
        """The number of `system.local.truncated_at`, NO_COLUMN in any other table."""
        return self.scan.truncations


@dataclass(frozen=True, slots=True)
class Prepared:
    """All definitions of one scan, by table number; `delivered` by table id (32 hex digits).

    `masked`: the numbers of tables that have masks.
    """

    scan_tables: ScanTables
    tables: tuple[PreparedTable, ...]
    delivered: Mapping[str, PreparedTable]
    masked: tuple[int, ...] = ()


_shared: Final[dict[tuple[str, bool, bool, Masking, bool], PreparedTable]] = {}
"""The latest of each key, with whether it is delivered and followed, what is masked, and whether keys are strict."""


def prepare(
    definitions: Mapping[str, TableDefinition],
    wanted: Collection[str],
    *,
    followed: Collection[str] = (),
    unread: Collection[str] = (),
    skip_unknown: bool = False,
    reaches: Callable[[str], bool] = lambda keyspace: True,
    masking: Masking = NO_MASKING,
    strict_keys: bool = False,
) -> Prepared:
    """The definitions (by id) ready for `scan` and `build`. All ids are 32 hex digits; those of a native log's tables
    are followed by the 16 of the fingerprint, wherever they are keys.

    `wanted` tables give change rows. Those of `followed` ones are in the index too, for `neutral_rows`; `system.local`
    always is, for truncations. `unread` and `skip_unknown`: see ScanTables; `reaches`: whether a table of a keyspace
    may be wanted, known or not. Tables of equal definitions are shared. Raises DefinitionError for a type that does not
    parse; of a table that is neither wanted nor followed an entry is only passed over then. UsageError for a mask of
    `masking` that a column of a wanted table cannot have. `strict_keys`: of wanted tables an entry is a fault that has
    a key whose text is no UTF-8.
    """
    tables: list[PreparedTable] = []
    passed, unusable = set(unread), set()
    for table_id, definition in definitions.items():
        delivered, follow = table_id in wanted, table_id in followed
        if not (delivered or follow or definition.id == SYSTEM_LOCAL or reaches(definition.keyspace)):
            passed.add(table_id)
            continue
        try:
            of_table = masking if masking.masks and delivered else NO_MASKING
            tables.append(_shared_table(table_id, definition, delivered, follow, of_table, strict_keys))
        except DefinitionError:
            if delivered or follow:
                raise
            unusable.add(table_id)
    left_out = frozenset(map(bytes.fromhex, passed)), frozenset(map(bytes.fromhex, unusable))
    scan_tables = ScanTables(tuple(table.scan for table in tables), *left_out, skip_unknown)
    masked = tuple(number for number, table in enumerate(tables) if table.masks is not None) if masking.masks else ()
    delivered_ones = {table.scan.id.hex(): table for table in tables if table.delivered}
    return Prepared(scan_tables, tuple(tables), delivered_ones, masked)


def _shared_table(
    table_id: str, definition: TableDefinition, delivered: bool, followed: bool, masking: Masking, strict_keys: bool
) -> PreparedTable:
    key = table_id, delivered, followed, masking, strict_keys
    held = _shared.get(key)
    if held is None or not (held.definition is definition or held.definition == definition):
        held = _prepare_table(table_id, definition, delivered, followed, masking)
        if strict_keys and delivered:
            held = _with_strict_keys(held)
        if len(_shared) >= SHARED_MAX:
            _shared.clear()
        _shared[key] = held
    return held


def _prepare_table(
    table_id: str, definition: TableDefinition, delivered: bool, followed: bool, masking: Masking
) -> PreparedTable:
    clustering = _prepare_columns(definition, definition.clustering)
    data = definition.data_columns
    columns = _prepare_columns(definition, data)
    # A dropped column that was added again stands for itself: the new one's type is the one in force.
    order = sorted(range(len(columns)), key=lambda number: not data[number].dropped)
    by_name = {data[n].name_bytes: _scan_column(n, columns[n]) for n in order}
    is_local = definition.id == SYSTEM_LOCAL
    truncations = by_name.get(TRUNCATED_AT.encode()) if is_local else None
    scan = ScanTable(
        bytes.fromhex(table_id),
        tuple(_length(column.type) for column in clustering),
        by_name,
        delivered or followed or is_local,
        NO_COLUMN if truncations is None else truncations.number,
        len(definition.partition_key),
        sum(column.kind == "static" for column in data),
    )
    key = _prepare_columns(definition, definition.partition_key)
    made = PreparedTable(definition, str(UUID(definition.id)), key, clustering, columns, delivered, followed, scan)
    masks = table_masks(definition, masking)
    return made if masks is None else _masked(made, masks, masking)


def _with_strict_keys(table: PreparedTable) -> PreparedTable:
    def strict(columns: tuple[PreparedColumn, ...]) -> tuple[PreparedColumn, ...]:
        types = [with_strict_keys(column.type) for column in columns]
        return tuple(replace(column, type=type_, json=type_.json) for column, type_ in zip(columns, types, strict=True))

    return replace(table, key=strict(table.key), clustering=strict(table.clustering), columns=strict(table.columns))


def _masked(table: PreparedTable, masks: TableMasks, masking: Masking) -> PreparedTable:
    definition = table.definition

    def shown(columns: tuple[Column, ...]) -> tuple[PreparedColumn, ...]:
        return _prepare_columns(definition, tuple(as_hidden(definition, column, masking) for column in columns))

    key, clustering = shown(definition.partition_key), shown(definition.clustering)
    return replace(table, key=key, clustering=clustering, columns=shown(definition.data_columns), masks=masks)


def _prepare_columns(definition: TableDefinition, columns: tuple[Column, ...]) -> tuple[PreparedColumn, ...]:
    return tuple(_prepare_column(column, column_type(column, definition.types)) for column in columns)


def _prepare_column(column: Column, type_: CqlType) -> PreparedColumn:
    return PreparedColumn(column.name, quote(column.name) + ":", type_, type_.json, type_.complex)


def _scan_column(number: int, column: PreparedColumn) -> ScanColumn:
    # The cells of a non-frozen column carry lengths whatever its elements are (format page 5.6).
    return ScanColumn(number, LENGTH_PREFIX if column.multi else _length(column.type), column.multi)


def _length(type_: CqlType) -> int:
    return LENGTH_PREFIX if type_.fixed is None else type_.fixed
