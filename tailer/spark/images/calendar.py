"""What expires when in one bucket: rows by the second, in chunks of a map, of which only those are read that are due.

    far      a slot for each hour or so    ─┐ when it begins, what is in it moves on
    near     a slot for some seconds       ─┘
    loaded   what is due, in memory

A batch appends one chunk to a slot, and reads none. An entry is not taken out when its row changes: it is passed over
when it comes up, for the row's own second is another one by then. Knows no fact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tailer.spark.images.maps import Held
from tailer.versions import StateDecoder

_FAR: Final = 4096
_NEAR: Final = 16


class Entry(msgspec.Struct, array_like=True, frozen=True, order=True):
    """A row of which something expires."""

    second: int
    partition: bytes
    row: bytes


class Slot(msgspec.Struct, array_like=True):
    """`width` seconds from `start` on. `least`: no entry in it is due before."""

    start: int
    width: int
    chunks: int
    least: int


class Calendar:
    """`name`: of several in one map. `slots`: as `flush` gave them. `holds`: whether a row is still due at an entry's
    second."""

    def __init__(self, chunks: Held, name: bytes, slots: bytes | None, holds: Callable[[Entry], bool]) -> None:
        self._chunks = chunks
        self._name = name
        self._holds = holds
        known = _SLOTS.decode(slots) if slots is not None else []
        self._slots = {(slot.start, slot.width): slot for slot in known}
        self._pending: dict[tuple[int, int], list[Entry]] = {}
        self._loaded: set[Entry] = set()
        self._until = -(2**63)

    def add(self, entry: Entry) -> None:
        """A row is due from now on."""
        if entry.second <= self._until:
            self._loaded.add(entry)
            return
        far = entry.second - entry.second % _FAR
        width = _FAR if far > self._until else _NEAR
        self._pending.setdefault((entry.second - entry.second % width, width), []).append(entry)

    def gone(self, entry: Entry) -> None:
        """A row is due at another second, or not any more."""
        self._loaded.discard(entry)

    def due(self, until: int) -> list[Entry]:
        """The rows that are due at second `until` or before, in order."""
        self._load(until)
        self._loaded = {entry for entry in self._loaded if self._holds(entry)}
        return sorted(entry for entry in self._loaded if entry.second <= until)

    @property
    def least(self) -> int | None:
        """A second before which nothing is due."""
        pending = [entry.second for entries in self._pending.values() for entry in entries]
        known = [slot.least for slot in self._slots.values()]
        return min([*pending, *known, *(entry.second for entry in self._loaded)], default=None)

    def clear(self) -> None:
        """Nothing is due any more."""
        for slot in self._slots.values():
            self._taken(slot)
        self._slots, self._pending, self._loaded = {}, {}, set()

    def flush(self) -> bytes:
        """Put what was added into chunks."""
        self._until = -(2**63)
        for entry in sorted(self._loaded):
            self._pending.setdefault((entry.second - entry.second % _NEAR, _NEAR), []).append(entry)
        self._loaded = set()
        for (start, width), entries in self._pending.items():
            slot = self._slots.setdefault((start, width), Slot(start, width, 0, entries[0].second))
            self._chunks.put(self._chunk(slot, slot.chunks), _ENCODER.encode(entries))
            slot.chunks += 1
            slot.least = min(slot.least, *(entry.second for entry in entries))
        self._pending = {}
        return _ENCODER.encode(sorted(self._slots.values(), key=lambda slot: (slot.start, slot.width)))

    def _load(self, until: int) -> None:
        if until <= self._until:
            return
        self._until = until
        begun = [where for where, slot in self._slots.items() if slot.least <= until]
        entries = [entry for where in begun for entry in self._taken(self._slots.pop(where))]
        due = [where for where in self._pending if where[0] <= until]
        entries += [entry for where in due for entry in self._pending.pop(where)]
        for entry in entries:
            self.add(entry)

    def _taken(self, slot: Slot) -> list[Entry]:
        entries: list[Entry] = []
        for number in range(slot.chunks):
            key = self._chunk(slot, number)
            packed = self._chunks.get(key)
            entries += _ENTRIES.decode(packed) if packed is not None else []
            self._chunks.remove(key)
        return entries

    def _chunk(self, slot: Slot, number: int) -> bytes:
        return self._name + b"".join(part.to_bytes(8, "big", signed=True) for part in (slot.start, slot.width, number))


_ENCODER: Final = msgspec.msgpack.Encoder()
_ENTRIES: Final = StateDecoder[list[Entry]](list[Entry], "what expires in the state of images")
_SLOTS: Final = StateDecoder[list[Slot]](list[Slot], "what expires in the state of images")
