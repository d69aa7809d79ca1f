"""Records of a native log as payloads, and its segments: made from architecture section 10, by hand.

Shares no code with the reader. A payload is `msgspec.msgpack` of a plain list; values are CQL bytes as a test has them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import msgspec

from tests.helpers.logs.codecs import PLAIN, Format
from tests.helpers.logs.frame import SectionPlace, SegmentWriter

BOOT: Final = "0123456789abcdef"
INSERT, UPDATE, DELETE_ROW, DELETE_RANGE, DELETE_PARTITION = range(5)
PARTITION_KEY, CLUSTERING, STATIC, REGULAR = range(4)

pack = msgspec.msgpack.encode

Pos = tuple[int, int]
"""Segment and logical offset."""


def pos(at: Pos) -> bytes:
    return struct.pack(">QQ", *at)


@dataclass(frozen=True)
class NativeTable:
    """A table: columns as (name, kind, CQL type, descending)."""

    id: bytes
    keyspace: str
    name: str
    columns: tuple[tuple[str, int, str, bool], ...]
    cdc: bool = True
    types: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    @property
    def elements(self) -> list[Any]:
        return [self.id, self.keyspace, self.name, self.cdc, self.columns, self.types]

    @property
    def fp(self) -> bytes:
        return blake2b(b"".join(map(pack, self.elements)), digest_size=8).digest()

    @property
    def definition(self) -> bytes:
        return pack([1, self.fp, *self.elements])

    def change(
        self, rows: Sequence[Any], *, txn: int | None = None, ts: int = 1000, attrs: dict[str, Any] | None = None
    ) -> bytes:
        return pack([2, self.id, self.fp, txn, ts, rows, attrs])


def cell(column: int, value: bytes | None, *, ts: int | None = None, elements: Any = None) -> list[Any]:
    return [column, value, ts, None, None, elements]


def row(op: int, key: Sequence[bytes], clustering: Sequence[bytes] | None, cells: Sequence[Any] = ()) -> list[Any]:
    return [op, key, clustering, False, None, None, None, cells, None]


def begin(txn: int) -> bytes:
    return pack([3, txn, bytes(8)])


def savepoint(txn: int, name: str) -> bytes:
    return pack([4, txn, name, bytes(8)])


def rollback_to(txn: int, at: Pos) -> bytes:
    return pack([5, txn, pos(at)])


def commit(txn: int, first: Pos | None, n: int, *, first_any: Pos | None = None) -> bytes:
    """`first_any`: where all of it begins, if that is not where what is tracked does."""
    where, anywhere = (None if at is None else pos(at) for at in (first, first_any or first))
    return pack([6, txn, where, n, anywhere, n])


def rollback(txn: int) -> bytes:
    return pack([7, txn, bytes(8)])


def state(restart: Pos) -> bytes:
    return pack([8, pos(restart), pos(restart)])


STATE_BYTES: Final = 12 + len(state((0, 0)))


@dataclass
class NativeWriter:
    """A segment of a native log. Each section ends with its `state`."""

    segment: int
    boot: str = BOOT
    form: Format = PLAIN
    restart: Pos = (0, 0)
    first: int | None = None
    frame: SegmentWriter = field(init=False)

    def __post_init__(self) -> None:
        parameters = {**self.form.parameters, "payload": "msgpack", "boot": self.boot}
        self.frame = SegmentWriter(
            self.segment, 7, Format(self.form.name, parameters, self.form.pack, self.form.framed)
        )
        self.restart = (self.segment, self.frame.end)

    def section(self, payloads: Sequence[bytes], restart: Pos | None = None) -> SectionPlace:
        """One section; `restart`: where the oldest open transaction begins, None where none is open."""
        size = 8 + sum(len(payload) + 12 for payload in payloads) + STATE_BYTES
        self.restart = restart or (self.segment, self.frame.end + size)
        self.first = self.frame.end if self.first is None else self.first
        return self.frame.section([*payloads, state(self.restart)])

    def sidecar(self, *, done: bool = True) -> str:
        """What is published behind the last section."""
        segment, offset = self.restart
        text = f"{self.first} {self.frame.end} {segment}:{offset}"
        return f"{text}\nDONE" if done else text


def recovered(writer: NativeWriter) -> str:
    """The sidecar that recovery writes for a dead segment: nothing is open at its end, whatever was."""
    end = writer.frame.end
    return f"{writer.first} {end} {writer.segment}:{end}\nDONE"
