"""The masks of one table, by the numbers that an index has: what is done to which bytes. Knows no row.

A hash is HMAC-SHA-256 of a value's bytes as the log has them, in hex digits: the same wherever the value stands.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from tailer.schema.masks import NO_MASKS, How, Masks, hashed_type
from tailer.schema.model import Column, TableDefinition
from tailer.types.texts import text_value

Hide = Callable[[bytes], bytes]
"""A value's bytes to those that stand in their place."""

_SHOWN: Final = 4
_HIDDEN_MIN: Final = 4
_STARS: Final = "****"


class Masking(NamedTuple):
    """Masks with the key that their hashes are made with."""

    masks: Masks = NO_MASKS
    secret: bytes = b""

    def __repr__(self) -> str:
        return f"Masking({self.masks})"


NO_MASKING: Final = Masking()


@dataclass(frozen=True, slots=True)
class TableMasks:
    """`key`, `clustering`: by place in the key, None where nothing is hidden; `columns`: by column number.

    `nulled`, `left_out`: columns that are null, or not there at all; `hidden`: those that are hashed or cut. Of the
    table, whether this definition has them or not.
    """

    key: tuple[Hide | None, ...]
    clustering: tuple[Hide | None, ...]
    columns: Mapping[int, Hide]
    nulled: frozenset[str]
    left_out: frozenset[str]
    hidden: frozenset[str]


def table_masks(definition: TableDefinition, masking: Masking) -> TableMasks | None:
    """What is masked of a table; None if nothing is. UsageError for a mask that a column cannot have."""
    how = masking.masks.of(definition.name)
    masking.masks.check(definition)
    if not how:
        return None
    hides = {name: hide for name, word in how.items() if (hide := _hide(word, masking.secret)) is not None}
    return TableMasks(
        tuple(hides.get(column.name) for column in definition.partition_key),
        tuple(hides.get(column.name) for column in definition.clustering),
        {number: hides[column.name] for number, column in enumerate(definition.data_columns) if column.name in hides},
        frozenset(name for name, word in how.items() if word == "null"),
        frozenset(name for name, word in how.items() if word == "exclude"),
        frozenset(hides),
    )


def as_hidden(definition: TableDefinition, column: Column, masking: Masking) -> Column:
    """A column as rows are made of it, when what is hidden was hidden."""
    if masking.masks.of(definition.name).get(column.name) != "hash":
        return column
    return msgspec.structs.replace(column, type=hashed_type(definition, column))


def last4(value: bytes) -> bytes:
    """Four stars and the last four characters, where at least as many stay hidden; else four stars alone."""
    try:
        text = text_value(value)
    except ValueError:
        return _STARS.encode()
    return (_STARS + (text[-_SHOWN:] if len(text) >= _SHOWN + _HIDDEN_MIN else "")).encode()


def hashed(value: bytes, secret: bytes) -> bytes:
    """64 hex digits."""
    return hmac.digest(secret, value, "sha256").hex().encode()


def _hide(how: How, secret: bytes) -> Hide | None:
    if how == "hash":
        return lambda value: hashed(value, secret)
    return last4 if how == "last4" else None
