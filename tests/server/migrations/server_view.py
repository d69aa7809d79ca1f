"""What the server shows of a table: its definition and all rows, as canonical values. Knows CQL's JSON, no log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.helpers.rebuilt import spelled
from tests.oracle.jsontext import loads

KEY_KINDS = ("partition_key", "clustering")
_FIELD = re.compile(r'"[fg]\d+":')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Key = tuple[Any, ...]
Row = dict[str, Any]


@dataclass(frozen=True)
class ServerTable:
    """`types`, `kinds` by column; `rows` by primary key, where a partition of static values alone has None."""

    name: str
    id: str
    types: Mapping[str, str]
    kinds: Mapping[str, str]
    key: tuple[str, ...]
    rows: Mapping[Key, Row]

    def of(self, kind: str) -> list[str]:
        """Key columns in their order."""
        return [name for name in dict.fromkeys([*self.key, *self.types]) if self.kinds[name] == kind]


def tables_of(session: Any) -> dict[str, tuple[str, bool]]:
    """Id and `cdc` of each table of the history."""
    found = session.execute("SELECT keyspace_name, table_name, id, cdc FROM system_schema.tables")
    return {
        f"{row.keyspace_name}.{row.table_name}": (str(row.id), bool(row.cdc))
        for row in found
        if row.keyspace_name in ("m0", "m1")
    }


def read(session: Any, name: str, id_: str, query: Any) -> ServerTable:
    """`query`: gives the first column of each row of a SELECT, at ALL."""
    keyspace, table = name.split(".")
    columns = list(
        session.execute(
            "SELECT column_name, type, kind, position FROM system_schema.columns "
            "WHERE keyspace_name = %s AND table_name = %s",
            (keyspace, table),
        )
    )
    types = {row.column_name: row.type for row in columns}
    kinds = {row.column_name: row.kind for row in columns}
    key = [
        row.column_name
        for kind in KEY_KINDS
        for row in sorted((each for each in columns if each.kind == kind), key=lambda each: each.position)
    ]
    rows = {}
    for text in query(f"SELECT JSON * FROM {name}"):
        row = canonical(loads(text), types)
        rows[tuple(row[each] for each in key)] = row
    return ServerTable(name, id_, types, kinds, tuple(key), rows)


def canonical(row: Mapping[str, Any], types: Mapping[str, str]) -> Row:
    """Values that compare equal where they are the same, whatever database or JSON they were read from."""
    return {name: value(row.get(name), of) for name, of in types.items()}


def value(given: Any, type_: str) -> Any:
    if given is None:
        return None
    if type_ in ("int", "bigint", "counter", "varint"):
        return int(given)
    if type_ == "decimal":
        return Decimal(str(given)).normalize()
    if type_ == "double":
        return float(given)
    if type_ == "boolean":
        return given in (True, 1, "true", "t")
    if type_ == "blob":
        return f"0x{bytes(given).hex()}" if isinstance(given, bytes | memoryview) else str(given)
    if type_ == "timestamp":
        return _milliseconds(given)
    if type_ == "date":
        return given.isoformat() if isinstance(given, date) else str(given)
    if type_ in ("text", "ascii", "uuid"):
        return str(given)
    parsed = loads(given) if isinstance(given, str) else given
    return spelled({"": _without_nulls(parsed)})


def without_names(given: Any) -> Any:
    """A collection or user-defined value without the names of fields, which a later ALTER TYPE renames."""
    return _FIELD.sub("", given) if isinstance(given, str) else given


def _without_nulls(given: Any) -> Any:
    """A field that ALTER TYPE added is null in the server's view of older values, and not there in ours."""
    if isinstance(given, dict):
        return {name: _without_nulls(part) for name, part in given.items() if part is not None}
    return [_without_nulls(part) for part in given] if isinstance(given, list) else given


def _milliseconds(given: Any) -> int:
    if isinstance(given, int):
        return given
    if not isinstance(given, datetime):
        text = str(given).replace("Z", "+00:00")
        given = datetime.fromisoformat(text if text[-3:-2] != "+" else text + ":00")
    return (given - _EPOCH) // timedelta(milliseconds=1)


def finish(session: Any, name: str) -> None:
    """Complete the light-weight transactions of a table that were begun and not answered: each would be by the next
    one of its partition, which may be behind the last look of a consumer."""
    from cassandra import ConsistencyLevel, OperationTimedOut, RequestExecutionException

    keyspace, _, table = name.partition(".")
    columns = session.execute(
        f"SELECT column_name, kind, position, type FROM system_schema.columns WHERE keyspace_name = '{keyspace}' "
        f"AND table_name = '{table}'"
    )
    rows = [*columns]
    if any(row.type == "counter" for row in rows):
        return
    key = [row.column_name for row in sorted(rows, key=lambda row: row.position) if row.kind == "partition_key"]
    one = session.prepare(f"SELECT * FROM {name} WHERE {' AND '.join(f'{each} = ?' for each in key)}")
    one.consistency_level = ConsistencyLevel.SERIAL
    for partition in session.execute(f"SELECT DISTINCT {', '.join(key)} FROM {name}"):
        # What a node cannot complete nobody will: a proposal of an earlier table with the same id, say.
        with suppress(OperationTimedOut, RequestExecutionException):
            session.execute(one, tuple(partition))
