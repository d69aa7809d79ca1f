"""What is kept of one partition as a whole: all its rows while they are few, later where their keys stand. No fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from tailer.spark.images.maps import Held
from tailer.versions import StateDecoder

HEADER: Final = b""
"""The row key of what the partition has of its own."""

_NEAR_BYTES: Final = 2048
_CHUNK: Final = 64
"""Keys in a chunk: one more row costs reading and writing one of these."""


class Row(msgspec.Struct, array_like=True, frozen=True):
    """A row's bytes. `due`: the second at which something in it expires."""

    due: int | None
    value: bytes


class _Kept(msgspec.Struct, array_like=True):
    near: list[tuple[bytes, Row]]
    far: int
    """How many rows stand in a map of their own, beside their keys in chunks; none while all are here."""


class Head:
    """One partition while it is worked on. `rows`, `names`: the maps of rows that stand alone, and of their keys."""

    def __init__(self, partition: bytes, packed: bytes | None, rows: Held, names: Held) -> None:
        self._name = len(partition).to_bytes(4, "big") + partition
        self._rows, self._names = rows, names
        kept = _Kept([], 0) if packed is None else _DECODER.decode(packed)
        self._near = dict(kept.near)
        self._far = kept.far
        self._chunks = -(-kept.far // _CHUNK)
        self._new: list[bytes] = []
        self._all: dict[bytes, None] | None = None
        self.changed = False

    def __bool__(self) -> bool:
        """Whether there is a row."""
        return bool(self._near or self._far)

    def get(self, key: bytes) -> Row | None:
        row = self._near.get(key)
        if row is None and self._far and key != HEADER:
            value = self._rows.get(self._name + key)
            row = None if value is None else _ROW.decode(value)
        return row

    def put(self, key: bytes, row: Row) -> None:
        if not self._far or key == HEADER:
            self._near[key] = row
            self.changed = True
            self._make_room()
        else:
            self._put_far(key, row)

    def delete(self, key: bytes) -> None:
        """Of a row that is there."""
        self.changed = True
        if key in self._near:
            del self._near[key]
            return
        self._rows.remove(self._name + key)
        del self._keys()[key]
        self._far -= 1

    def _keys(self) -> dict[bytes, None]:
        """Those of all rows that stand alone."""
        if self._all is None:
            chunks = (self._names.get(self._chunk(number)) for number in range(self._chunks))
            known = [key for chunk in chunks if chunk is not None for key in _KEYS.decode(chunk)]
            self._all = dict.fromkeys([*known, *self._new])
        return self._all

    def between(self, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, Row]]:
        """The rows from `lower` on and below `upper`, in the order of keys."""
        found: Iterable[bytes] = self._keys() if self._far else ()
        for key in sorted(key for key in (*self._near, *found) if lower <= key < upper):
            row = self.get(key)
            if row is not None:
                yield key, row

    def clear(self) -> None:
        """No row is there any more."""
        for key in list(self._keys()) if self._far else ():
            self.delete(key)
        self._near = {}
        self.changed = True

    def flush(self) -> bytes | None:
        """Put keys into chunks; what is to be kept of the partition, None for nothing."""
        if self._all is None:
            self._append()
        else:
            self._write(0, list(self._all))
        self._new = []
        return _ENCODER.encode(_Kept(sorted(self._near.items()), self._far)) if self else None

    def _put_far(self, key: bytes, row: Row) -> None:
        if self._rows.get(self._name + key) is None:
            if self._all is None:
                self._new.append(key)
            else:
                self._all[key] = None
            self._far += 1
            self.changed = True
        self._rows.put(self._name + key, _ENCODER.encode(row))

    def _make_room(self) -> None:
        if sum(len(key) + len(row.value) for key, row in self._near.items()) <= _NEAR_BYTES:
            return
        for key in [key for key in self._near if key != HEADER]:
            self._put_far(key, self._near.pop(key))

    def _append(self) -> None:
        """The new keys behind those that nobody read."""
        there = self._far - len(self._new)
        full = there // _CHUNK
        last = self._names.get(self._chunk(full)) if self._new and there % _CHUNK else None
        self._write(full, [*(_KEYS.decode(last) if last is not None else ()), *self._new])

    def _write(self, number: int, keys: list[bytes]) -> None:
        for at in range(0, len(keys), _CHUNK):
            self._names.put(self._chunk(number), _ENCODER.encode(keys[at : at + _CHUNK]))
            number += 1
        for gone in range(number, self._chunks if self._all is not None else 0):
            self._names.remove(self._chunk(gone))
        self._chunks = max(self._chunks, number) if self._all is None else number

    def _chunk(self, number: int) -> bytes:
        return self._name + number.to_bytes(4, "big")


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = StateDecoder[_Kept](_Kept, "a partition of the state of images")
_ROW: Final = StateDecoder[Row](Row, "a row of the state of images")
_KEYS: Final = StateDecoder[list[bytes]](list[bytes], "keys in the state of images")
