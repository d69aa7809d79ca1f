"""Times of a record: timestamps in microseconds, a TTL and when it ends in seconds; each may be nil."""

from __future__ import annotations

from tailer.scan.index import NO_TTL, Status
from tailer.scan.record.heads import NIL, BadRecordError, head_at, read_int
from tailer.scan.record.valid import is_expiry, is_time, is_ttl


def read_ts(data: bytes, at: int, end: int, else_ts: int) -> tuple[int, int]:
    """A timestamp, `else_ts` for nil, and the offset behind it."""
    if head_at(data, at, end) == NIL:
        return else_ts, at + 1
    return read_time(data, at, end)


def read_time(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A timestamp and the offset behind it. The one number that says "none" in an index is none."""
    ts, behind = read_int(data, at, end)
    if not is_time(ts):
        raise BadRecordError(Status.BAD_VALUE, at, ts)
    return ts, behind


def read_expiry(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """TTL, when it ends, and the offset behind both: NO_TTL and 0 where both are nil. They come together."""
    at_ttl, ttl, expires = at, NO_TTL, 0
    if head_at(data, at, end) == NIL:
        at += 1
    else:
        ttl, at = read_int(data, at, end)
        if not is_ttl(ttl):
            raise BadRecordError(Status.BAD_VALUE, at_ttl, ttl)
    at_expires = at
    if head_at(data, at, end) == NIL:
        at += 1
        if ttl != NO_TTL:
            raise BadRecordError(Status.BAD_VALUE, at_expires, ttl)
    else:
        expires, at = read_int(data, at, end)
        if not is_expiry(expires) or ttl == NO_TTL:
            raise BadRecordError(Status.BAD_VALUE, at_expires, expires)
    return ttl, expires, at
