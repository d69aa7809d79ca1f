"""What a table that is merged into knows of itself, and how it is kept there. Values only; knows no Spark.

It stands in one row of the table. Its version counts for all that is packed in the other rows too.
"""

from __future__ import annotations

from typing import Final, Literal, TypeVar

import msgspec

from tailer.rebuild import Table
from tailer.typed_decode import decode_msgpack
from tailer.versions import Versioned, check_version, decoding

VERSION: Final = 2
"""1 knows no earlier tables of the name and no table that was created again, and of a dropped one only that it was."""

_Kind = TypeVar("_Kind", "Merged", "KeptImages")


class Merged(msgspec.Struct, frozen=True):
    """The table as a whole: its newest definition, by node the place of its last TRUNCATE, how values are written.

    `former`: the ids of tables that had its name before.
    """

    table: Table
    truncations: dict[str, tuple[int, int]] = {}
    decimals: Literal["decimal", "string"] = "decimal"
    on_misfit: Literal["fail", "null"] = "fail"
    v: int = VERSION
    former: tuple[str, ...] = ()


class KeptImages(msgspec.Struct, frozen=True, rename={"table": "of_images"}):
    """Likewise of a table that is kept by images. `gone`: it was dropped, with the image of number `gone_seq`."""

    table: Table
    gone: bool = False
    decimals: Literal["decimal", "string"] = "decimal"
    on_misfit: Literal["fail", "null"] = "fail"
    v: int = VERSION
    former: tuple[str, ...] = ()
    gone_seq: int = 0


def pack_merged(merged: Merged | KeptImages) -> bytes:
    """As it is kept."""
    return msgspec.msgpack.encode(merged)


def unpack_merged(packed: bytes, target: str) -> Merged:
    """What was kept in the table `target`. RefusedError for what is not understood."""
    return _unpacked(packed, Merged, target)


def unpack_images(packed: bytes, target: str) -> KeptImages:
    """Likewise of a table that is kept by images."""
    return _unpacked(packed, KeptImages, target)


def _unpacked(packed: bytes, kind: type[_Kind], target: str) -> _Kind:
    remedy = "Restore an earlier version of the table (RESTORE), or merge into a new one."
    with decoding("what the merged table knows of itself", file=target, remedy=remedy):
        check_version(decode_msgpack(packed, Versioned).v, VERSION, "the merged table", file=target)
        return decode_msgpack(packed, kind)
