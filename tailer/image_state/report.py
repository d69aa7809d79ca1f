"""What a state of images holds, for people and programs: as a whole, and of one row. Reads; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tailer.errors import RefusedError, UsageError
from tailer.image_state.file import reading
from tailer.image_state.folder import FILE_NAME
from tailer.image_state.identity import nodes_of, place_of, read_identity
from tailer.image_state.one_transaction import Transaction
from tailer.images import Merger, Settings
from tailer.images.known import Known
from tailer.images.tables import KnownTable, Tables


class TableReport(msgspec.Struct, frozen=True):
    """`bytes`: of keys and facts. `whole`: since its CREATE all is known. `forgotten`: the second before which
    deletions were forgotten, None where none ever was."""

    table: str
    table_id: str
    partitions: int
    rows: int
    bytes: int
    whole: bool
    dropped: bool
    forgotten: int | None


class StateReport(msgspec.Struct, frozen=True):
    """`bytes`: of the file. `waiting`: batches of images that nobody said to have taken. `places`: by node its offset,
    None before the first row."""

    consumer: str
    id: str
    tokens: str
    bytes: int
    waiting: int
    places: dict[str, str | None]
    tables: list[TableReport]


def state_report(folder: Path) -> StateReport:
    """Of a folder. UsageError where there is no state. Reads all of it."""
    with reading(folder) as seen:
        identity = read_identity(seen, str(folder))
        if identity is None:
            raise RefusedError("a state of images that was never begun", file=str(folder))
        places = {name: place_of(seen, name) for name in sorted(nodes_of(seen))}
        sizes = seen.store.sizes()
        tables = [_table(table, sizes.get(table.id, (0, 0, 0))) for table in Tables(seen.store)]
        return StateReport(
            identity.consumer,
            identity.id,
            identity.tokens,
            (folder / FILE_NAME).stat().st_size,
            seen.last - seen.given,
            {name: None if place is None else place.offset for name, place in places.items()},
            tables,
        )


def row_report(folder: Path, table: str, key: Mapping[str, Any], now_us: int) -> Known:
    """What is known at `now_us` of one row of `keyspace.table`; with the partition key alone of the static row, where
    there may be one. UsageError for a table or a key that is none."""
    with reading(folder) as seen:
        known = named_table(seen, table)
        definition = known.facts.table.definition
        parts = [column.name for column in definition.partition_key]
        clustering = [column.name for column in definition.clustering]
        given = list(key)
        static = bool(clustering) and sorted(given) == sorted(parts)
        if not static and sorted(given) != sorted([*parts, *clustering]):
            raise UsageError(
                f"the key of {table}", expected=f"values for {', '.join([*parts, *clustering])}", found=", ".join(given)
            )
        texts = [_json({name: key[name] for name in names}) for names in (parts, [] if static else clustering)]
        merger = Merger(seen.store, [], Settings(0))
        try:
            row = texts[1] if clustering and not static else None
            return merger.known(known.id, texts[0], row, now_us, static=static)
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            raise UsageError(f"the key of {table}: {error}") from error


def named_table(seen: Transaction, name: str) -> KnownTable:
    """A table of the state by its name, one that is there before one that is not any more. UsageError."""
    found = [table for table in Tables(seen.store) if table.facts.table.name == name]
    if not found:
        known = sorted({table.facts.table.name for table in Tables(seen.store)})
        raise UsageError("--table", expected=" or ".join(known) or "a table with images", found=repr(name))
    return min(found, key=lambda table: table.facts.dropped)


def _table(table: KnownTable, sizes: tuple[int, int, int]) -> TableReport:
    facts = table.facts
    return TableReport(facts.table.name, table.shown_id, *sizes, facts.whole, facts.dropped, facts.forgotten)


def _json(values: Mapping[str, Any]) -> str:
    return msgspec.json.encode(values).decode()
