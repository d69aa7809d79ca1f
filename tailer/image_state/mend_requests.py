"""Rows that `compare --mend` found to differ, left beside a state for the process that has it: files, one a call.

    mend-<id>.json    checksum (blake2b of the second line, 32 hex digits) | newline | JSON

The process asks the server for these rows again, and removes the file when that is durable in the state. A file that is
found after a kill is taken once more, which changes nothing. Knows no server.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec

from tailer.errors import RefusedError
from tailer.state.modes import read_file, replace_file
from tailer.system_errors import told
from tailer.versions import decode_versioned, decode_whole

VERSION: Final = 1

_PATTERN: Final = "mend-*.json"
_DIGEST_BYTES: Final = 16
_WHAT: Final = "a request of compare --mend"
_REMEDY: Final = "Remove the file and give `cdc-tail compare --mend` again."


class MendRow(msgspec.Struct, frozen=True):
    """A row by the names that the state has: partition, key, and framed clustering values."""

    partition: bytes
    row: bytes
    clustering: bytes


class MendRequest(msgspec.Struct, frozen=True):
    """`table_id`: 32 hex digits."""

    v: int
    table_id: str
    rows: tuple[MendRow, ...]


def leave(folder: Path, table_id: str, rows: tuple[MendRow, ...]) -> None:
    """Leave a request beside a state, durably. UsageError where this user may not write there."""
    data = msgspec.json.encode(MendRequest(VERSION, table_id, rows))
    replace_file(folder / f"mend-{uuid4().hex}.json", _checksum(data) + b"\n" + data)


def remove(path: Path) -> None:
    """Remove a request that was taken, or that nobody can take."""
    with told("cannot remove a request of compare --mend", path, writes=True):
        path.unlink()


def requests(folder: Path) -> Iterator[tuple[Path, MendRequest]]:
    """What was left and not removed. RefusedError for a file that is not whole, or of a later version."""
    for path in sorted(folder.glob(_PATTERN)):
        checksum, _, data = read_file(path).partition(b"\n")
        if checksum != _checksum(data):
            raise RefusedError(
                f"{_WHAT} is damaged",
                file=str(path),
                expected="a checksum that fits",
                found=checksum[:40].decode("utf-8", "replace"),
                remedy=_REMEDY,
            )
        yield path, decode_versioned(data, _decode, VERSION, _WHAT, file=str(path), remedy=_REMEDY)


def _decode(data: bytes, version: int) -> MendRequest:
    return decode_whole(data, MendRequest)


def _checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest().encode()
