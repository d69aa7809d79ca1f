"""How the columns of a table are shown, by its definition: the shape of each, and the order of the clustering ones.

Definitions come from who asks for the rows; a table without one is shown as its rows spell it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tailer.sinks.change_text import column_text
from tailer.sinks.range_text import range_texts
from tailer.sinks.row_text import Fields, Range
from tailer.types import Shape, parse_type

if TYPE_CHECKING:
    from tailer.schema.model import TableDefinition

Tables = Callable[[str], "TableDefinition | None"]
"""The newest definition of a table by its id as 32 hex digits; None where none is known."""


class TableText:
    """What people are shown of one table's values."""

    def __init__(self, definition: TableDefinition | None) -> None:
        self._definition = definition
        self._types: dict[str, str] = {}
        self._shapes: dict[str, Shape] = {}
        self._descending: list[bool] | None = None
        if definition is not None:
            # A column that was dropped and added again is the one that is there.
            columns = sorted(definition.data_columns, key=lambda column: not column.dropped)
            self._types = {column.name: column.type for column in columns}
            self._descending = [column.desc for column in definition.clustering]

    def columns(self, fields: Fields | None) -> list[str]:
        """What a change did to each of these columns."""
        return [column_text(name, value, self._shape(name)) for name, value in (fields or {}).items()]

    def range(self, deleted: Range) -> list[str]:
        """The conditions that rows fulfil which a range delete took away."""
        return range_texts(deleted, self._descending)

    def _shape(self, name: str) -> Shape:
        shape = self._shapes.get(name)
        if shape is None:
            shape = self._shapes[name] = self._parsed(name)
        return shape

    def _parsed(self, name: str) -> Shape:
        known = self._types.get(name)
        if known is None or self._definition is None:
            return Shape.SIMPLE
        return parse_type(known, self._definition.types).shape


PLAIN: Final = TableText(None)
"""Of values that are no table's."""


class TableTexts:
    """The tables of some rows, each looked up once: for as long as no definition changes."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known: dict[str, TableText] = {}

    def of(self, table_id: str) -> TableText:
        """The table of that id, as rows have it."""
        text = self._known.get(table_id)
        if text is None:
            text = self._known[table_id] = TableText(self._tables(table_id.replace("-", "")))
        return text
