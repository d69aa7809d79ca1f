"""A file of the state that is one JSON object, read by the version in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tailer.state.modes import read_file
from tailer.versions import decode_versioned

T = TypeVar("T")


def read_versioned(
    path: Path,
    decode: Callable[[bytes, int], T],
    newest: int,
    what: str,
    *,
    remedy: str,
    or_else: str = "",
    named: bool = True,
) -> T | None:
    """What a file's JSON says; None where there is no file. RefusedError for a version or a form that is not known.

    `remedy`: for a file that cannot be read. The rest: see `decode_versioned`.
    """
    try:
        data = read_file(path)
    except FileNotFoundError:
        return None
    return decode_versioned(data, decode, newest, what, file=str(path), remedy=remedy, or_else=or_else, named=named)
