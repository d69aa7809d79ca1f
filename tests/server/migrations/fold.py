"""The table that row images add up to, in the form in which the server shows it.

Knows the columns of an image as documented (docs/images.md), and nothing of how images are made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tests.oracle.jsontext import dumps
from tests.server.migrations.model import FUTURE, number_of
from tests.server.migrations.server_view import Key, Row, ServerTable, value

ONE_ROW = ("insert", "update", "upsert", "delete", "expire", "read")
WHOLE_TABLES = ("schema", "delete_range", "delete_partition", "truncate")
"""Each row that goes by them has an image of its own."""

Image = Mapping[str, Any]


class Folded:
    """Of one table: `rows` with all their values by primary key, `complete` whether each is known whole: `complete` of
    an image is of its time, and counts where the row was written at `since` (µs) or later."""

    def __init__(self, table: ServerTable, dropped: Sequence[tuple[int, str]], since: int = 0) -> None:
        self.rows: dict[Key, Row] = {}
        self.complete: dict[Key, bool] = {}
        self.unknown_ops: set[str] = set()
        self._table, self._dropped, self._since = table, list(dropped), since
        self._regular: dict[str, Image] = {}
        self._static: dict[str, Image] = {}

    def take(self, images: Iterable[Image]) -> Folded:
        for image in images:
            self._forget_until(image)
            self._take(image)
        self._forget([name for _, name in self._dropped])
        self._show()
        return self

    def _take(self, image: Image) -> None:
        op = image["op"]
        if op == "drop":
            self._regular.clear()
            self._static.clear()
        elif op in ONE_ROW:
            rows = self._static if image["is_static"] else self._regular
            # By values: a renamed key column is the same column.
            rows[dumps([_values(image["partition_key"]), _values(image["clustering"])])] = image
        elif op not in WHOLE_TABLES:
            self.unknown_ops.add(op)

    def _forget_until(self, image: Image) -> None:
        """An image of an ordinary write behind a DROP of a column: what rows had in that column is gone by then."""
        partition = image["partition_key"]
        if image["write_ts"] is None or not partition or number_of(next(iter(partition.values()))) in FUTURE:
            return
        while self._dropped and image["write_ts"] > self._dropped[0][0]:
            self._forget([self._dropped.pop(0)[1]])

    def _forget(self, columns: Collection[str]) -> None:
        for rows in (self._regular, self._static):
            for key, image in rows.items():
                if image["after"] is not None:
                    after = {name: each for name, each in image["after"].items() if name not in columns}
                    rows[key] = {**image, "after": after}

    def _show(self) -> None:
        table = self._table
        statics = {dumps(_values(image["partition_key"])): image for image in self._static.values()}
        shown = set()
        for image in self._regular.values():
            if image["after"] is None:
                continue
            partition = dumps(_values(image["partition_key"]))
            shown.add(partition)
            static = statics.get(partition)
            self._put(image, table.of("regular"), static)
        for partition, image in statics.items():
            if partition not in shown and image["after"] is not None:
                self._put({**image, "after": {}}, [], image)

    def _put(self, image: Image, regular: list[str], static: Image | None) -> None:
        table = self._table
        row: Row = dict.fromkeys(table.types)
        partition, clustering = _values(image["partition_key"]), _values(image["clustering"])
        for name, given in zip(table.of("partition_key"), partition, strict=False):
            row[name] = value(given, table.types[name])
        for name, given in zip(table.of("clustering"), clustering, strict=False):
            row[name] = value(given, table.types[name])
        for name in regular:
            row[name] = value(image["after"].get(name), table.types[name])
        shared = (static["after"] or {}) if static is not None else {}
        for name in table.of("static"):
            row[name] = value(shared.get(name), table.types[name])
        key = tuple(row[name] for name in table.key)
        self.rows[key] = row
        self.complete[key] = self._is_whole(image) and (static is None or self._is_whole(static))

    def _is_whole(self, image: Image) -> bool:
        return bool(image["complete"]) and (image["write_ts"] or 0) >= self._since


def _values(key: Mapping[str, Any] | None) -> list[Any]:
    return list((key or {}).values())
