"""The options of a log, checked before anything is touched."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Final, NamedTuple, TypedDict

from tailer.errors import UsageError
from tailer.limits import MIB, OFFSET_MAX
from writer_hooks.cap import Cap, check_cap
from writer_hooks.compression import Compression
from writer_hooks.failed import machine_boot_id
from writer_hooks.policy import SyncPolicy, batch, check_policy

SEGMENT_BYTES: Final = 32 * MIB
MAX_UNSYNCED: Final = 16 * MIB
BATCH: Final = batch()
TICK_SECONDS: Final = 1.0
"""How long bytes that nobody waits for may lie in memory, and how often a segment's age is looked at."""
SEGMENT_BYTES_MIN: Final = 1024


def unix_microseconds() -> int:
    return time.time_ns() // 1000


def new_token() -> str:
    """16 hex digits that no other run of a writer has."""
    return secrets.token_hex(8)


class Stand(TypedDict, total=False):
    """What tests put in the place of the world."""

    clock: Callable[[], float]
    wall: Callable[[], int]
    boot_id: Callable[[], str]
    token: Callable[[], str]


class Options(NamedTuple):
    """What `SegmentLog.open` takes, with its defaults; see there."""

    sync: SyncPolicy = BATCH
    segment_bytes: int = SEGMENT_BYTES
    max_age: float | None = None
    compression: Compression = None
    cap: Cap | None = None
    max_unsynced: int = MAX_UNSYNCED
    publish_ms: float = 5.0
    threads: bool = True
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], int] = unix_microseconds
    boot_id: Callable[[], str] = machine_boot_id
    token: Callable[[], str] = new_token

    @property
    def tick_seconds(self) -> float:
        return TICK_SECONDS if self.max_age is None else min(TICK_SECONDS, self.max_age / 4)

    def check(self) -> None:
        """Raises UsageError for a value that cannot be meant."""
        check_policy(self.sync)
        if not SEGMENT_BYTES_MIN <= self.segment_bytes <= OFFSET_MAX:
            expected = f"{SEGMENT_BYTES_MIN} to {OFFSET_MAX}"
            raise UsageError("segment_bytes", expected=expected, found=self.segment_bytes)
        if self.max_age is not None and self.max_age <= 0:
            raise UsageError("max_age", expected="seconds, more than 0, or None", found=self.max_age)
        if self.compression not in (None, "lz4", "zstd"):
            raise UsageError("compression", expected="None, lz4 or zstd", found=self.compression)
        if self.max_unsynced < 1:
            raise UsageError("max_unsynced", expected="bytes, 1 or more", found=self.max_unsynced)
        if self.publish_ms < 0:
            raise UsageError("publish_ms", expected="milliseconds, 0 or more", found=self.publish_ms)
        check_cap(self.cap, self.segment_bytes)
