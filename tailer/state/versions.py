"""The version in what is kept between runs: looked at before anything else, and refused where a newer program wrote it.

Whoever keeps something names its version and what it is; here is only how a version is read, what is said of it, and
how a file of one JSON object is read by its version.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from tailer.errors import RefusedError
from tailer.state.modes import read_file

T = TypeVar("T")

Version = Annotated[int, msgspec.Meta(ge=1)]


class Versioned(msgspec.Struct, frozen=True):
    """Of anything that is kept its version alone, whatever else is in it. What has none is of the first."""

    v: Version = 1


def check_version(found: int, newest: int, what: str, *, file: str | None = None, or_else: str = "") -> None:
    """RefusedError for a version beyond the newest that is known. `or_else`: what may be done besides upgrading."""
    if found > newest:
        raise RefusedError(
            f"the version of {what}",
            file=file,
            expected=newest if newest == 1 else f"{newest} or lower",
            found=found,
            remedy=f"A newer cdc-tail wrote it: use that version{or_else}.",
        )


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
        found = msgspec.json.decode(data, type=Versioned).v
        check_version(found, newest, what, file=str(path), or_else=or_else)
        return decode(data, found)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise RefusedError(f"{what} cannot be read: {error}", file=str(path), remedy=remedy) from error
