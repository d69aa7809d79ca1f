"""Times of a record, compiled: the twin of `scan.record.times`."""

from __future__ import annotations

from tailer.jit.decorators import compiled
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block import fail
from tailer.scan.index import NO_DELETION, NO_TTL
from tailer.scan.record.compiled.heads import is_nil, read_int
from tailer.scan.record.valid import TTL_MAX


@compiled
def read_time(walk: int, base: int, at: int) -> tuple[int, int]:
    """A timestamp and the offset behind it."""
    ts, behind = read_int(walk, base, at)
    if behind != b.FAILED and ts == NO_DELETION:
        return 0, fail(walk, b.BAD_VALUE, at, ts)
    return ts, behind


@compiled
def read_ts(walk: int, base: int, at: int, else_ts: int) -> tuple[int, int]:
    """A timestamp, `else_ts` for nil, and the offset behind it."""
    if is_nil(walk, base, at):
        return else_ts, at + 1
    return read_time(walk, base, at)


@compiled
def _read_both(walk: int, base: int, at: int) -> tuple[int, int, int]:
    ttl, expires = NO_TTL, 0
    if is_nil(walk, base, at):
        at += 1
    else:
        ttl, behind = read_int(walk, base, at)
        if behind == b.FAILED:
            return 0, 0, b.FAILED
        if ttl < 0 or ttl > TTL_MAX:
            return 0, 0, fail(walk, b.BAD_VALUE, at, ttl)
        at = behind
    if is_nil(walk, base, at):
        if ttl != NO_TTL:
            return 0, 0, fail(walk, b.BAD_VALUE, at, ttl)
        return ttl, expires, at + 1
    expires, behind = read_int(walk, base, at)
    if behind == b.FAILED:
        return 0, 0, b.FAILED
    if expires < 0 or ttl == NO_TTL:
        return 0, 0, fail(walk, b.BAD_VALUE, at, expires)
    return ttl, expires, behind


@compiled
def read_expiry(walk: int, base: int, at: int) -> tuple[int, int, int]:
    """TTL, when it ends, and the offset behind both: NO_TTL and 0 where both are nil."""
    if is_nil(walk, base, at) and is_nil(walk, base, at + 1):
        return NO_TTL, 0, at + 2
    return _read_both(walk, base, at)
