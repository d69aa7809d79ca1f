"""A file of the state that is one JSON object, read by the version in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from tailer.errors import RefusedError
from tailer.state.modes import read_file
from tailer.typed_decode import decode_json
from tailer.versions import Versioned, check_version

T = TypeVar("T")


def read_versioned(
    path: Path, decode: Callable[[bytes, int], T], newest: int, what: str, *, remedy: str, or_else: str = ""
) -> T | None:
    """What a file's JSON says; None where there is no file. RefusedError for a version or a form that is not known.

    `decode`: of the text and its version. `remedy`: for a file that cannot be read; `or_else`: see `check_version`.
    """
    try:
        data = read_file(path)
    except FileNotFoundError:
        return None
    try:
        found = decode_json(data, Versioned).v
        check_version(found, newest, what, file=str(path), or_else=or_else)
        return decode(data, found)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise RefusedError(f"{what} cannot be read: {error}", file=str(path), remedy=remedy) from error
