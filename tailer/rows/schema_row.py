"""Change rows that tell of definitions (`op` = `schema`). Knows no log and no system table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID
from zlib import crc32

from tailer.rows.batch import ChangeBatch, Row
from tailer.rows.place import Place
from tailer.schema.masks import NO_MASKS, Masks
from tailer.schema.model import TableDefinition
from tailer.schema.record_definitions import is_native
from tailer.schema.selection import Selection, is_system
from tailer.schema.told import told_text

FIRST_ROW: Final = 1_000_000
"""Row numbers of schema rows begin here: the entry's own rows, where somebody asks for them, have the lower ones."""

ROWS: Final = 1_000_000
"""So many numbers there are. Those of snapshot rows are behind them."""


def schema_batch(
    changed: Mapping[str, TableDefinition],
    before: Mapping[str, TableDefinition],
    selection: Selection,
    place: Place,
    masks: Masks = NO_MASKS,
) -> ChangeBatch:
    """One row for each changed definition of a table that is, or was, wanted; `place` has the one entry that did it.

    Definitions of a native log have keys of their own: what its table was before is the last one there with its id.
    With `masks` they are told as rows have them.
    """
    rows: list[Row] = []
    at = place.of(0)
    for number, table_id in sorted(_numbers(changed).items()):
        new = changed[table_id]
        old = before.get(table_id)
        if old is None and is_native(table_id):
            earlier = [held for held in before.values() if held.id == new.id]
            old = earlier[-1] if earlier else None
        if is_system(new.keyspace) or not (selection.wants(new) or (old is not None and selection.wants(old))):
            continue
        begins = old is not None and not selection.wants(old)
        text = None if new.dropped else told_text(masks.shown(new), capture_begins=begins)
        rows.append((
            place.node, new.keyspace, new.table, str(UUID(new.id)), "schema",
            None, None, False, text, None, new.dropped_time, None, None, None, None,
            at.segment, at.offset, number, f"{place.node}:{at.segment}:{at.offset}:{number}", None, None,
        ))  # fmt: skip
    return ChangeBatch.of(rows)


def _numbers(tables: Iterable[str]) -> dict[int, str]:
    """The row number of each table: by its key alone, for a consumer may not know of all tables that an entry changes.
    Where two would have the same number, the one with the higher key has the next free one."""
    found: dict[int, str] = {}
    for table in sorted(tables):
        at = crc32(table.encode()) % ROWS
        while FIRST_ROW + at in found:
            at = (at + 1) % ROWS
        found[FIRST_ROW + at] = table
    return found
