"""The JSON texts of a change row without what is masked: members that go, or are null. Knows no batch.

What is hashed or cut is so in the texts already. Members stay as they are spelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tailer.rows.table_masks import TableMasks
from tailer.typed_decode import json_decoder
from tailer.types import quote

MASKED: Final = "masked"
"""The member of a range whose rows cannot be told, since a bound is hidden; it is true."""

_ELEMENTS: Final = "elements"
_MEMBERS: Final = json_decoder(dict[str, msgspec.Raw])


def shown_columns(text: str, masks: TableMasks) -> str:
    """The JSON of what a row sets, also of its `_deltas`."""
    return _joined(_shown_members(text, masks))


def shown_cells(text: str, masks: TableMasks) -> str | None:
    """The JSON of what differs from the row; None where nothing is left."""
    if not (masks.nulled or masks.left_out):
        return text
    members: dict[str, str] = {}
    for name, raw in _members(text).items():
        if name in masks.nulled:
            raw = _joined({part: told for part, told in _members(raw).items() if part != _ELEMENTS})
        if name not in masks.left_out and raw != "{}":
            members[name] = raw
    return _joined(members) if members else None


def shown_range(text: str, masks: TableMasks) -> str:
    """The JSON of a range; marked where what its bounds compare is hidden."""
    if not masks.hidden:
        return text
    members = _members(text)
    sides = [_members(members[side]) if members.get(side, "null") != "null" else {} for side in ("start", "end")]
    if not _compared(*sides) & masks.hidden:
        return text
    return _joined({**members, MASKED: "true"})


def _compared(start: Mapping[str, str], end: Mapping[str, str]) -> set[str]:
    """The columns whose order decides which rows a range takes: those from the first on that is not one value."""
    fixed = set()
    for name in start:
        if start[name] != end.get(name):
            break
        fixed.add(name)
    return {*start, *end} - fixed


def _shown_members(text: str, masks: TableMasks) -> dict[str, str]:
    members = _members(text)
    return {
        name: "null" if name in masks.nulled else raw for name, raw in members.items() if name not in masks.left_out
    }


def _members(text: str) -> dict[str, str]:
    """The members of a JSON object, each value as it is spelled."""
    return {name: bytes(raw).decode() for name, raw in _MEMBERS.decode(text).items()}


def _joined(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{quote(name)}:{raw}" for name, raw in members.items()) + "}"
