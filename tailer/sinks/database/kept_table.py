"""One table of a database that is kept as one of the source is: its columns, and what images do to its rows.

Every call is inside a transaction. Knows no kind of database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tailer.schema.model import TableDefinition
from tailer.sinks.database import statements
from tailer.sinks.database.columns import TargetForm
from tailer.sinks.database.folded import Folded, Key, RowNews
from tailer.sinks.database.names import quoted, spelled
from tailer.sinks.database.shape import check_conflicts, fit_table, make_table
from tailer.sinks.database.source_table import COMPLETE, SEQ, SourceTable
from tailer.sinks.database.store import Store
from tailer.sinks.database.tables_kept import TablesKept

STATIC: Final = "_static"

Image = Mapping[str, Any]


class KeptTable:
    """Of one commit. `name`: in the database; `source`, `definition`: the source's newest."""

    def __init__(
        self, store: Store, name: str, source: SourceTable, definition: TableDefinition, known: TablesKept
    ) -> None:
        self._store, self._name, self._source, self._known = store, name, source, known
        self._beside = name + STATIC
        self._definition = definition
        self._rows, self._statics = Folded(), Folded()
        self._touched: dict[Key, None] = {}

    def fit(self) -> list[str]:
        """Make what is not there, and add the columns that are missing: which."""
        added = self._fit(self._name, self._source.form)
        if self._source.static:
            is_new = not self._store.columns(self._beside)
            self._fit(self._beside, self._source.static_form)
            if is_new:
                self._store.run(statements.keep_statics(self._name, self._beside, self._source))
        return added

    def take(self, images: Sequence[Image]) -> None:
        """Images in their order: all of it stands in the database when this returns."""
        if images[0]["table_id"] in self._known.of(self._name).gone:
            # What still comes of it is nothing.
            return
        if self._known.replaced(self._name, images[0]["table_id"]):
            # The table that it was before is gone, though nobody saw it go.
            self._clear()
        for image in images:
            act = self._of_many.get(image["op"])
            if act is None:
                self._take_row(image)
            else:
                self._flush()
                act(image)
        self._flush()

    def _flush(self) -> None:
        self._apply(self._name, self._source.form, self._rows)
        if self._source.static:
            self._apply(self._beside, self._source.static_form, self._statics)
            self._join(list(self._touched))
        self._rows, self._statics, self._touched = Folded(), Folded(), {}

    @property
    def _tables(self) -> tuple[str, ...]:
        return (self._name, self._beside) if self._source.static else (self._name,)

    @property
    def _of_many(self) -> Mapping[str, Callable[[Image], None]]:
        return {
            "drop": self._drop,
            "truncate": self._truncate,
            "schema": self._schema,
            "delete_partition": self._delete_partition,
            "delete_range": self._delete_range,
        }

    def _take_row(self, image: Image) -> None:
        key = (self._statics if image["is_static"] else self._rows).take(self._source, image)
        self._touched[key[: len(self._source.partition)]] = None

    def _apply(self, table: str, form: TargetForm, folded: Folded) -> None:
        many = self._store.many
        gone = [(*key, news.seq) for key, news in folded.rows.items() if news.gone]
        many(statements.remove(self._store, table, form), gone)
        groups: dict[tuple[bool, bool, tuple[str, ...]], list[tuple[Key, RowNews]]] = defaultdict(list)
        for key, news in folded.rows.items():
            if not news.gone:
                names = () if news.whole else tuple(sorted(news.values))
                groups[news.whole, news.make, names].append((key, news))
        for (whole, make, names), rows in groups.items():
            columns = self._columns(form) if whole else names
            if make:
                put = statements.put(self._store, table, form, (*form.keys, *columns, SEQ, COMPLETE))
                many(put, [(*key, *_picked(news, columns), news.seq, news.complete) for key, news in rows])
            else:
                change = statements.change(self._store, table, form, (*columns, COMPLETE, SEQ))
                values = [(*_picked(news, columns), news.complete, news.seq, *key, news.seq) for key, news in rows]
                many(change, values)

    def _columns(self, form: TargetForm) -> tuple[str, ...]:
        """What an image of a whole row of that form says."""
        columns = self._source.static if form == self._source.static_form else self._source.regular
        return tuple(column.name for column in columns)

    def _join(self, partitions: list[Key]) -> None:
        """The rows of partitions show their static rows."""
        store, source = self._store, self._source
        store.many(statements.hide_alone(store, self._name, source), partitions)
        store.many(statements.show_static(store, self._name, self._beside, source), partitions)
        store.many(statements.show_alone(store, self._name, self._beside, source), partitions)

    def _drop(self, image: Image) -> None:
        self._clear()
        self._known.gone(self._name, image["table_id"])

    def _truncate(self, image: Image) -> None:
        """Rows that images told of have images of their own; of those that the table had before none is left."""
        unknown = statements.unknown_rows(self._store, self._name, self._source, partition=False)
        for table in self._tables:
            self._store.run(f"DELETE FROM {spelled(table)} AS t WHERE {unknown}")
        if self._source.static:
            self._store.run(statements.without_statics(self._name, self._beside, self._source))

    def _delete_partition(self, image: Image) -> None:
        """Likewise."""
        unknown = statements.unknown_rows(self._store, self._name, self._source, partition=True)
        for table in self._tables:
            self._of_partition(statements.delete(self._store, table, unknown), image)
        if self._source.static:
            self._join([self._source.key_of(image["partition_key"], None)])

    def _delete_range(self, image: Image) -> None:
        """Of rows that the table had before nobody can tell which are in the range, by the database's own order."""
        unknown = statements.unknown_rows(self._store, self._name, self._source, partition=True)
        maybe = f"{quoted(COMPLETE)} = {self._store.no}"
        self._of_partition(statements.update(self._store, self._name, maybe, unknown), image)

    def _of_partition(self, statement: str, image: Image) -> None:
        self._store.many(statement, [self._source.key_of(image["partition_key"], None)])

    def _schema(self, image: Image) -> None:
        """Columns that were dropped have no values any more, also where they are there again."""
        again = {
            each.name: each.dropped_time
            for each in self._definition.data_columns
            if not each.dropped and each.dropped_time is not None
        }
        before = self._known.of(self._name).dropped
        live = {column.name for column in (*self._source.key, *self._source.static, *self._source.regular)}
        there = {column.name for column in self._store.columns(self._name)}
        void = [name for name in image["changed"] if name in there and (name not in live or name in again)]
        for name in void:
            if name in live and before.get(name) == again[name] and self._has_own_type(name):
                # A field of its type may have changed, or the column was dropped once more.
                self._everywhere(f"{quoted(COMPLETE)} = {self._store.no}", name)
            else:
                self._everywhere(f"{quoted(name)} = NULL", name)
        self._known.dropped(self._name, {name: time for name, time in again.items() if time is not None})

    def _everywhere(self, sets: str, column: str) -> None:
        where = f"WHERE {quoted(column)} IS NOT NULL"
        self._store.run(f"UPDATE {spelled(self._name)} SET {sets} {where}")
        if column in {each.name for each in self._store.columns(self._beside)}:
            self._store.run(f"UPDATE {spelled(self._beside)} SET {sets} {where}")

    def _has_own_type(self, name: str) -> bool:
        (type_,) = (each.type for each in self._definition.columns if each.name == name)
        return any(known in type_ for known in self._definition.types)

    def _clear(self) -> None:
        self._rows, self._statics, self._touched = Folded(), Folded(), {}
        self._store.run(f"DELETE FROM {spelled(self._name)}")
        if self._store.columns(self._beside):
            self._store.run(f"DELETE FROM {spelled(self._beside)}")

    def _fit(self, table: str, form: TargetForm) -> list[str]:
        there = self._store.columns(table)
        if not there:
            make_table(self._store, table, form)
            return []
        added = fit_table(self._store, table, form, there)
        check_conflicts(self._store, table, form)
        return added


def _picked(news: RowNews, columns: Sequence[str]) -> list[Any]:
    return [news.values.get(name) for name in columns]
