"""Images for people: what became of a row at one look, changed columns as old -> new.

    ── 2026-11-21 UTC ──
    15:31:02.123  insert  shop.orders  id=17  state=∅ → "new" total=∅ → 12.50  #1763739062123001

`?` is a value that is not known. The time is that of `write_ts`. No program should read this form.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Final

import msgspec

from tailer.images.image import Image
from tailer.images.image_rows import ImageRows
from tailer.rows.image_ops import check_op
from tailer.sinks.base import ByteStream
from tailer.sinks.pieces import BOLD, DIM, NO_STYLE, RED, TIME_COLUMNS, Piece, laid_out, painted, set_apart
from tailer.sinks.row_text import Fields, field_texts, moment, value_text
from tailer.sinks.terminal import terminal_columns
from tailer.sinks.text import pad, printable, shorten
from tailer.typed_decode import json_decoder

_COLUMNS_MIN: Final = 40
_OP_COLUMNS: Final = len("delete partition")
_NOTHING: Final = "∅"
_UNKNOWN: Final = "?"
_STYLES: Final[Mapping[str, str]] = {
    "insert": "\x1b[32m", "upsert": "\x1b[32m", "update": "\x1b[33m", "delete": RED, "expire": RED, "read": DIM,
    "delete_range": RED, "delete_partition": RED, "truncate": "\x1b[35m", "schema": "\x1b[36m", "drop": "\x1b[35m",
}  # fmt: skip


class PrettyImages:
    """A Sink of images for a terminal, or for a file that people read."""

    def __init__(self, stream: IO[bytes], *, colour: bool, columns: int | None = None) -> None:
        """`columns` = the width to keep to; None asks the terminal at each write."""
        self._terminal = stream
        self._stream = ByteStream(stream)
        self._colour = colour
        self._columns = columns
        self._date = ""

    def write(self, batch: ImageRows) -> None:
        columns = max(_COLUMNS_MIN, self._columns or terminal_columns(self._terminal, os.environ))
        lines = [line for image in batch.images for line in self._image(image, columns)]
        if lines:
            self._stream.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Nothing is open."""

    def _image(self, image: Image, columns: int) -> list[str]:
        check_op(image.op)
        date, time = moment(image.write_ts)
        lines: list[list[Piece]] = []
        if date and date != self._date:
            self._date = date
            lines.append([Piece(DIM, f"── {date} UTC ──", 0)])
        table = shorten(printable(f"{image.keyspace}.{image.table}"), max(28, columns // 3))
        head = [
            Piece(DIM, pad(shorten(time, TIME_COLUMNS), TIME_COLUMNS), 0),
            Piece(_STYLES[image.op], pad(image.op.replace("_", " "), _OP_COLUMNS), 2),
            Piece(NO_STYLE, table, 2),
        ]
        pieces = [*head, *_key(image), *_changes(image), Piece(DIM, f"#{image.seq}", 2)]
        lines += laid_out(pieces, columns)
        return [painted(line, self._colour) for line in lines]


def _key(image: Image) -> list[Piece]:
    pieces = [Piece(BOLD, text) for text in (*_texts(image.partition_key), *_texts(image.clustering))]
    if image.range is not None:
        pieces.append(Piece(BOLD, printable(image.range)))
    if image.is_static:
        pieces.append(Piece(DIM, "static"))
    return set_apart(pieces)


def _texts(text: str | None) -> list[str]:
    return field_texts(_fields(text))


def _changes(image: Image) -> list[Piece]:
    """Each column that changed, as it was and as it is."""
    before, after = _fields(image.before), _fields(image.after)
    # Any other row was there, or nobody knows; of one that is gone nothing is left.
    none = _NOTHING if image.op == "insert" else _UNKNOWN
    pieces = []
    for name in image.changed:
        if image.op == "schema":
            pieces.append(Piece(NO_STYLE, printable(name)))
            continue
        was = value_text(before[name]) if name in before else _absent(image.before, none)
        now = value_text(after[name]) if name in after else _absent(image.after, _NOTHING)
        pieces.append(Piece(NO_STYLE, f"{printable(name)}={was} → {now}"))
    if not image.complete:
        pieces.append(Piece(DIM, "(not known whole)"))
    return set_apart(pieces)


def _absent(row: str | None, unknown: str) -> str:
    return unknown if row is None else _UNKNOWN


def _fields(text: str | None) -> Fields:
    return {} if text is None else _DECODER.decode(text)


_DECODER: Final = json_decoder(dict[str, msgspec.Raw])
