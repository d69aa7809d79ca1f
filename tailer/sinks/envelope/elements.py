"""What a change of the generic form assigned, and what it did by element: `columns` taken apart by the definition.

Of a non-frozen collection or user-defined type an assignment has a value (as `SELECT JSON` shows it), a change by
element has none that the row could tell; nor has a counter, of which the log holds shards. A row that was read from the
server (`snapshot`) has all elements and all shards, so it has the value of every column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tailer.errors import DefinitionError
from tailer.schema.model import TableDefinition
from tailer.sinks.envelope.changes import BYTES, fields_of
from tailer.typed_decode import decode_json, json_decoder
from tailer.types import CqlType, Shape, parse_type, quote
from tailer.types.counter import wrapped

_decode: Final = json_decoder(dict[str, msgspec.Raw]).decode
_NULL: Final = b"null"
_BY_ELEMENT: Final = ('"replaced":', '"shard":')
"""What the text of a row has that was changed by element."""


class _Change(msgspec.Struct):
    """Of a non-frozen column. `put`: in the form of its shape; empty where nothing was."""

    replaced: bool
    put: msgspec.Raw = msgspec.Raw(b"")


class _Shard(msgspec.Struct):
    total: int


class Split(NamedTuple):
    """`assigned`: fields. `deltas`: JSON objects, or null."""

    assigned: pa.Array
    deltas: pa.Array


def multi_columns(definition: TableDefinition | None) -> dict[str, CqlType] | None:
    """The columns of a table that are changed by element, or are counters. None: nobody knows."""
    if definition is None:
        return None
    # A column that was dropped and added again is the one that is there.
    columns = sorted(definition.data_columns, key=lambda column: not column.dropped)
    types = {column.name: parse_type(column.type, definition.types) for column in columns}
    return {name: type_ for name, type_ in types.items() if type_.shape is not Shape.SIMPLE}


def split(columns: pa.Array, read: pa.Array, multi: Mapping[str, CqlType] | None, name: str) -> Split:
    """`columns` of rows of one table, of that name. `read`: whether a row was read from the server."""
    texts = columns.cast(BYTES)
    if not multi:
        if multi is None:
            _check_plain(texts, name)
        return Split(fields_of(texts), pa.nulls(len(texts), BYTES))
    assigned, deltas = [], []
    for text, whole in zip(texts.to_pylist(), read.to_pylist(), strict=True):
        of_row = (b"", None) if text is None else _split_row(text, multi, whole)
        assigned.append(of_row[0])
        deltas.append(of_row[1])
    return Split(pa.array(assigned, BYTES), pa.array(deltas, BYTES))


def _check_plain(texts: pa.Array, name: str) -> None:
    for word in _BY_ELEMENT:
        if pc.any(pc.match_substring(texts, word)).as_py():
            raise DefinitionError(
                f"nothing defines {name}, which has columns that are changed by element",
                remedy="Give its definition: without one nobody knows which value is an element's.",
            )


def _split_row(text: bytes, multi: Mapping[str, CqlType], whole: bool) -> tuple[bytes, bytes | None]:
    assigned: list[bytes] = []
    deltas: list[bytes] = []
    for name, value in _decode(text).items():
        label, type_ = quote(name).encode() + b":", multi.get(name)
        spelled: bytes | None = bytes(value)
        if type_ is not None:
            deltas.append(label + bytes(value))
            spelled = _value(bytes(value), type_, whole)
        if spelled is not None:
            assigned.append(label + spelled)
    return b",".join(assigned), b"{" + b",".join(deltas) + b"}" if deltas else None


def _value(change: bytes, type_: CqlType, whole: bool) -> bytes | None:
    """What the column has now; None for a change by element. `whole`: the elements or shards are all there are."""
    if change == _NULL:
        return _NULL
    if type_.shape is Shape.COUNTER:
        return _counted(change) if whole else None
    told = decode_json(change, _Change)
    if not (told.replaced or whole):
        return None
    if not bytes(told.put):
        return _NULL
    if type_.shape is Shape.LIST:
        return _array([element for _, element in decode_json(told.put, list[tuple[Any, msgspec.Raw]])])
    if type_.shape is Shape.UDT:
        return _whole(told.put, type_)
    return bytes(told.put)


def _whole(put: msgspec.Raw, type_: CqlType) -> bytes:
    """A user-defined type's value with null for fields that it has not. One with fields that were renamed since is as
    the row has it: nobody knows which they are now."""
    fields = _decode(put)
    if not fields.keys() <= set(type_.names):
        return bytes(put)
    texts = [quote(name).encode() + b":" + bytes(fields.get(name, msgspec.Raw(_NULL))) for name in type_.names]
    return b"{" + b",".join(texts) + b"}"


def _counted(shards: bytes) -> bytes:
    """A counter's value, of all its shards."""
    return str(wrapped(sum(shard.total for shard in decode_json(shards, list[_Shard])))).encode()


def _array(elements: Sequence[msgspec.Raw]) -> bytes:
    return b"[" + b",".join(map(bytes, elements)) + b"]"
