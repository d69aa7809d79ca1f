"""One line of `expected/` as change rows (architecture section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.oracle.columns import Stamp, columns_and_cells, row_stamp
from tests.oracle.cqltypes import Type
from tests.oracle.jsontext import Json
from tests.oracle.schema import Definition
from tests.oracle.values import value

Line = Mapping[str, Any]
Definitions = Mapping[str, Definition]


class UnknownError(Exception):
    """The entry needs a table or column that nothing defines."""


@dataclass(frozen=True)
class Change:
    """What one change row says beyond where it stands."""

    op: str
    stamp: Stamp
    clustering: Json = None
    is_static: bool = False
    columns: Json = None
    range: Json = None
    cells: Json = None


def start(line: Line) -> int:
    """Logical offset of the entry's start: the line has its end, and the size without the 12 bytes around it."""
    return int(line["end"]) - int(line["size"]) - 12


def used_definitions(line: Line, known: Definitions) -> tuple[Definition, ...]:
    """The definitions that the line's updates need; raises `UnknownError` where one is missing."""
    found = []
    for update in line["updates"]:
        definition = known.get(update["id"])
        if definition is None:
            raise UnknownError(f"table {update['id']} ({update['keyspace']}.{update['table']})")
        for name in _named(update):
            if definition.column(name) is None:
                raise UnknownError(f"column {name} of {definition.keyspace}.{definition.table}")
        found.append(definition)
    return tuple(found)


def change_rows(line: Line, definitions: tuple[Definition, ...], node: str = "local") -> list[dict[str, Json]]:
    """The delivered rows of one mutation; those of tables without cdc take numbers all the same."""
    made = []
    number = 0
    for update, definition in zip(line["updates"], definitions, strict=True):
        for change in _changes(update, definition):
            if definition.cdc:
                made.append(_full(line, update, definition, change, node, number))
            number += 1
    return made


def _full(
    line: Line, update: Mapping[str, Any], definition: Definition, change: Change, node: str, number: int
) -> dict[str, Json]:
    segment, offset = line["segment"], start(line)
    return {
        "node": node,
        "keyspace": definition.keyspace,
        "table": definition.table,
        "table_id": definition.id,
        "op": change.op,
        "partition_key": _partition_key(update, definition),
        "clustering": change.clustering,
        "is_static": change.is_static,
        "columns": change.columns,
        "range": change.range,
        "write_ts": change.stamp.ts,
        "ttl": change.stamp.ttl,
        "expires_at": change.stamp.expires,
        "cells": change.cells,
        "token": int(update["token"]),
        "segment": segment,
        "offset": offset,
        "row": number,
        "event_id": f"{node}:{segment}:{offset}:{number}",
        "txn": None,
        "attrs": None,
    }


def _partition_key(update: Mapping[str, Any], definition: Definition) -> Json:
    names = definition.partition_key
    raw = bytes.fromhex(update["key_hex"])
    parts = [raw] if len(names) == 1 else list(_components(raw))
    shown = list(update["key"].values())
    return {
        name: value(definition.type_of(text), server, part)
        for (name, text), server, part in zip(names, shown, parts, strict=True)
    }


def _components(raw: bytes) -> Iterator[bytes]:
    while raw:
        size = int.from_bytes(raw[:2], "big")
        yield raw[2 : 2 + size]
        raw = raw[3 + size :]


def _changes(update: Mapping[str, Any], definition: Definition) -> Iterator[Change]:
    if "partition_deletion" in update:
        yield Change("delete_partition", Stamp(update["partition_deletion"]["ts"]))
    if "static" in update:
        yield from _row(update["static"], definition)
    unfiltereds = update["unfiltereds"]
    for place, item in enumerate(unfiltereds):
        if item["kind"] == "row":
            yield from _row(item, definition)
        elif "open" in item:
            yield _range(item, unfiltereds[place + 1 :], definition)


def _row(row: Mapping[str, Any], definition: Definition) -> Iterator[Change]:
    static = row["kind"] == "static"
    clustering = None if static or not definition.clustering else _prefix(row, definition)
    if "deletion" in row:
        yield Change("delete_row", Stamp(row["deletion"]["ts"]), clustering)
    if "liveness" not in row and not row["cells"] and not row["complex_deletions"]:
        return
    stamp = row_stamp(row, definition)
    columns, cells = columns_and_cells(row, definition, stamp)
    op = "insert" if "liveness" in row else "update"
    yield Change(op, stamp, clustering, static, columns, None, cells)


def _prefix(item: Mapping[str, Any], definition: Definition) -> Json:
    """The clustering values that the row or bound has, by name."""
    shown = item["clustering"]
    bytes_of = item.get("clustering_hex", [_UNKNOWN] * len(shown))
    made: dict[str, Json] = {}
    for (name, text), server, raw in zip(definition.clustering, shown, bytes_of, strict=False):
        made[name] = None if raw is None else _clustering_value(definition.type_of(text), server, raw)
    return made


_UNKNOWN = "?"


def _clustering_value(kind: Type, server: Json, raw: str) -> Json:
    return value(kind, server, None if raw == _UNKNOWN else bytes.fromhex(raw))


def _range(first: Mapping[str, Any], following: list[Mapping[str, Any]], definition: Definition) -> Change:
    last = next(item for item in following if "close" in item)
    if last["close"] != first["open"]:
        raise ValueError(f"a range opens with {first['open']} and closes with {last['close']}")
    start_inclusive = first["bound"] in ("INCL_START_BOUND", "EXCL_END_INCL_START_BOUNDARY")
    end_inclusive = last["bound"] in ("INCL_END_BOUND", "INCL_END_EXCL_START_BOUNDARY")
    bounds = {
        "start": _prefix(first, definition) or None,
        "start_inclusive": start_inclusive,
        "end": _prefix(last, definition) or None,
        "end_inclusive": end_inclusive,
    }
    return Change("delete_range", Stamp(first["open"]["ts"]), range=bounds)


def _named(update: Mapping[str, Any]) -> set[str]:
    rows = [update["static"]] if "static" in update else []
    rows += [item for item in update["unfiltereds"] if item["kind"] == "row"]
    named = {cell["column"] for row in rows for cell in row["cells"]}
    return named | {name for row in rows for name in row["complex_deletions"]}
