"""Images of one table as what becomes of each row: the last word counts, and what is known goes together. Pure.

What is not known of a row is left as it stands in the target. Knows no target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tailer.rows.image_ops import check_op

Key = tuple[Any, ...]

Fields = Mapping[str, Any]
"""An image as an Arrow batch has it."""


class Source(Protocol):
    """What a target makes of keys and rows of the table."""

    def key_of(self, partition_key: Any, clustering: Any | None) -> Key:
        """Of a row; of a static row without `clustering`."""
        ...

    def values_of(self, row: Any, *, static: bool) -> dict[str, Any]:
        """By column what an image's `after` says, those of the key left out."""
        ...

    def data_names(self, *, static: bool) -> frozenset[str]:
        """The regular columns, or the static ones."""
        ...


@dataclass(slots=True)
class RowNews:
    """What is to be done with a row. `gone`: it is not there. `whole`: it has `values` and nothing else; `make`: it is
    made where it is not there."""

    seq: int
    complete: bool = False
    gone: bool = False
    whole: bool = False
    make: bool = False
    values: dict[str, Any] = field(default_factory=dict)


class Folded:
    """Of rows, or of static rows, of one table."""

    def __init__(self) -> None:
        self.rows: dict[Key, RowNews] = {}

    def take(self, source: Source, image: Fields) -> Key:
        """An image of one row: its key."""
        check_op(image["op"])
        static = image["is_static"]
        key = source.key_of(image["partition_key"], None if static else image["clustering"])
        seq, after = image["seq"], image["after"]
        if after is None:
            self.rows[key] = RowNews(seq, gone=True)
            return key
        values = source.values_of(after, static=static)
        before = self.rows.get(key)
        if image["complete"]:
            self.rows[key] = RowNews(seq, complete=True, whole=True, make=True, values=values)
            return key
        makes = image["op"] != "update"
        if before is not None and before.gone:
            if makes:
                self.rows[key] = RowNews(seq, whole=True, make=True, values=values)
            return key
        # What may have changed, and is not known, is nothing that is known.
        names = source.data_names(static=static)
        unknown = {name: None for name in image["changed"] if name not in values and name in names}
        news = before or RowNews(seq)
        news.values |= unknown | values
        news.seq, news.complete, news.make = seq, False, news.make or makes
        self.rows[key] = news
        return key
