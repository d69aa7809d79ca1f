"""What an entry tells without any definition: how many tables it touches, and which it names first.

A mutation begins with the number of its partition updates, and an update with its table's id (format page 5.2, 5.3).
Updates carry no length, so the ids of the second and later ones can only be looked for, not walked to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from tailer.framing.vint import VINT_BYTES_MAX, read_vint

TABLE_ID_BYTES: Final = 16


class Peek(NamedTuple):
    """`updates`: how many partition updates the entry says it has. `tables`: ids (32 hex digits) that are known to be
    in it, in the order of the bytes: the first update's, then those of `known` that occur behind it."""

    updates: int
    tables: tuple[str, ...]


def peek(data: bytes, start: int, size: int, known: Iterable[bytes] = ()) -> Peek | None:
    """A look at the mutation of `size` bytes at `start`; None when it is too short to be one."""
    payload = data[start : start + size]
    updates, at = read_vint(payload.ljust(size + VINT_BYTES_MAX, b"\0"), 0)
    first = payload[at : at + TABLE_ID_BYTES]
    if updates == 0 or len(first) < TABLE_ID_BYTES:
        return None
    if updates == 1:
        return Peek(1, (first.hex(),))
    found = {first: at}
    for table_id in known:
        place = payload.find(table_id, at + TABLE_ID_BYTES)
        if place >= 0 and table_id not in found:
            found[table_id] = place
    ordered = sorted(found, key=found.__getitem__)
    return Peek(updates, tuple(table_id.hex() for table_id in ordered[:updates]))
