"""What is kept in the folder of a run, so that its checks can be made again: definitions, SELECT at ALL, kept tables.

`definitions.json`, `select.jsonl`, `kept-sqlite.jsonl`, `kept-postgresql.jsonl`: raw values, spelled by nobody.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.oracle.jsontext import dumps, loads
from tests.server.cluster.cluster import Cluster, at_level
from tests.server.cluster.hour.consumers import INTO
from tests.server.cluster.hour.tables import KEYSPACE
from tests.server.cluster.workload import refusals

SELECT_SECONDS = 120
SELECT_TRIES = 5
SEQ, COMPLETE = "cdc_tail_seq", "cdc_tail_complete"


@dataclass(frozen=True)
class Definition:
    """A table as the server has it at the end. `types`: of all columns by name; the key columns in their order."""

    name: str
    id: str
    types: Mapping[str, str]
    partition: list[str]
    clustering: list[str]
    statics: list[str]

    @property
    def key(self) -> list[str]:
        return [*self.partition, *self.clustering]

    def kept_as(self) -> str:
        """The table that keeps it."""
        return INTO.format(keyspace=KEYSPACE, table=self.name)


def definitions(folder: Path) -> dict[str, Definition]:
    """Those that were recorded, by name."""
    return {found["name"]: Definition(**found) for found in json.loads((folder / "definitions.json").read_text())}


def record_definitions(cluster: Cluster, folder: Path) -> dict[str, Definition]:
    with cluster.nodes[1].session() as session:
        where = f"WHERE keyspace_name = '{KEYSPACE}'"
        ids = {row.table_name: str(row.id) for row in session.execute(f"SELECT * FROM system_schema.tables {where}")}
        columns = list(session.execute(f"SELECT * FROM system_schema.columns {where}"))
    found = []
    for name in sorted(ids):
        mine = sorted((c for c in columns if c.table_name == name), key=lambda column: column.position)
        of_kind = {
            kind: [c.column_name for c in mine if c.kind == kind] for kind in ("partition_key", "clustering", "static")
        }
        types = {column.column_name: column.type for column in mine}
        parts = (of_kind["partition_key"], of_kind["clustering"], of_kind["static"])
        found.append(Definition(name, ids[name], types, *parts))
    (folder / "definitions.json").write_text(json.dumps([asdict(one) for one in found], indent=1))
    return {one.name: one for one in found}


def record_select(cluster: Cluster, folder: Path, tables: Mapping[str, Definition]) -> None:
    """All rows at ALL. Not-a-numbers and infinities, which SELECT JSON shows as null, come from a cast to text."""
    with cluster.nodes[1].session() as session, (folder / "select.jsonl").open("w") as out:
        for table in tables.values():
            rows = [loads(text) for text in _asked(session, f"SELECT JSON * FROM {KEYSPACE}.{table.name}")]
            floats = [name for name, type_ in table.types.items() if type_ in ("float", "double")]
            if floats:
                casts = ", ".join(f"CAST({name} AS text) AS {name}" for name in floats)
                names = ", ".join(table.key)
                exact = [
                    loads(text)
                    for text in _asked(session, f"SELECT JSON {names}, {casts} FROM {KEYSPACE}.{table.name}")
                ]
                by_key = {dumps([row[name] for name in table.key]): row for row in exact}
                rows = [{**row, **by_key.get(dumps([row[name] for name in table.key]), {})} for row in rows]
            for row in rows:
                out.write(f'{{"table":{json.dumps(table.name)},"row":{dumps(row)}}}\n')


def _asked(session: Any, cql: str) -> list[str]:
    """All answers of a SELECT JSON at ALL; asked again where a busy node did not answer in time."""
    tries = 0
    while True:
        try:
            return [row[0] for row in session.execute(at_level(cql, "ALL"), timeout=SELECT_SECONDS)]
        except refusals():
            tries += 1
            if tries == SELECT_TRIES:
                raise
            time.sleep(SELECT_SECONDS / 10)


def record_sqlite(folder: Path, tables: Mapping[str, Definition]) -> None:
    with closing(sqlite3.connect(f"file:{folder / 'kept.db'}?mode=ro", uri=True, timeout=30)) as database:
        database.row_factory = sqlite3.Row
        there = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        with (folder / "kept-sqlite.jsonl").open("w") as out:
            for table in tables.values():
                if table.kept_as() in there:
                    for row in database.execute(f'SELECT * FROM "{table.kept_as()}"'):
                        values = {name: _kept_bytes(value) for name, value in dict(row).items()}
                        out.write(json.dumps({"table": table.name, "row": values}) + "\n")


def record_postgresql(folder: Path, tables: Mapping[str, Definition], url: str, password: str) -> None:
    """Each column as text."""
    with psycopg.connect(url, password=password) as connection, (folder / "kept-postgresql.jsonl").open("w") as out:
        connection.execute("SET TIME ZONE 'UTC'")
        for table in tables.values():
            query = (
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND table_schema = 'public'"
            )
            names = [row[0] for row in connection.execute(query, (table.kept_as(),))]
            if names:
                columns = ", ".join(f'"{name}"::text' for name in names)
                for row in connection.execute(f'SELECT {columns} FROM "{table.kept_as()}"'.encode()):
                    out.write(json.dumps({"table": table.name, "row": dict(zip(names, row, strict=True))}) + "\n")


def recorded(folder: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Table and row of each line of `NAME.jsonl`; numbers with a point keep their spelling."""
    with (folder / f"{name}.jsonl").open() as lines:
        for line in lines:
            found = loads(line)
            yield found["table"], {column: _bytes(value) for column, value in found["row"].items()}


def _kept_bytes(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _bytes(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == ["base64"]:
        return base64.b64decode(value["base64"])
    return value
