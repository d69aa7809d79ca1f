"""The rows of one table of a database that is kept as one of the source is: what images do to them.

Every call is inside a transaction. Knows no kind of database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tailer.sinks.database import statements
from tailer.sinks.database.columns import TargetForm
from tailer.sinks.database.folded import Folded, Key, RowNews
from tailer.sinks.database.names import quoted, spelled
from tailer.sinks.database.source_table import COMPLETE, SEQ, SourceTable
from tailer.sinks.database.store import Store

Image = Mapping[str, Any]


class KeptTable:
    """By one definition. `name`, `beside`: of the table, and of the one that has its static rows.

    `other_keys`: the images have keys by an earlier definition, which read differently (rule `rewrite_keys`). No row is
    written by such a key, and one that has it is deleted: behind the `schema` image of the table's definition there is
    an image of each row.
    """

    def __init__(self, store: Store, name: str, beside: str, source: SourceTable, *, other_keys: bool = False) -> None:
        self._store, self._name, self._source = store, name, source
        self._beside, self._other_keys = beside, other_keys
        self._rows, self._statics = Folded(), Folded()
        self._touched: dict[Key, None] = {}

    def take(self, image: Image) -> None:
        """The next image, of a row or of several; what it does is in the database behind `flush`."""
        act = self._of_many.get(image["op"])
        if act is None:
            self._take_row(image)
        else:
            self.flush()
            act(image)

    def flush(self) -> None:
        """Write what was taken."""
        self._apply(self._name, self._source.form, self._rows)
        if self._source.static:
            self._apply(self._beside, self._source.static_form, self._statics)
            self._join(list(self._touched))
        self.forget()

    def forget(self) -> None:
        """Take nothing of what was not written."""
        self._rows, self._statics, self._touched = Folded(), Folded(), {}

    @property
    def _tables(self) -> tuple[str, ...]:
        return (self._name, self._beside) if self._source.static else (self._name,)

    @property
    def _of_many(self) -> Mapping[str, Callable[[Image], None]]:
        return {
            "truncate": self._truncate,
            "delete_partition": self._delete_partition,
            "delete_range": self._delete_range,
        }

    def _take_row(self, image: Image) -> None:
        static = image["is_static"]
        if static and not self._source.static:
            # The last static column was dropped: there are no static rows any more.
            return
        if self._other_keys:
            image = {**image, "after": None}
        key = (self._statics if static else self._rows).take(self._source, image)
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


def _picked(news: RowNews, columns: Sequence[str]) -> list[Any]:
    return [news.values.get(name) for name in columns]
