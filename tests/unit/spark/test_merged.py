"""What a merged Delta table knows of itself: earlier forms are read, later ones refused before anything is changed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailer.errors import RefusedError
from tailer.rebuild import Table
from tailer.schema.model import Column, TableDefinition
from tailer.spark.merged import KeptImages, Merged, pack_merged, unpack_images, unpack_merged

DEFINITION = TableDefinition("00" * 16, "shop", "orders", (Column("id", "partition_key", "int", 0),))
KNOWN = Merged(Table.of(DEFINITION), {"local": (7, 40)}, "string", "null")


def packed(**more: Any) -> bytes:
    """What is kept of `KNOWN`, changed."""
    return msgspec.msgpack.encode({**msgspec.msgpack.decode(pack_merged(KNOWN)), **more})


def test_what_was_kept_comes_back() -> None:
    assert unpack_merged(pack_merged(KNOWN), "/lake/orders") == KNOWN


def test_before_versions_were_written() -> None:
    """The first form, by hand: the table alone is needed."""
    table = msgspec.msgpack.decode(msgspec.msgpack.encode(KNOWN.table))
    assert unpack_merged(msgspec.msgpack.encode({"table": table}), "/lake/orders") == Merged(KNOWN.table)


def test_version_1() -> None:
    """By hand, with all that it has: earlier tables of the name, and which image told of a DROP, are not known."""
    table = msgspec.msgpack.decode(msgspec.msgpack.encode(KNOWN.table))
    for new in ("ended", "born", "former"):
        del table[new]
    more = {"decimals": "string", "on_misfit": "null", "v": 1}
    merged = msgspec.msgpack.encode({"table": table, "truncations": {"local": (7, 40)}, **more})
    assert unpack_merged(merged, "/lake/orders") == msgspec.structs.replace(KNOWN, v=1)
    imaged = msgspec.msgpack.encode({"of_images": table, "gone": True, **more})
    assert unpack_images(imaged, "/lake/orders") == KeptImages(KNOWN.table, True, "string", "null", v=1)


@pytest.mark.parametrize("more", [{}, {"table": "in another form"}], ids=["same", "other"])
def test_a_later_version_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as caught:
        unpack_merged(packed(v=3, **more), "/lake/orders")
    assert (caught.value.expected, caught.value.found, caught.value.file) == ("2 or lower", 3, "/lake/orders")
    assert "A newer cdc-tail wrote it" in caught.value.remedy


@pytest.mark.parametrize(
    "kept", [b"", b"\x00", packed()[:-3], packed(table=3), packed(v=0)], ids=lambda kept: kept.hex()[:8]
)
def test_what_is_not_understood_is_refused(kept: bytes) -> None:
    with pytest.raises(RefusedError, match="cannot be read"):
        unpack_merged(kept, "/lake/orders")
