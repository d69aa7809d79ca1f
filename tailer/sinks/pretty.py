"""`--output pretty`: change rows for people, one change a line where it fits, a few indented lines where it does not.

    ── 2026-11-21 UTC ──
    15:31:02.123  insert      shop.orders  id=17  state="new" total=12.50
    15:31:02.907  delete row  shop.orders  id=18

The time is that of `write_ts`. What is not shown here (`cells`, `token`, `event_id`, ...) is in the other forms.
No program should read this form.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from tailer.sinks.base import ByteStream
from tailer.sinks.row_text import Row, decode_row, field_texts, moment, range_text
from tailer.sinks.text import ELLIPSIS, pad, printable, shorten, width

if TYPE_CHECKING:
    from tailer.sinks.base import Rows

_COLUMNS_MIN: Final = 40
_TIME_COLUMNS: Final = 12
_OP_COLUMNS_MIN: Final = 10
_TABLE_COLUMNS_MAX: Final = 28
_VALUE_COLUMNS_MAX: Final = 48
_INDENT: Final = _TIME_COLUMNS + 2
_LINES_MAX: Final = 5
"""Lines of one change: a row of two hundred columns must not push everything else off the screen."""
_NOTE_COLUMNS: Final = 12
"""What ` … 199 more` takes."""

_RESET: Final = "\x1b[0m"
_PLAIN: Final = ""
_DIM: Final = "\x1b[2m"
_BOLD: Final = "\x1b[1m"
_RED: Final = "\x1b[31m"
_OP_STYLES: Final[Mapping[str, str]] = {
    "insert": "\x1b[32m",
    "update": "\x1b[33m",
    "delete_row": _RED,
    "delete_range": _RED,
    "delete_partition": _RED,
    "truncate": "\x1b[35m",
    "schema": "\x1b[36m",
}


class Piece(NamedTuple):
    """Some text, its style, and how far it stands from what is before it on its line."""

    style: str
    text: str
    gap: int = 1


class PrettySink:
    """A Sink for a terminal, or for a file that people read."""

    def __init__(self, stream: IO[bytes], *, colour: bool, columns: int | None = None) -> None:
        """`columns` = the width to keep to; None asks the terminal at each write, for it may be resized."""
        self._terminal = stream
        self._stream = ByteStream(stream)
        self._colour = colour
        self._columns = columns
        self._date = ""
        self._op_columns = _OP_COLUMNS_MIN
        self._table_columns = 0

    def write(self, batch: Rows) -> None:
        columns = max(_COLUMNS_MIN, self._columns or terminal_columns(self._terminal))
        lines: list[str] = []
        for text in batch.json_lines().splitlines():
            lines += self._change(decode_row(text), columns)
        if lines:
            self._stream.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Nothing is open."""

    def _change(self, row: Row, columns: int) -> list[str]:
        date, time = moment(row.write_ts)
        lines: list[list[Piece]] = []
        if date and date != self._date:
            self._date = date
            lines.append([Piece(_DIM, f"── {date} UTC ──", 0)])
        lines += _laid_out([*self._head(row, time), *_key(row), *_values(row)], columns)
        return [self._painted(line) for line in lines]

    def _head(self, row: Row, time: str) -> list[Piece]:
        """Time, operation and table, each under that of the row before; columns only ever grow."""
        table = shorten(printable(f"{row.keyspace}.{row.table}"), _TABLE_COLUMNS_MAX)
        self._table_columns = max(self._table_columns, width(table))
        op = row.op.replace("_", " ")
        self._op_columns = max(self._op_columns, len(op))
        return [
            Piece(_DIM, pad(shorten(time, _TIME_COLUMNS), _TIME_COLUMNS), 0),
            Piece(_OP_STYLES.get(row.op, _PLAIN), pad(op, self._op_columns), 2),
            Piece(_PLAIN, pad(table, self._table_columns), 2),
        ]

    def _painted(self, line: list[Piece]) -> str:
        text = ""
        for piece in line:
            painted = self._colour and piece.style
            text += " " * piece.gap + (f"{piece.style}{piece.text}{_RESET}" if painted else piece.text)
        return text.rstrip()


def wants_colour(stream: IO[bytes], environ: Mapping[str, str]) -> bool:
    """Colour only on a terminal that has it, and not where NO_COLOR says no (no-color.org)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def terminal_columns(stream: IO[bytes]) -> int:
    """The terminal's width; 80 where there is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _key(row: Row) -> list[Piece]:
    pieces = [Piece(_BOLD, text) for text in (*field_texts(row.partition_key), *field_texts(row.clustering))]
    if row.range is not None:
        pieces.append(Piece(_BOLD, range_text(row.range)))
    if row.is_static:
        pieces.append(Piece(_DIM, "static"))
    return _set_apart(pieces)


def _values(row: Row) -> list[Piece]:
    pieces = [Piece(_PLAIN, text) for text in field_texts(row.columns)]
    if row.ttl is not None:
        pieces.append(Piece(_DIM, f"ttl={row.ttl}s"))
    return _set_apart(pieces)


def _set_apart(pieces: list[Piece]) -> list[Piece]:
    return [piece._replace(gap=1 if number else 2) for number, piece in enumerate(pieces)]


def _laid_out(pieces: list[Piece], columns: int) -> list[list[Piece]]:
    """Lines of at most `columns`, indented after the first; behind the `_LINES_MAX`th a note says how much is left."""
    lines: list[list[Piece]] = [[]]
    used = 0
    for number, piece in enumerate(pieces):
        longest = min(_VALUE_COLUMNS_MAX, columns - _INDENT - _NOTE_COLUMNS)
        piece = piece._replace(text=shorten(piece.text, longest))
        taken = piece.gap + width(piece.text)
        last_line = len(lines) == _LINES_MAX
        room = columns - (_NOTE_COLUMNS if last_line and number + 1 < len(pieces) else 0)
        if used + taken > room and lines[-1]:
            if last_line:
                lines[-1].append(Piece(_DIM, f"{ELLIPSIS} {len(pieces) - number} more"))
                break
            lines.append([Piece(_PLAIN, " " * _INDENT, 0)])
            used, piece = _INDENT, piece._replace(gap=0)
        lines[-1].append(piece)
        used += piece.gap + width(piece.text)
    return lines
