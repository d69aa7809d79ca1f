"""Pieces of text on lines of a terminal: broken where a line is full, painted where there are colours. Knows no row."""

from __future__ import annotations

from typing import Final, NamedTuple

from tailer.sinks.text import ELLIPSIS, shorten, width

TIME_COLUMNS: Final = 12
_INDENT: Final = TIME_COLUMNS + 2
_LINES_MAX: Final = 5
"""Lines of one change: a row of two hundred columns must not push everything else off the screen."""
_NOTE_COLUMNS: Final = 12
"""What ` … 199 more` takes."""

_RESET: Final = "\x1b[0m"
NO_STYLE: Final = ""
DIM: Final = "\x1b[2m"
BOLD: Final = "\x1b[1m"
RED: Final = "\x1b[31m"


class Piece(NamedTuple):
    """Some text, its style, and how far it stands from what is before it on its line."""

    style: str
    text: str
    gap: int = 1


def painted(line: list[Piece], colour: bool) -> str:
    """A line as text, with colours or without."""
    text = ""
    for piece in line:
        styled = colour and piece.style
        text += " " * piece.gap + (f"{piece.style}{piece.text}{_RESET}" if styled else piece.text)
    return text.rstrip()


def set_apart(pieces: list[Piece]) -> list[Piece]:
    """The pieces, two columns behind what stands before the first."""
    return [piece._replace(gap=1 if number else 2) for number, piece in enumerate(pieces)]


def laid_out(pieces: list[Piece], columns: int) -> list[list[Piece]]:
    """Lines of at most `columns`, indented after the first; a piece that no line holds is cut at its end.

    Behind the `_LINES_MAX`th a note says how much is left.
    """
    lines: list[list[Piece]] = [[]]
    used = 0
    for number, piece in enumerate(pieces):
        left = len(pieces) - number
        if lines[-1] and used + piece.gap + width(piece.text) > columns - _note_columns(lines, left):
            if len(lines) == _LINES_MAX:
                lines[-1].append(Piece(DIM, f"{ELLIPSIS} {left} more"))
                break
            lines.append([Piece(NO_STYLE, " " * _INDENT, 0)])
            used, piece = _INDENT, piece._replace(gap=0)
        room = columns - _note_columns(lines, left) - used - piece.gap
        lines[-1].append(piece._replace(text=shorten(piece.text, room)))
        used += piece.gap + width(lines[-1][-1].text)
    return lines


def _note_columns(lines: list[list[Piece]], left: int) -> int:
    """What the note takes of the last line, if one may follow this piece."""
    return _NOTE_COLUMNS if len(lines) == _LINES_MAX and left > 1 else 0
