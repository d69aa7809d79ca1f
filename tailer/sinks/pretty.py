"""`--output pretty`: change rows for people, one change a line where it fits, a few indented lines where it does not.

    ── 2026-11-21 UTC ──
    15:31:02.123  insert      shop.orders  id=17  state="new" total=12.50
    15:31:02.907  delete row  shop.orders  id=18
    15:31:03.411  update      shop.orders  id=19  tags + "gift" - "new"

The time is that of `write_ts`. What is not shown here (`cells`, `token`, `event_id`, ...) is in the other forms.
No program should read this form.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Final

from tailer.sinks.base import ByteStream
from tailer.sinks.pieces import BOLD, DIM, NO_STYLE, RED, TIME_COLUMNS, Piece, laid_out, painted, set_apart
from tailer.sinks.row_text import Row, decode_row, field_texts, moment
from tailer.sinks.table_text import PLAIN, TableText, TableTexts
from tailer.sinks.terminal import terminal_columns
from tailer.sinks.text import pad, printable, shorten, width

if TYPE_CHECKING:
    from tailer.schema.typed import TypedTable
    from tailer.sinks.base import Rows
    from tailer.sinks.table_text import Tables

_COLUMNS_MIN: Final = 40
_OP_COLUMNS_MIN: Final = 10
_TABLE_COLUMNS_MAX: Final = 28
"""Of a terminal of eighty; of a wider one a third."""
_OP_STYLES: Final[Mapping[str, str]] = {
    "insert": "\x1b[32m",
    "snapshot": "\x1b[32m",
    "update": "\x1b[33m",
    "delete_row": RED,
    "delete_range": RED,
    "delete_partition": RED,
    "truncate": "\x1b[35m",
    "schema": "\x1b[36m",
    "snapshot_range": "\x1b[36m",
}


class PrettySink:
    """A Sink for a terminal, or for a file that people read."""

    def __init__(
        self,
        stream: IO[bytes],
        tables: Tables,
        *,
        colour: bool,
        typed: TypedTable | None = None,
        columns: int | None = None,
    ) -> None:
        """`tables`: definitions by id, without which collections and ranges are shown as the rows spell them.

        `typed`: the rows are of that typed form. `columns` = the width to keep to; None asks the terminal at each
        write, for it may be resized.
        """
        self._terminal = stream
        self._stream = ByteStream(stream)
        self._tables = tables
        self._colour = colour
        self._columns = columns
        self._date = ""
        self._op_columns = _OP_COLUMNS_MIN
        self._table_columns = 0
        self._read: Callable[[bytes], Row] = decode_row
        if typed is not None:
            from tailer.sinks.typed_rows import TypedRows

            self._read = TypedRows(typed).read

    def write(self, batch: Rows) -> None:
        columns = max(_COLUMNS_MIN, self._columns or terminal_columns(self._terminal, os.environ))
        tables = TableTexts(self._tables)
        lines: list[str] = []
        for text in batch.json_lines().splitlines():
            row = self._read(text)
            lines += self._change(row, PLAIN if row.op == "schema" else tables.of(row.table_id), columns)
        if lines:
            self._stream.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Nothing is open."""

    def _change(self, row: Row, table: TableText, columns: int) -> list[str]:
        date, time = moment(row.write_ts)
        lines: list[list[Piece]] = []
        if date and date != self._date:
            self._date = date
            lines.append([Piece(DIM, f"── {date} UTC ──", 0)])
        lines += laid_out([*self._head(row, time, columns), *_key(row, table), *_values(row, table)], columns)
        return [painted(line, self._colour) for line in lines]

    def _head(self, row: Row, time: str, columns: int) -> list[Piece]:
        """Time, operation and table, each under that of the row before; columns only ever grow."""
        table = shorten(printable(f"{row.keyspace}.{row.table}"), max(_TABLE_COLUMNS_MAX, columns // 3))
        self._table_columns = max(self._table_columns, width(table))
        op = row.op.replace("_", " ")
        self._op_columns = max(self._op_columns, len(op))
        return [
            Piece(DIM, pad(shorten(time, TIME_COLUMNS), TIME_COLUMNS), 0),
            Piece(_OP_STYLES.get(row.op, NO_STYLE), pad(op, self._op_columns), 2),
            Piece(NO_STYLE, pad(table, self._table_columns), 2),
        ]


def _key(row: Row, table: TableText) -> list[Piece]:
    pieces = [Piece(BOLD, text) for text in (*field_texts(row.partition_key), *field_texts(row.clustering))]
    if row.range is not None:
        pieces += [Piece(BOLD, text) for text in table.range(row.range)]
    if row.is_static:
        pieces.append(Piece(DIM, "static"))
    return set_apart(pieces)


def _values(row: Row, table: TableText) -> list[Piece]:
    pieces = [Piece(NO_STYLE, text) for text in table.columns(row.columns)]
    if row.ttl is not None:
        pieces.append(Piece(DIM, f"ttl={row.ttl}s"))
    return set_apart(pieces)
