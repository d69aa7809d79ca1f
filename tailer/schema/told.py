"""A definition as change rows tell it: its JSON, and whether the table captures from that change on. Values only."""

from __future__ import annotations

from typing import Final

import msgspec

from tailer.schema.model import TableDefinition
from tailer.typed_decode import json_decoder


class _Told(TableDefinition, frozen=True, omit_defaults=True):
    """`capture_begins`: the table was there before, and was not captured: rows written then nobody may have seen."""

    capture_begins: bool = False


class _Begins(msgspec.Struct, frozen=True):
    """That alone, of what is written."""

    capture_begins: bool = False


def told_text(definition: TableDefinition, *, capture_begins: bool) -> str:
    """The definition as `columns` of a change row with `op` `schema` has it."""
    if not capture_begins:
        return msgspec.json.encode(definition).decode()
    return msgspec.json.encode(_Told(**msgspec.structs.asdict(definition), capture_begins=True)).decode()


def told_definition(text: str) -> TableDefinition:
    """The definition of such a text."""
    return _DEFINITION.decode(text)


def capture_begins(text: str) -> bool:
    """Whether such a text says that the table was there before and is captured from there on."""
    return _BEGINS.decode(text).capture_begins


_DEFINITION: Final = json_decoder(TableDefinition)
_BEGINS: Final = json_decoder(_Begins)
