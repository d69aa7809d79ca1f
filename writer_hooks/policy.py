"""When bytes are synced: three policies. In each a ticket is done when its bytes are durable, and not before."""

from __future__ import annotations

from typing import Literal, NamedTuple


class SyncPolicy(NamedTuple):
    """`seconds`: the least time from one sync to the next; nothing for `batch`."""

    kind: Literal["batch", "group", "periodic"]
    seconds: float


def batch() -> SyncPolicy:
    """A sync begins as soon as somebody waits and none is under way; those who wait share it.

    Bytes that nobody waits for are synced within a second."""
    return SyncPolicy("batch", 0.0)


def group(ms: float = 2.0) -> SyncPolicy:
    """At most one sync in so many milliseconds, and only while somebody waits; else as `batch`."""
    return SyncPolicy("group", ms / 1000)


def periodic(ms: float = 10.0) -> SyncPolicy:
    """A sync in so many milliseconds wherever bytes were appended, whether somebody waits or not."""
    return SyncPolicy("periodic", ms / 1000)
