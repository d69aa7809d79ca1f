"""Counter contexts (format page, 5.10): what a log holds of a counter is shards, never its value or an increment.

      0    2           2 + 2k                      + 32 n
      +----+-----------+----------------------------+
      | k  | k × i16   | n × (id 16, clock 8, total 8)
      +----+-----------+----------------------------+

A header element below zero is 32768 less than the index of a global shard; others are the index of a local one; shards
that no element names are remote. k < 0 means |k| elements.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from tailer.types.jsontext import EMPTY
from tailer.types.scalars import uuid_json

_SHARD: Final = struct.Struct(">16sqq")
_SHORT: Final = struct.Struct(">h")

ShardKind = Literal["global", "local", "remote"]


class Shard(NamedTuple):
    """One node's part of a counter: its running total, which counts if its clock is the highest of this id."""

    id: bytes
    kind: ShardKind
    clock: int
    total: int


def read_shards(context: bytes) -> list[Shard]:
    """The shards of a counter context in stored order. ValueError for bytes that are none."""
    if len(context) < 2:
        raise ValueError(f"{len(context)} bytes for a counter, which has at least 2")
    elements = abs(_SHORT.unpack_from(context)[0])
    start = 2 + 2 * elements
    count, rest = divmod(len(context) - start, _SHARD.size)
    if rest or count < elements:
        raise ValueError(f"{len(context)} bytes for a counter with {elements} header elements")
    kinds: list[ShardKind] = ["remote"] * count
    for (element,) in _SHORT.iter_unpack(context[2:start]):
        index = element if element >= 0 else element + 0x8000
        if index >= count:
            raise ValueError(f"a counter's header names shard {index} of {count}")
        kinds[index] = "local" if element >= 0 else "global"
    shards = _SHARD.iter_unpack(context[start:])
    return [Shard(id, kind, clock, total) for kind, (id, clock, total) in zip(kinds, shards, strict=True)]


def wrapped(total: int) -> int:
    """A sum as the server has it: it wraps at 64 bits."""
    return (total + 2**63) % 2**64 - 2**63


def counter_json(value: bytes) -> str:
    """JSON of a counter context: an array of its shards."""
    if not value:
        return EMPTY
    return shards_json(read_shards(value))


def shards_json(shards: Iterable[Shard]) -> str:
    """The same of some shards."""
    texts = (
        f'{{"shard":{uuid_json(shard.id)},"kind":"{shard.kind}","clock":{shard.clock},"total":{shard.total}}}'
        for shard in shards
    )
    return f"[{','.join(texts)}]"
