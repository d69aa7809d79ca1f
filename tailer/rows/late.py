"""Change rows that come later than their place in the log: the generic form with one more column. Knows no log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tailer.rows.batch import Batch, Row, TableName, arrow_schema

if TYPE_CHECKING:
    import pyarrow

LATE: Final = "late"
"""The column's name. It stands behind all others, and is true."""

_END: Final = b"}\n"
_MARKED: Final = b',"%s":true}\n' % LATE.encode()


@dataclass(frozen=True, slots=True)
class LateBatch:
    """Rows of the generic form, each marked `late`."""

    rows_alone: Batch

    def __len__(self) -> int:
        return len(self.rows_alone)

    def column(self, name: str) -> list[Any]:
        """The values of one of COLUMNS, or of LATE."""
        return [True] * len(self) if name == LATE else self.rows_alone.column(name)

    def rows(self) -> Iterator[Row]:
        """The rows one by one, without the mark."""
        return self.rows_alone.rows()

    def slice(self, start: int, stop: int | None = None) -> LateBatch:
        """The rows from `start` to before `stop`, as Python slices count."""
        return LateBatch(self.rows_alone.slice(start, stop))

    def rows_by_table(self) -> Mapping[TableName, int]:
        """How many rows are of each table."""
        return self.rows_alone.rows_by_table()

    def json_lines(self) -> bytes:
        """As of the other rows; a line feed never stands inside a row's text."""
        return self.rows_alone.json_lines().replace(_END, _MARKED)

    def to_arrow(self) -> pyarrow.RecordBatch:
        """An Arrow record batch of `late_schema()`."""
        import pyarrow

        alone = self.rows_alone.to_arrow()
        marks = pyarrow.array([True] * len(self), pyarrow.bool_())
        return pyarrow.RecordBatch.from_arrays([*alone.columns, marks], schema=late_schema())


@cache
def late_schema() -> pyarrow.Schema:
    """The Arrow schema of late change rows."""
    import pyarrow

    return arrow_schema().append(pyarrow.field(LATE, pyarrow.bool_()))
