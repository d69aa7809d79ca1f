"""What a stream is to people: how wide, and whether it has colours. Knows no text and no row."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Any, Final

COLUMNS_WITHOUT: Final = 80
"""Where neither a terminal nor COLUMNS says how wide it is."""


def wants_colour(stream: IO[Any], environ: Mapping[str, str]) -> bool:
    """Colour only on a terminal that has it, and not where NO_COLOR says no (no-color.org)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def terminal_columns(stream: IO[Any], environ: Mapping[str, str]) -> int:
    """The terminal's width; of a pipe or a file what COLUMNS says, for whoever reads it there."""
    try:
        found = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        found = 0
    said = environ.get("COLUMNS", "")
    return found or (int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 0) or COLUMNS_WITHOUT
