"""What a Delta table that `DeltaMerge` keeps knows of itself, and how it is kept there. Values only; knows no Spark.

It stands in one row of the table. Its version counts for all that is packed in the other rows too.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from tailer.errors import RefusedError
from tailer.rebuild import Table
from tailer.typed_decode import decode_msgpack
from tailer.versions import Versioned, check_version

VERSION: Final = 1


class Merged(msgspec.Struct, frozen=True):
    """The table as a whole: its newest definition, by node the place of its last TRUNCATE, how values are written."""

    table: Table
    truncations: dict[str, tuple[int, int]] = {}
    decimals: Literal["decimal", "string"] = "decimal"
    on_misfit: Literal["fail", "null"] = "fail"
    v: int = VERSION


def pack_merged(merged: Merged) -> bytes:
    """As it is kept."""
    return msgspec.msgpack.encode(merged)


def unpack_merged(packed: bytes, target: str) -> Merged:
    """What was kept in the Delta table `target`. RefusedError for what is not understood."""
    try:
        check_version(decode_msgpack(packed, Versioned).v, VERSION, "the merged table", file=target)
        return decode_msgpack(packed, Merged)
    except msgspec.DecodeError as error:
        raise RefusedError(
            f"what the merged table knows of itself cannot be read: {error}",
            file=target,
            remedy="Restore an earlier version of the Delta table (RESTORE), or merge the changes into a new one.",
        ) from error
