"""The merged rows of one keyspace's `system_schema` partitions, and the bases that lie under them.

Applies deltas in any order (last write wins); says nothing of what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator

from tailer.schema.rows import BASE_TS, RangeDeletion, Row, SchemaDelta

NamedRows = dict[str, Row]
"""Rows of `columns` or `dropped_columns` of one table, by column name."""


class Base:
    """One table as a CQL file or a server's response reports it.

    `heading` is the system table that names it (`tables` or `views`). `id` is "" as long as nobody knows it. Rows of a
    response have the server's own timestamps, and merge with the log's rows by them; rows of a file are at `BASE_TS`,
    below every row of a log, and so are rows of a response from which a later change was taken back.
    """

    def __init__(self, heading: str, *, response: bool = False) -> None:
        self.heading = heading
        self._response = response
        self.id = ""
        self.row = Row()
        self.columns: dict[str, NamedRows] = {"columns": {}, "dropped_columns": {}}

    def add(self, delta: SchemaDelta) -> None:
        if delta.table == self.heading:
            self.row.merge(delta)
            self.id = str(self.row.value("id") or "")
        else:
            self.columns[delta.table].setdefault(delta.clustering[1], Row()).merge(delta)

    @property
    def timed(self) -> bool:
        """Whether its rows have the server's timestamps."""
        return self.row.newest > BASE_TS

    @property
    def id_written(self) -> int:
        """The timestamp of the table's id."""
        return self.row.cells.get("id", (BASE_TS, None))[0]

    @property
    def oldest(self) -> int:
        """The lowest timestamp of a live column: no row of this table is older."""
        return min((row.newest for row in self.columns["columns"].values()), default=BASE_TS)

    def lay_over(self, older: Base) -> None:
        """Keep what an older base knew beyond this one.

        A file that is given later replaces what a file said before: columns it has not are dropped. Rows with
        timestamps merge by them. A response that lacks a row does not say that it was dropped.
        """
        for table, rows in older.columns.items():
            for name, row in rows.items():
                held = self.columns[table].get(name)
                if held is not None:
                    if row.newest > BASE_TS:
                        held.join(row)
                    continue
                if not (self._response or self.timed or row.newest > BASE_TS):
                    row.delete(BASE_TS)
                self.columns[table][name] = row
        if older.timed:
            self.row.join(older.row)


class KeyspaceRows:
    """Every tracked row of one keyspace: system table → first clustering value (a table's or type's name) → rest → row.

    `horizon` is the timestamp at which a table's own rows begin, where an earlier table had the same name.
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, dict[tuple[str, ...], Row]]] = {}
        self._partitions: dict[str, int] = {}
        self._ranges: dict[str, list[RangeDeletion]] = {}
        self.horizon: dict[str, int] = {}

    def apply(self, delta: SchemaDelta) -> Iterator[str]:
        """Merge one delta; gives the names (of tables or types) whose rows it changed."""
        if delta.partition_deletion is not None:
            held = self._partitions.get(delta.table, BASE_TS)
            self._partitions[delta.table] = max(held, delta.partition_deletion)
            for name, rows in self._rows.get(delta.table, {}).items():
                for row in rows.values():
                    row.delete(delta.partition_deletion)
                yield name
        elif delta.range is not None:
            self._ranges.setdefault(delta.table, []).append(delta.range)
            for name, rows in self._rows.get(delta.table, {}).items():
                covered = [row for rest, row in rows.items() if delta.range.covers((name, *rest))]
                for row in covered:
                    row.delete(delta.range.ts)
                if covered:
                    yield name
        else:
            self._row(delta.table, delta.clustering).merge(delta)
            yield delta.clustering[0]

    def heading(self, table: str, name: str) -> Row | None:
        """The row of `tables` or `views` for a name; None if the log had none of the table that has it now."""
        row = self._rows.get(table, {}).get(name, {}).get(())
        return row if row is not None and row.newest >= self.horizon.get(name, BASE_TS) else None

    def type_row(self, name: str) -> Row | None:
        return self._rows.get("types", {}).get(name, {}).get(())

    def named(self, table: str, name: str) -> NamedRows:
        """The rows of `columns` or `dropped_columns` of the table that has the name now, by column name."""
        horizon = self.horizon.get(name, BASE_TS)
        rows = self._rows.get(table, {}).get(name, {})
        return {rest[0]: row for rest, row in rows.items() if row.newest >= horizon}

    def newest(self, table: str, clustering: tuple[str, ...]) -> int:
        """The highest timestamp in a row of the log; `BASE_TS` if it has none: a deletion then covers a base."""
        row = self._rows.get(table, {}).get(clustering[0], {}).get(clustering[1:])
        return row.newest if row is not None else BASE_TS

    def deletion_over(self, table: str, clustering: tuple[str, ...]) -> int | None:
        """The deletion in the log that covers a base's row with a lower or equal timestamp; None if there is none."""
        row = self._rows.get(table, {}).get(clustering[0], {}).get(clustering[1:])
        deletion = row.deletion if row is not None else self._covering(table, clustering)
        return deletion if deletion is not None and deletion >= self.horizon.get(clustering[0], BASE_TS) else None

    def _row(self, table: str, clustering: tuple[str, ...]) -> Row:
        rows = self._rows.setdefault(table, {}).setdefault(clustering[0], {})
        row = rows.get(clustering[1:])
        if row is None:
            row = rows[clustering[1:]] = Row()
            covering = self._covering(table, clustering)
            if covering is not None:
                row.delete(covering)
        return row

    def _covering(self, table: str, clustering: tuple[str, ...]) -> int | None:
        known = [held.ts for held in self._ranges.get(table, ()) if held.covers(clustering)]
        if table in self._partitions:
            known.append(self._partitions[table])
        return max(known, default=None)
