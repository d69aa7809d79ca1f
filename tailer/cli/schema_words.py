"""What differs between two definitions of one table, in words. Reads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tailer.schema.model import Column, TableDefinition, TypeField

_KEYS = ("partition_key", "clustering")


def changes(before: TableDefinition | None, after: TableDefinition | None) -> list[str]:
    """How `after` differs from `before`, one short phrase each; None is a table that is not known."""
    if after is None:
        return [] if before is None else ["not known any more"]
    if before is None:
        live = sum(not column.dropped for column in after.columns)
        return [f"new: {live} columns, cdc = {_word(after.cdc)}{', dropped' if after.dropped else ''}"]
    found = []
    if after.name != before.name:
        found.append(f"called {after.name} now")
    if after.dropped != before.dropped:
        found.append("dropped" if after.dropped else "there again")
    if after.cdc != before.cdc:
        found.append(f"cdc = {_word(after.cdc)}")
    found += _columns({each.name: each for each in before.columns}, {each.name: each for each in after.columns})
    found += _types(before.types, after.types)
    return found or ["changed in its flags"]


def _columns(before: Mapping[str, Column], after: Mapping[str, Column]) -> Iterator[str]:
    places = {(each.kind, each.position): each for each in before.values() if each.kind in _KEYS}
    renamed = set()
    for name, column in after.items():
        old = before.get(name)
        if old is None and column.kind in _KEYS and (was := places.get((column.kind, column.position))) is not None:
            renamed.add(was.name)
            yield f"column {was.name} is called {name} now"
        elif old is None:
            yield f"column {name} is new: {column.type}{' (dropped)' if column.dropped else ''}"
        elif old != column:
            yield _column(old, column)
    for name in before:
        if name not in after and name not in renamed:
            yield f"column {name} is gone"


def _column(old: Column, new: Column) -> str:
    if new.dropped != old.dropped:
        return f"column {new.name} is {'dropped' if new.dropped else 'back'}: {new.type}"
    if new.type != old.type:
        return f"column {new.name}: {old.type} → {new.type}"
    if new.kind != old.kind:
        return f"column {new.name}: {old.kind} → {new.kind}"
    if new.desc != old.desc:
        return f"column {new.name}: {'descending' if new.desc else 'ascending'}"
    if new.dropped_time != old.dropped_time:
        return f"column {new.name}: dropped_time = {new.dropped_time}"
    return f"column {new.name}: at another place or of another spelling"


def _types(before: Mapping[str, tuple[TypeField, ...]], after: Mapping[str, tuple[TypeField, ...]]) -> Iterator[str]:
    for name, fields in after.items():
        if name in before and before[name] != fields:
            yield f"type {name}: {', '.join(f'{field.name} {field.type}' for field in fields)}"


def _word(flag: bool) -> str:
    return "true" if flag else "false"
