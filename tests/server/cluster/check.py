"""Whether the rows that a reader gave hold what the ledger promises, and add up to what SELECT shows.

Every copy counts: a write is in the log of each replica, and again where hints, repair or streams brought it once more.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tailer.options.tail import TailOptions
from tests.helpers.rebuilt import known_tables, rebuilt, spelled
from tests.oracle.jsontext import dumps, loads
from tests.server.cluster.cluster import Cluster
from tests.server.cluster.ledger import Entry, Write
from tests.server.cluster.schema import tables
from tests.server.followers import JSON_COLUMNS

Row = Mapping[str, Any]


class Copies(NamedTuple):
    """For each acknowledged write, in their order, the nodes in whose rows it is, as often as it is there."""

    of: list[tuple[Entry, list[str]]]

    @property
    def missing(self) -> list[Entry]:
        return [entry for entry, nodes in self.of if not nodes]

    def spread(self) -> dict[int, int]:
        """How many writes have so many copies."""
        return dict(sorted(Counter(len(nodes) for _, nodes in self.of).items()))

    def nodes_of(self, keyspace: str) -> dict[int, int]:
        """How many writes of the keyspace are in the rows of so many nodes."""
        found = [len(set(nodes)) for entry, nodes in self.of if entry.write.table.startswith(f"{keyspace}.")]
        return dict(sorted(Counter(found).items()))


class Found:
    """Rows by what a write is told by; they are added as they come. `nodes`: those that there are rows of."""

    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self._rows: dict[str, list[tuple[int, Row]]] = defaultdict(list)
        self._count = 0

    def add(self, rows: Iterable[str]) -> None:
        for line in rows:
            row = json.loads(line)
            table = f"{row['keyspace']}.{row['table']}"
            name = _name(table, row["op"], row["partition_key"], row["clustering"], row["write_ts"])
            self._rows[name].append((self._count, row))
            self.nodes.add(row["node"])
            self._count += 1

    def of(self, write: Write) -> Iterator[tuple[int, Row]]:
        """The rows that are this write, with their numbers. One that repair made may hold cells of other writes too."""
        for number, row in self._rows.get(_name_of(write), ()):
            if _holds(row["columns"], write.columns) and row["range"] == write.range:
                yield number, row

    def copies(self, entries: Iterable[Entry]) -> Copies:
        return Copies([(entry, [row["node"] for _, row in self.of(entry.write)]) for entry in entries])


def differences(cluster: Cluster, rows: Sequence[str]) -> dict[str, set[str]]:
    """By table, the rows that are either in the table as the change rows rebuild it, or in SELECT at ALL, and not both.

    Tables without a difference are left out. Nobody may write meanwhile.
    """
    changes = [_as_given(line) for line in rows]
    known = known_tables(cluster.nodes[1].cdc_raw, TailOptions())
    at, found = int(time.time()), {}
    shown = {name: cluster.query(f"SELECT JSON * FROM {name}") for name in tables()}
    for id, table in known.items():
        if table.name not in shown:
            continue
        mine = [row for row in changes if row["table_id"].replace("-", "") == id]
        theirs = {spelled(loads(text)) for text in shown.pop(table.name)}
        if different := set(rebuilt(mine, table, at)) ^ theirs:
            found[table.name] = different
    assert not shown, f"no definition of {sorted(shown)} in the log"
    return found


def _name_of(write: Write) -> str:
    return _name(write.table, write.op, write.key, write.clustering, write.timestamp)


def _name(table: str, op: str, key: Any, clustering: Any, timestamp: int) -> str:
    return json.dumps([table, op, key, clustering or None, timestamp])


def _holds(columns: Row | None, wanted: Row | None) -> bool:
    return wanted is None or (columns is not None and wanted.items() <= columns.items())


def _as_given(line: str) -> dict[str, Any]:
    """A row of `--output json` with its JSON columns as text, as a frame has them."""
    row = loads(line)
    return {name: dumps(row[name]) if name in JSON_COLUMNS and row[name] is not None else row[name] for name in row}
