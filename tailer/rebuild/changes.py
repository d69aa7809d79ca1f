"""From change rows of the generic form to facts. Knows how a change row spells things, and not what wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tailer.errors import DefinitionError
from tailer.position import Position
from tailer.rebuild.counters import shard_facts
from tailer.rebuild.facts import Fact, Kind, Place, Stamp, by_age
from tailer.rebuild.table import DataColumn, KeyColumn, Plan
from tailer.types import Shape, murmur3_token
from tailer.types.order import AFTER
from tailer.types.parts import framed
from tailer.types.read_json import read_json

NEEDED: Final = (
    "node", "table_id", "op", "partition_key", "clustering", "is_static", "columns", "range", "write_ts", "ttl",
    "expires_at", "cells", "token", "segment", "offset",
)  # fmt: skip
"""The columns of the generic form that are looked at."""

OWN: Final = b""
"""The row key of what a partition has of its own: its static row, and deletions of several rows or of all."""

ROWS: Final = b"\1"
"""Row keys begin with it; the clustering values in their order follow."""


SNAPSHOT: Final = "snapshot"
"""The `op` of a row that a server was asked for: all that it has."""

SNAPSHOT_RANGE: Final = "snapshot_range"
"""Says that all rows of a range of tokens were told."""


class Changed(NamedTuple):
    """What one change row says: of which partition (token and key), of which row, and what."""

    partition: bytes
    row: bytes
    facts: list[Fact]


def changed(change: Mapping[str, Any], plan: Plan) -> Changed | None:
    """The facts of a change row, given as the frame has it (JSON columns are text); None for one of no row.

    DefinitionError for a row that does not fit the table's definition.
    """
    op = change["op"]
    if op in ("truncate", "schema", SNAPSHOT_RANGE):
        return None
    try:
        return _changed(op, change, plan)
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise _misfit(change, plan, error) from error


def truncation(change: Mapping[str, Any]) -> tuple[str, Place] | None:
    """Of a truncate row its node, and the place before which all of that node is void."""
    if change["op"] != "truncate":
        return None
    before = read_json(change["range"])["before"]
    return change["node"], (int(before["segment"]), int(before["offset"]))


def row_place(plan: Plan, partition_key: str, clustering: str | None) -> tuple[bytes, bytes]:
    """The partition's name and the row's key, of a key as change rows have it; the token is computed.

    DefinitionError for a key that does not fit the table.
    """
    try:
        parts = [column.encode(value) for column, value in _pairs(plan.key, partition_key)]
        whole = parts[0] if len(parts) == 1 else b"".join([len(p).to_bytes(2, "big") + p + b"\0" for p in parts])
        token = (murmur3_token(whole) + 2**63).to_bytes(8, "big")
        return token + framed(parts), row_key(plan, clustering)[0]
    except (ValueError, KeyError, TypeError, ArithmeticError, IndexError) as error:
        raise DefinitionError(f"{partition_key:.80} is no key of {plan.table.name}: {error}") from error


def key_values(partition: bytes) -> bytes:
    """The framed values of the partition key in a partition's name."""
    return partition[8:]


def token_part(token: int) -> bytes:
    """What the names of partitions with this token begin with: in the order of tokens."""
    return (token + 2**63).to_bytes(8, "big")


def behind_token(token: int) -> bytes:
    """Stands behind the names of all partitions with this token, and before those of the next."""
    # What follows the token in a name is a length, which is not negative.
    return token_part(token) + b"\xff" * 8


def token_of(partition: bytes) -> int:
    """The token in a partition's name."""
    return int.from_bytes(partition[:8], "big") - 2**63


def partition_name(plan: Plan, token: int, key: str) -> bytes:
    """A partition's name, by its token and the JSON of its key. ValueError for what is none."""
    values = [column.encode(value) for column, value in _pairs(plan.key, key)]
    # The token tells partitions apart whose keys print alike; it also puts them into the server's order.
    return token_part(token) + framed(values)


def row_key(plan: Plan, text: str | None) -> tuple[bytes, bytes]:
    """A row's key in its partition, and its framed clustering values, by their JSON. ValueError for what is none."""
    values = [None if value is None else column.encode(value) for column, value in _pairs(plan.clustering, text)]
    return row_key_of(plan, values)


def row_key_of(plan: Plan, values: Sequence[bytes | None]) -> tuple[bytes, bytes]:
    """The same by the clustering values."""
    return ROWS + _prefix(plan, values), framed(values)


def _changed(op: str, change: Mapping[str, Any], plan: Plan) -> Changed:
    partition = partition_name(plan, change["token"], change["partition_key"])
    row, clustering = OWN, b""
    if op in ("insert", "update", "delete_row", SNAPSHOT) and not change["is_static"]:
        row, clustering = row_key(plan, change["clustering"])
    stamp = Stamp(clustering, change["node"], change["segment"], change["offset"], change["write_ts"])
    if op == "delete_partition":
        return Changed(partition, OWN, [Fact(Kind.PARTITION_GONE, stamp)])
    if op == "delete_row":
        return Changed(partition, row, [Fact(Kind.ROW_GONE, stamp)])
    if op == "delete_range":
        lower, upper = _range(plan, read_json(change["range"]))
        return Changed(partition, OWN, [Fact(Kind.RANGE_GONE, stamp, "", lower, upper)])
    stamp = stamp._replace(ttl=change["ttl"], expires_at=change["expires_at"])
    facts = [Fact(Kind.LIVE, stamp)] if op == "insert" else []
    facts += _cells(plan, stamp, read_json(change["columns"]), read_json(change["cells"] or "{}"))
    if op == SNAPSHOT and row != OWN and not plan.counters:
        facts.append(_marker(facts, stamp))
    return Changed(partition, row, facts)


def _marker(cells: Sequence[Fact], stamp: Stamp) -> Fact:
    """That the row is there: as long as its oldest cell, of one age the one that lives longest."""
    if not cells:
        return Fact(Kind.LIVE, stamp)
    oldest = min((fact.stamp for fact in cells), key=lambda own: by_age(own.write_ts, own.expires_at))
    return Fact(Kind.LIVE, stamp._replace(write_ts=oldest.write_ts, ttl=oldest.ttl, expires_at=oldest.expires_at))


def _pairs(columns: Sequence[KeyColumn], text: str | None) -> Iterator[tuple[KeyColumn, Any]]:
    """Key columns with their values, by place: they may have been renamed since."""
    values = [] if text is None else list(read_json(text).values())
    if len(values) > len(columns):
        raise ValueError(f"{len(values)} key columns, where the definition has {len(columns)}")
    return zip(columns, values, strict=False)


def _prefix(plan: Plan, values: Sequence[bytes | None]) -> bytes:
    return b"".join([column.order(value) for column, value in zip(plan.clustering, values, strict=False)])


def _range(plan: Plan, bounds: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The row keys from which on and below which rows are gone."""
    if bounds.get("masked"):
        raise ValueError("a range between values that are masked: which rows it takes cannot be told")
    edges = []
    for side, after in (("start", not bounds["start_inclusive"]), ("end", bounds["end_inclusive"])):
        values = list((bounds[side] or {}).values())
        encoded = [
            None if value is None else column.encode(value)
            for column, value in zip(plan.clustering, values, strict=False)
        ]
        edges.append(ROWS + _prefix(plan, encoded) + (AFTER if after else b""))
    return edges[0], edges[1]


def _cells(plan: Plan, stamp: Stamp, columns: Mapping[str, Any], cells: Mapping[str, Any]) -> Iterator[Fact]:
    for name, value in columns.items():
        column = plan.columns.get(name)
        if column is None:
            raise ValueError(f"the definition has no column {name!r}")
        own = cells.get(name, {})
        if _is_void(column, stamp, own):
            continue
        yield from _fitting(column, stamp, value, own)


def _fitting(column: DataColumn, stamp: Stamp, value: Any, own: Mapping[str, Any]) -> list[Fact]:
    """By the type that the column has, or else by one that it had: what a DROP did not cover keeps its bytes, which the
    server reads by the type with which the column was added again."""
    try:
        return list(_cell(column, stamp, value, own))
    except (ValueError, KeyError, TypeError, ArithmeticError):
        for earlier in column.earlier:
            with suppress(ValueError, KeyError, TypeError, ArithmeticError):
                return list(_cell(earlier, stamp, value, own))
        # A dropped column's value of a type that nobody tells of can no longer be there again.
        if not column.dropped:
            raise
        return []


def _cell(column: DataColumn, stamp: Stamp, value: Any, own: Mapping[str, Any]) -> Iterator[Fact]:
    if column.type.complex:
        yield from _elements(column, stamp, value, own)
        return
    mine = _stamp(stamp, own)
    if value is None:
        yield Fact(Kind.CELL_GONE, mine._replace(ttl=None, expires_at=None), column.name)
    elif column.type.shape is Shape.COUNTER:
        yield from shard_facts(column.name, mine, value)
    else:
        yield Fact(Kind.CELL, mine, column.name, b"", column.encode(value))


def _is_void(column: DataColumn, stamp: Stamp, own: Mapping[str, Any]) -> bool:
    """Whether everything here was written before the column was dropped, and maybe in another type."""
    if column.void is None:
        return False
    times = [int(each["write_ts"]) for _, each in own.get("elements", ()) if "write_ts" in each]
    return max([int(own.get("write_ts", stamp.write_ts)), *times]) <= column.void


def _stamp(stamp: Stamp, own: Mapping[str, Any]) -> Stamp:
    """The row's times but for those that a cell has of its own."""
    if not own:
        return stamp
    return stamp._replace(
        write_ts=int(own.get("write_ts", stamp.write_ts)),
        ttl=_number(own.get("ttl", stamp.ttl)),
        expires_at=_number(own.get("expires_at", stamp.expires_at)),
    )


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _elements(column: DataColumn, stamp: Stamp, value: Any, own: Mapping[str, Any]) -> Iterator[Fact]:
    plain = stamp._replace(ttl=None, expires_at=None)
    if value is None or value["replaced"]:
        deleted = own.get("deleted_ts", stamp.write_ts - (value is not None))
        yield Fact(Kind.COLUMN_GONE, plain._replace(write_ts=int(deleted)), column.name)
    if value is None:
        return
    differing = {column.path(name): times for name, times in own.get("elements", ())}
    for path, element in _put(column, value.get("put", ())):
        yield Fact(Kind.CELL, _stamp(stamp, differing.get(path, {})), column.name, path, element)
    for name in value.get("removed", ()):
        path = column.path(name)
        mine = _stamp(plain, {"write_ts": stamp.write_ts, **differing.get(path, {})})
        yield Fact(Kind.CELL_GONE, mine._replace(ttl=None, expires_at=None), column.name, path)


def _put(column: DataColumn, put: Any) -> Iterator[tuple[bytes, bytes]]:
    shape = column.type.shape
    if shape is Shape.SET:
        yield from ((column.path(element), b"") for element in put)
    elif shape is Shape.LIST:
        yield from ((column.path(name), column.encode_element(element)) for name, element in put)
    elif shape is Shape.MAP:
        yield from ((column.path(name), column.encode_element(element)) for name, element in dict(put).items())
    else:
        for name, element in dict(put).items():
            path = column.path(name)
            yield path, column.encode_fields[int.from_bytes(path, "big")](element)


def _misfit(change: Mapping[str, Any], plan: Plan, error: Exception) -> DefinitionError:
    return DefinitionError(
        f"a change of {plan.table.name} does not fit the definition it is rebuilt by: {error}",
        at=Position(change["segment"], change["offset"]),
        remedy="Give the table's newest definition (table_definition), and generic change rows as they came.",
    )
