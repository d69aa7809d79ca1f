"""Facts as bytes, so that a state can be kept and joined again later. Facts with one stamp share it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tailer.rebuild.facts import Fact, Kind, Stamp
from tailer.versions import StateDecoder, decoding

_Packed = list[tuple[tuple[bytes, str, int, int, int, int | None, int | None], list[tuple[int, str, bytes, bytes]]]]
_WHAT: Final = "facts of a row"
_DECODER: Final = StateDecoder[_Packed](_Packed, _WHAT)
_ENCODER: Final = msgspec.msgpack.Encoder()


def pack(facts: Iterable[Fact]) -> bytes:
    """The same bytes for the same facts in the same order."""
    groups: dict[Stamp, list[Any]] = {}
    for kind, stamp, column, path, value in facts:
        groups.setdefault(stamp, []).append((int(kind), column, path, value))
    return _ENCODER.encode([(tuple(stamp), held) for stamp, held in groups.items()])


def unpack(packed: bytes) -> list[Fact]:
    """What `pack` took. UndecodableError for anything else."""
    groups = _DECODER.decode(packed)
    with decoding(_WHAT, more=(ValueError,)):
        return [
            Fact(Kind(kind), stamp, column, path, value)
            for times, held in groups
            for stamp in (Stamp(*times),)
            for kind, column, path, value in held
        ]
