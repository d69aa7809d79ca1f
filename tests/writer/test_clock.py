"""Times that the writer gives to changes by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailer.scan.record.record import Change
from tests.writer.plain import ORDERS, segments
from tests.writer.small_log import order
from writer_hooks import SegmentLog


def written_at(folder: Path) -> list[int]:
    return [
        record.write_ts
        for segment in segments(folder / "commitlog")
        for _, record in segment.records
        if isinstance(record, Change)
    ]


@pytest.mark.parametrize("ends", ["closed", "killed"])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_the_time_of_a_change_never_goes_back_over_a_restart(tmp_path: Path, ends: str, compression: Any) -> None:
    options = {"compression": compression, "segment_bytes": 4096, "threads": False}
    log = SegmentLog.open(tmp_path, [ORDERS], wall=lambda: 5_000_000_000, **options)
    # A time that the program gives is its own matter, and moves no clock.
    log.append(ORDERS.insert({"id": 1, "note": ""}, write_ts=9_000_000_000_000))
    for number in range(2, 5):
        log.append(order(number, size=1500))
    log.begin().rollback()
    log.sync()
    if ends == "closed":
        log.close()
    else:
        log._ending._let_go_lock()
    for wall in (1_000_000, 3_000_000, 6_000_000_000):
        with SegmentLog.open(tmp_path, [ORDERS], wall=lambda wall=wall: wall, **options) as again:  # type: ignore[misc]
            again.append(order(7)).wait()
    assert written_at(tmp_path) == [
        9_000_000_000_000, 5_000_000_000, 5_000_000_001, 5_000_000_002, 5_000_000_003, 5_000_000_004, 6_000_000_000,
    ]  # fmt: skip
