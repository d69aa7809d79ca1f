"""When bytes are synced: three policies. In each a ticket is done when its bytes are durable, and not before."""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple

from tailer.errors import UsageError

KINDS: Final = ("batch", "group", "periodic")


class SyncPolicy(NamedTuple):
    """`seconds`: the least time from one sync to the next; nothing for `batch`."""

    kind: Literal["batch", "group", "periodic"]
    seconds: float


def check_policy(policy: object) -> None:
    """Raises UsageError for what is no policy, as its name is, or its function without a call."""
    if not isinstance(policy, SyncPolicy) or policy.kind not in KINDS:
        raise UsageError(
            "sync",
            expected="batch(), group(ms) or periodic(ms)",
            found=repr(policy),
            remedy="from writer_hooks import batch, group, periodic",
        )
    number = isinstance(policy.seconds, (int, float)) and not isinstance(policy.seconds, bool)
    if not number or not 0 <= policy.seconds < math.inf:
        raise UsageError(f"the time of {policy.kind}", expected="milliseconds, 0 or more", found=repr(policy.seconds))


def batch() -> SyncPolicy:
    """A sync begins as soon as somebody waits and none is under way; those who wait share it.

    Bytes that nobody waits for are synced within a second."""
    return SyncPolicy("batch", 0.0)


def group(ms: float = 2.0) -> SyncPolicy:
    """At most one sync in so many milliseconds, and only while somebody waits; else as `batch`."""
    return _timed("group", ms)


def periodic(ms: float = 10.0) -> SyncPolicy:
    """A sync in so many milliseconds wherever bytes were appended, whether somebody waits or not."""
    return _timed("periodic", ms)


def _timed(kind: Literal["group", "periodic"], ms: float) -> SyncPolicy:
    made = SyncPolicy(kind, ms)
    check_policy(made)
    return made._replace(seconds=ms / 1000)
