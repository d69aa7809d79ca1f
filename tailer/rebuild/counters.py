"""Counters: a cell has the running totals of shards; per shard the highest clock counts, whatever its timestamp."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tailer.rebuild.facts import Fact, Kind, Stamp
from tailer.types.counter import Shard, ShardKind, wrapped
from tailer.types.encode import timeuuid_bytes

_SHARD: Final = struct.Struct(">Bqq")
_NAMES: Final[tuple[ShardKind, ...]] = ("remote", "local", "global")
_KINDS: Final = {name: number for number, name in enumerate(_NAMES)}


def shard_facts(column: str, stamp: Stamp, shards: Iterable[Mapping[str, Any]]) -> list[Fact]:
    """One fact for each shard of a change row's counter."""
    return [
        Fact(
            Kind.SHARD,
            stamp,
            column,
            timeuuid_bytes(shard["shard"]),
            _SHARD.pack(_KINDS[shard["kind"]], int(shard["clock"]), int(shard["total"])),
        )
        for shard in shards
    ]


def shard_of(path: bytes, value: bytes) -> Shard:
    """The shard that is such a fact."""
    kind, clock, total = _SHARD.unpack(value)
    return Shard(path, _NAMES[kind], clock, total)


def shard_rank(fact: Fact) -> tuple[int, int, int]:
    """Kind, clock and total: of one shard the greatest counts."""
    return shard_order(fact.value)


def shard_order(value: bytes) -> tuple[int, int, int]:
    """The same of the bytes that a shard has as a fact."""
    kind, clock, total = _SHARD.unpack(value)
    return kind, clock, total


def shard_value(clock: int, total: int) -> bytes:
    """The bytes that a remote shard has as a fact."""
    return _SHARD.pack(_KINDS["remote"], clock, total)


def counted(shards: Iterable[Fact]) -> int | None:
    """The counter's value; None for no shard at all. As in the server, it wraps at 64 bits."""
    best: dict[bytes, tuple[int, int, int]] = {}
    for fact in shards:
        best[fact.path] = max(best.get(fact.path, (-1, 0, 0)), shard_rank(fact))
    if not best:
        return None
    return wrapped(sum(total for _, _, total in best.values()))
