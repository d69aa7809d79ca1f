"""Images of one table as what becomes of each row: the last word counts, and what is known goes together. Pure.

What is not known of a row is left as it stands in the target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailer.sinks.database.source_table import Key, SourceTable

Fields = Mapping[str, Any]
"""An image as an Arrow batch has it."""


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

    def take(self, source: SourceTable, image: Fields) -> Key:
        """An image of one row: its key."""
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
        unknown = {name: None for name in image["changed"] if name not in values and name in _names(source, static)}
        news = before or RowNews(seq)
        news.values |= unknown | values
        news.seq, news.complete, news.make = seq, False, news.make or makes
        self.rows[key] = news
        return key


def _names(source: SourceTable, static: bool) -> frozenset[str]:
    return frozenset(column.name for column in (source.static if static else source.regular))
