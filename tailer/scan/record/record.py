"""Records of a native log, the payloads of its entries (architecture section 10): msgpack arrays, one kind each.

    definition 1   change 2   begin 3   savepoint 4   rollback_to 5   commit 6   rollback 7   state 8

Values, keys and paths are CQL bytes; a position is `bin` of 16 bytes, segment and logical offset, big-endian, so that a
`state` record has a fixed length. Elements behind those that are known are ignored, and so are kinds from
`KIND_IGNORABLE` on. Pure: knows no file, no section and no definition of a table.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from tailer.errors import CorruptError, DefinitionError
from tailer.position import Position
from tailer.scan.record.valid import check_attrs
from tailer.typed_decode import msgpack_decoder

DEFINITION: Final = 1
CHANGE: Final = 2
BEGIN: Final = 3
SAVEPOINT: Final = 4
ROLLBACK_TO: Final = 5
COMMIT: Final = 6
ROLLBACK: Final = 7
STATE: Final = 8
KIND_IGNORABLE: Final = 64
"""Unknown kinds from here on are passed over; a lower one that is not known is an error."""

INSERT: Final = 0
UPDATE: Final = 1
DELETE_ROW: Final = 2
DELETE_RANGE: Final = 3
DELETE_PARTITION: Final = 4

PARTITION_KEY: Final = 0
CLUSTERING: Final = 1
STATIC: Final = 2
REGULAR: Final = 3

FILLER: Final = bytes(8)
"""Makes the smallest records as long as an entry must be."""

TABLE_KEY_BYTES: Final = 24
"""A table's id and its definition's fingerprint, together what a change is decoded by."""

STATE_BYTES: Final = 47
"""Of a `state` record: always as long, so that a section's end is known before the record that names it."""

_LONG_KIND: Final = 128
_INT64_HEAD: Final = 0xD3
_BIN16: Final = b"\xc4\x10"
_STATE: Final = bytes((0x94, STATE)) + _BIN16
_POSITION: Final = struct.Struct(">QQ")
_INT64: Final = struct.Struct(">Bq")
_PAYLOAD: Final = "msgpack"

PositionBytes: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
TableId: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
Fingerprint: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=8, max_length=8)]
Unsigned: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Array(msgspec.Struct, array_like=True, frozen=True):
    """A part of a record, without a kind."""


class ColumnItem(_Array, frozen=True):
    """A column: `kind` 0 partition key, 1 clustering, 2 static, 3 regular; `type` is CQL text."""

    name: str
    kind: Annotated[int, msgspec.Meta(ge=0, le=3)]
    type: str
    desc: bool


class TypeItem(_Array, frozen=True):
    """A user-defined type: its name and (field, CQL type) pairs."""

    name: str
    fields: tuple[tuple[str, str], ...]


class ElementItem(_Array, frozen=True):
    """An element of a non-frozen column; `value` None: removed. `ts` None: the row's."""

    path: bytes
    value: bytes | None
    ts: int | None
    ttl: int | None
    expires_at: int | None


class Elements(_Array, frozen=True):
    """What a change does to a non-frozen column: with `deleted_ts` what it held before is gone."""

    deleted_ts: int | None
    items: tuple[ElementItem, ...]


class Cell(_Array, frozen=True):
    """A column's value; None: deleted, unless `elements` are there. `column` counts in the definition's columns."""

    column: Unsigned
    value: bytes | None
    ts: int | None
    ttl: int | None
    expires_at: int | None
    elements: Elements | None


class Bounds(_Array, frozen=True):
    """A range in clustering order; a side of None is open."""

    start: tuple[bytes, ...] | None
    start_inclusive: bool
    end: tuple[bytes, ...] | None
    end_inclusive: bool


class Row(_Array, frozen=True):
    """A row of a change. `ts` None: the change's `write_ts`."""

    op: Annotated[int, msgspec.Meta(ge=0, le=4)]
    partition_key: tuple[bytes, ...]
    clustering: tuple[bytes, ...] | None
    static: bool
    ts: int | None
    ttl: int | None
    expires_at: int | None
    cells: tuple[Cell, ...]
    bounds: Bounds | None


class Definition(_Array, frozen=True, tag=DEFINITION):
    """A table as its writer declares it. `fingerprint` is `fingerprint_of` the rest."""

    fingerprint: Fingerprint
    table_id: TableId
    keyspace: str
    table: str
    cdc: bool
    columns: tuple[ColumnItem, ...]
    types: tuple[TypeItem, ...] = ()


class Change(_Array, frozen=True, tag=CHANGE):
    """Rows of one table that are written together. `txn` None: they count at once."""

    table_id: TableId
    fingerprint: Fingerprint
    txn: Unsigned | None
    write_ts: int
    rows: tuple[Row, ...]
    attrs: dict[str, Any] | None = None


class Begin(_Array, frozen=True, tag=BEGIN):
    """A transaction begins; ids count up within a writer's run."""

    txn: Unsigned
    filler: bytes = FILLER


class Savepoint(_Array, frozen=True, tag=SAVEPOINT):
    """A place in a transaction that it may go back to."""

    txn: Unsigned
    name: str
    filler: bytes = FILLER


class RollbackTo(_Array, frozen=True, tag=ROLLBACK_TO):
    """What the transaction wrote from the position on (a savepoint record's) up to here is void."""

    txn: Unsigned
    position: PositionBytes


class Commit(_Array, frozen=True, tag=COMMIT):
    """The transaction's rows count from here. `first`: start of the section that holds its first tracked change, and
    how many valid changes it has from there on; `first_any`, `n_any`: the same for changes of all tables."""

    txn: Unsigned
    first: PositionBytes | None
    n: Unsigned
    first_any: PositionBytes | None
    n_any: Unsigned


class Rollback(_Array, frozen=True, tag=ROLLBACK):
    """The transaction gives no row."""

    txn: Unsigned
    filler: bytes = FILLER


class State(_Array, frozen=True, tag=STATE):
    """The last record of a section: where a reader must begin to see every transaction whole that is open at the
    section's end (its own end where none is); `restart_any` counts changes of all tables. `last_ts`: the last time that
    the writer gave to a change by itself, 0 before there was one."""

    restart: PositionBytes
    restart_any: PositionBytes
    last_ts: int = 0


Record: TypeAlias = Definition | Change | Begin | Savepoint | RollbackTo | Commit | Rollback | State

_DECODER: Final = msgpack_decoder(Record)
_ENCODER: Final = msgspec.msgpack.Encoder()
encode_record = _ENCODER.encode
"""A record's bytes: an entry's payload."""


def encode_change(
    table_id: bytes,
    fingerprint: bytes,
    txn: int | None,
    write_ts: int,
    rows: Sequence[list[Any] | msgspec.Raw],
    attrs: msgspec.Raw | None,
) -> bytes:
    """A `Change`. `rows`: arrays in the order of the fields of `Row` and what it holds, or encoded. `attrs`: so too."""
    return _ENCODER.encode((CHANGE, table_id, fingerprint, txn, write_ts, rows, attrs))


def encode_attrs(attrs: Mapping[str, Any]) -> msgspec.Raw:
    """Attributes for `encode_change`. ValueError with a reason for those that are none."""
    try:
        packed = _ENCODER.encode(attrs)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.EncodeError) as error:
        raise ValueError(str(error)) from None
    check_attrs(packed)
    return msgspec.Raw(packed)


def encode_commit(txn: int, first: Position | None, n: int, first_any: Position | None, n_any: int) -> bytes:
    """A `Commit`; one of nothing with a filler, without which it would be shorter than an entry may be."""
    if first_any is None:
        return _ENCODER.encode((COMMIT, txn, None, 0, None, 0, FILLER))
    tracked = None if first is None else encode_position(first)
    return _ENCODER.encode(Commit(txn, tracked, n, encode_position(first_any), n_any))


def encode_state(restart: Position, restart_any: Position, last_ts: int) -> bytes:
    """A `State`."""
    places = _STATE + encode_position(restart) + _BIN16 + encode_position(restart_any)
    return places + _INT64.pack(_INT64_HEAD, last_ts)


def encode_position(position: Position) -> bytes:
    """The 16 bytes of a position."""
    return _POSITION.pack(position.segment, position.offset)


def decode_position(data: bytes) -> Position:
    return Position(*_POSITION.unpack(data))


def fingerprint_of(
    table_id: bytes,
    keyspace: str,
    table: str,
    cdc: bool,
    columns: tuple[ColumnItem, ...],
    types: tuple[TypeItem, ...],
) -> bytes:
    """The first 8 bytes of BLAKE2b over the encodings of a definition's elements from the table id on."""
    elements = (table_id, keyspace, table, cdc, columns, types)
    return blake2b(b"".join(map(_ENCODER.encode, elements)), digest_size=8).digest()


def record_kind(payload: bytes | memoryview) -> int:
    """The kind of a record, -1 for bytes that cannot be one.

    Known kinds stand in one byte; a number of more bytes is one that may be ignored.
    """
    if len(payload) < 2 or payload[0] & 0xF0 != 0x90:
        return -1
    kind = payload[1]
    if kind > 0x7F:
        return _LONG_KIND if 0xCC <= kind <= 0xCF else -1
    return kind


def decode_record(payload: bytes | memoryview, at: Position | None = None, file: str = "") -> Record | None:
    """The record; None for one of an unknown kind that may be ignored. `at` and `file` are for errors.

    Raises DefinitionError for a kind that this version does not know, CorruptError for what is no record.
    """
    kind = record_kind(payload)
    if kind >= KIND_IGNORABLE:
        return None
    if not DEFINITION <= kind <= STATE:
        raise _unknown_kind(payload, kind, at, file)
    try:
        record: Record = _DECODER.decode(payload)
        return record
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise CorruptError(
            "a record does not decode",
            at=at,
            file=file or None,
            expected=f"a record of kind {kind}",
            found=str(error),
            remedy="The writer made it wrong, or its bytes were damaged before the checksum was taken.",
        ) from None


def _unknown_kind(
    payload: bytes | memoryview, kind: int, at: Position | None, file: str
) -> CorruptError | DefinitionError:
    if kind < 0:
        return CorruptError(
            "an entry is no record",
            at=at,
            file=file or None,
            expected=f"an array that begins with its kind ({_PAYLOAD})",
            found=f"0x{bytes(payload[:2]).hex()}",
            remedy="The writer made it wrong, or its bytes were damaged before the checksum was taken.",
        )
    return DefinitionError(
        "a record of a kind that is not known",
        at=at,
        file=file or None,
        expected=f"{DEFINITION} to {STATE}, or {KIND_IGNORABLE} and more",
        found=kind,
        remedy="A newer cdc-tail may read it.",
    )
