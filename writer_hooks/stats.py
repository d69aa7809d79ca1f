"""Numbers of a log, for a service's metrics."""

from __future__ import annotations

import msgspec

from tailer.errors import CdcError
from tailer.position import Position
from writer_hooks.appender import Appender
from writer_hooks.syncer import Syncer


class Stats(msgspec.Struct, frozen=True):
    """`appended_*`: since the log was opened. `unsynced_bytes`: appended and not yet durable.

    `restart`: the position that readers need everything from, held by the oldest of `open_transactions`, which has been
    open for `oldest_transaction` seconds (0: none is open). `dropped`: the highest segment that the cap took away, 0
    for none. `hook_failures`: how often a hook raised. `dead`, `trouble`: why
    the log, or its sidecars, stand still.
    """

    segment: int
    segments: int
    appended_entries: int
    appended_bytes: int
    unsynced_bytes: int
    syncs: int
    end: Position
    open_transactions: int
    oldest_transaction: float
    restart: Position
    dropped: int
    hook_failures: int
    dead: str | None
    trouble: str | None


def numbers(
    appender: Appender, syncer: Syncer, end: Position, dropped: int, dead: CdcError | None, trouble: CdcError | None
) -> Stats:
    with appender.lock:
        appender.roll_back_forgotten()
        appended = appender.sealed + appender.segment.pending
        return Stats(
            segment=appender.segment.id,
            segments=appender.segments,
            appended_entries=appender.entries,
            appended_bytes=appended,
            unsynced_bytes=appended - syncer.flushed,
            syncs=syncer.syncs,
            end=end,
            open_transactions=len(appender.transactions),
            oldest_transaction=appender.oldest(),
            restart=min(appender.firsts(), default=end),
            dropped=dropped,
            hook_failures=syncer.hook_failures,
            dead=None if dead is None else dead.sentence(),
            trouble=None if trouble is None else trouble.sentence(),
        )
