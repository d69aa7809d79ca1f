"""Tables laid out for the compiled merge: columns, what images begin with, and what the state knows. Knows no row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from tailer.image_state.compiled import work as w
from tailer.images.image import COLUMNS
from tailer.images.merged_tables import SECOND
from tailer.images.tables import KnownTable
from tailer.jit.addresses import address_of
from tailer.rows.generic.compiled.tables import SHAPES
from tailer.rows.prepared import PreparedColumn, PreparedTable
from tailer.scan.latest import Latest
from tailer.scan.tables import NO_COLUMN
from tailer.types import CqlType, Shape, order, printed, quote
from tailer.types.compiled.plan import WORD, Bytes, Numbers, TypePlan
from tailer.types.cql import Native

_ORDERS: Final[dict[Callable[..., Any], int]] = {
    order.signed_order: w.SIGNED,
    order.unsigned_order: w.UNSIGNED,
    order.uuid_order: w.BY_UUID,
    order.timeuuid_order: w.BY_TIMEUUID,
    order.float_order: w.REAL,
    order.double_order: w.REAL,
}

NEVER: Final = -(2**63)
_NAMED: Final = 5
"""More bytes than stand before a name."""

_ENCODE: Final = msgspec.msgpack.Encoder().encode
_ARRAY: Final = b"\xdc" + len(COLUMNS).to_bytes(2, "big")


class MergeTables(NamedTuple):
    """Tables by number, and what lies at the addresses in them."""

    tables: Numbers
    plan: Numbers
    names: Bytes
    texts: Bytes


def _laid_out(prepared: tuple[PreparedTable, ...]) -> MergeTables:
    plan = TypePlan()
    tables = np.zeros((len(prepared), w.T_WIDTH), np.int64)
    texts = bytearray()
    for number, table in enumerate(prepared):
        if not _is_ready(table):
            continue
        definition = table.definition
        head = _ARRAY + b"".join(map(_ENCODE, (definition.keyspace, definition.table, table.table_id)))
        regular = [column for column in range(len(table.columns)) if definition.data_columns[column].kind != "static"]
        names = sum(_NAMED + len(table.columns[column].name.encode()) for column in regular)
        lines = tables[number]
        lines[w.T_READY] = 1
        lines[w.T_ID], lines[w.T_HEAD], lines[w.T_HEAD_LENGTH] = len(texts), len(texts) + 16, len(head)
        texts += bytes.fromhex(definition.id) + head
        descending = [column.desc for column in definition.clustering]
        lines[w.T_KEY], lines[w.T_KEY_COUNT] = _columns(plan, table.key), len(table.key)
        lines[w.T_CLUSTERING] = _columns(plan, table.clustering, descending)
        lines[w.T_CLUSTERING_COUNT] = len(table.clustering)
        lines[w.T_COLUMNS] = _columns(plan, table.columns, static=set(range(len(table.columns))) - set(regular))
        lines[w.T_REGULAR] = _columns(plan, [table.columns[column] for column in regular])
        lines[w.T_REGULAR_COUNT], lines[w.T_NAMES_LENGTH] = len(regular), names
    numbers, labels = plan.arrays()
    for field in (w.T_KEY, w.T_CLUSTERING, w.T_COLUMNS, w.T_REGULAR):
        tables[:, field] = address_of(numbers) + WORD * tables[:, field]
    held = np.frombuffer(bytes(texts) or b" ", np.uint8)
    for field in (w.T_ID, w.T_HEAD):
        tables[:, field] += address_of(held)
    return MergeTables(tables, numbers, labels, held)


_TABLES: Final = Latest(_laid_out)


def tables_of(prepared: tuple[PreparedTable, ...], known: Iterable[KnownTable | None]) -> MergeTables:
    """The tables with what is known of them; None for one that is not merged here now. One that does not capture is
    merged the plain way: none of its rows is whole."""
    made = _TABLES.of(prepared)
    tables = made.tables.copy()
    for lines, table in zip(tables, known, strict=True):
        if table is None or not table.facts.cdc:
            lines[w.T_READY] = 0
            continue
        facts = table.facts
        lines[w.T_WHOLE], lines[w.T_EPOCH], lines[w.T_SINCE] = facts.whole, facts.epoch, facts.complete_since
        lines[w.T_FLOOR] = max((floor.until for floor in facts.floors), default=NEVER)
        lines[w.T_LATE_BEFORE] = NEVER if facts.forgotten is None else facts.forgotten * SECOND
    return made._replace(tables=tables)


def _is_ready(table: PreparedTable) -> bool:
    """Whether the compiled merge can do anything for it."""
    definition = table.definition
    if not table.delivered or table.masks is not None or table.truncations != NO_COLUMN or not table.key:
        return False
    data = definition.data_columns
    if any(column.dropped or column.dropped_time is not None for column in data) or len(data) > w.COLUMNS_MAX:
        return False
    columns = (*table.key, *table.clustering, *table.columns)
    if any(quote(column.name) != f'"{column.name}"' for column in columns):
        return False
    if any(column.type.shape is Shape.COUNTER for column in table.columns):
        return False
    return all(_order(column.type) != w.NO_ORDER for column in table.clustering)


def _order(type_: CqlType) -> int:
    traits = type_.traits
    return _ORDERS.get(traits.order, w.NO_ORDER) if isinstance(traits, Native) else w.NO_ORDER


def _columns(
    plan: TypePlan, columns: Iterable[PreparedColumn], descending: list[bool] | None = None, static: Iterable[int] = ()
) -> int:
    held = list(columns)
    types = [plan.type(column.type) for column in held]
    begin = plan.add()
    for number, (column, type_) in enumerate(zip(held, types, strict=True)):
        plan.part(type_, column.name)
        desc = descending is not None and descending[number]
        named = _named(column.type)
        ready = named is not None and number not in static
        path_kind, path_order, value_kind = named or (0, 0, 0)
        kind, shape = value_kind if column.multi else column.type.traits.printed, SHAPES[column.type.shape]
        plan.add(kind, _order(column.type), desc, ready, shape, path_kind, path_order)
    return begin


def _named(type_: CqlType) -> tuple[int, int, int] | None:
    """Of a non-frozen collection kind and order of what names an element, and the kind of its values; None for a column
    that is not for here."""
    if not type_.complex:
        return 0, 0, 0
    if type_.shape is Shape.LIST:
        return printed.UUID, w.BY_TIMEUUID, type_.element.traits.printed
    if type_.shape is Shape.SET:
        path, value = type_.element, printed.BLOB
    elif type_.shape is Shape.MAP:
        path, value = type_.key, type_.value.traits.printed
    else:
        return None
    order_ = _order(path)
    return None if order_ == w.NO_ORDER else (path.traits.printed, order_, value)
