"""Ignite CDC (IEP-59) and its real-time mode: consumers beside the writer, by files or from its memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

import tailer
from tailer.errors import RefusedError
from tests.mission.shop import idx_files, numbers, opened, rows, write
from writer_hooks import Cap

WRITER = """
import sys
from pathlib import Path
from tests.mission.shop import opened, write
with opened(Path(sys.argv[1])) as log:
    for line in sys.stdin:
        write(log, int(line))
        log.sync()
        print(line, end="", flush=True)
"""


def in_batch(batch: Any) -> list[int]:
    return [json.loads(key)["number"] for key in batch.column("partition_key").to_pylist()]


class Noting:
    """A consumer object that notes its calls. `safe`: what it answers to rows."""

    def __init__(self, *, safe: bool = True) -> None:
        self.calls: list[tuple[str, Any]] = []
        self._safe = safe

    def start(self, state: Any) -> None:
        self.calls.append(("start", None))

    def on_definitions(self, changes: Sequence[Any]) -> None:
        self.calls += [("definition", each.name) for each in changes]

    def on_changes(self, batch: Any) -> bool:
        self.calls += [("row", number) for number in in_batch(batch)]
        return self._safe

    def stop(self) -> None:
        self.calls.append(("stop", None))


def until(found: Iterable[bool], seconds: float = 20.0) -> None:
    """Look again and again."""
    deadline = time.monotonic() + seconds
    for each in found:
        if each:
            return
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_of_its_own_reads_what_another_writes(tmp_path: Path) -> None:
    """While the writer lives, and without a word between the two."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        for number in (1, 2):
            writer.stdin.write(f"{number}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == f"{number}\n"
            found: list[int] = []

            def looks(found: list[int] = found) -> Iterable[bool]:
                # The thread that publishes is some milliseconds behind.
                while True:
                    found += numbers(rows(tmp_path / "cdc_raw", "--consumer", "c"))
                    yield bool(found)

            until(looks())
            assert found == [number]


def test_each_of_several_consumers_gets_all_changes(tmp_path: Path) -> None:
    """Whenever it comes, and at its own pace."""
    with opened(tmp_path) as log:
        write(log, 1)
    assert numbers(rows(tmp_path / "cdc_raw", "--consumer", "early")) == [1]
    with opened(tmp_path) as log:
        write(log, 2)
    assert numbers(rows(tmp_path / "cdc_raw", "--consumer", "late")) == [1, 2]
    assert numbers(rows(tmp_path / "cdc_raw", "--consumer", "early")) == [2]


def test_a_consumer_object_is_handed_definitions_before_rows(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        write(log, 1, 2)
    consumer = Noting()
    tailer.run(tmp_path / "cdc_raw", consumer, name="c", once=True)
    row = [("row", 1), ("row", 2)]
    assert consumer.calls == [("start", None), ("definition", "shop.orders"), *row, ("stop", None)]


@pytest.mark.parametrize("safe", [False, True])
def test_what_a_consumer_object_has_not_called_safe_comes_again(tmp_path: Path, safe: bool) -> None:
    with opened(tmp_path) as log:
        write(log, 1)
    tailer.run(tmp_path / "cdc_raw", Noting(safe=safe), name="c", once=True)
    again = Noting()
    tailer.run(tmp_path / "cdc_raw", again, name="c", once=True)
    assert (("row", 1) in again.calls) == (not safe)


@pytest.mark.parametrize("on_full", ["block", "drop_oldest"])
def test_the_folder_of_captured_segments_has_a_maximum_size(tmp_path: Path, on_full: Any) -> None:
    most = 5 * 8192
    with opened(tmp_path, cap=Cap(most, on_full)) as log:
        try:
            write(log, *range(100), size=1000)
            refused = False
        except RefusedError:
            refused = True
        assert refused == (on_full == "block")
        size = sum(file.stat().st_size for file in (tmp_path / "cdc_raw").glob("*.log"))
        # The segment that is written and the one that is made ahead may be beyond.
        assert size <= most + 2 * 8192


def test_a_quiet_segment_is_archived_by_time(tmp_path: Path) -> None:
    """Without one more write it is finished, so that readers of what is done get it."""
    with opened(tmp_path, max_age=0.2) as log:
        write(log, 1)
        until("DONE" in words for _ in iter(int, 1) for words in [next(iter(idx_files(tmp_path).values()), [])])


def test_a_consumer_in_the_process_is_fed_from_memory_and_from_files(tmp_path: Path) -> None:
    """The buffer has a bound; who falls behind it reads segments, and comes back. Each row comes once."""
    with opened(tmp_path) as log, log.subscribe(buffer_bytes=1000) as changes:
        found: list[int] = []
        modes = []
        for lot in (range(2), range(2, 200), range(200, 202)):
            write(log, *lot)
            while len(found) < lot.stop:
                found += in_batch(changes.take(10))
                assert changes.stats().buffer_used <= 1000
                modes.append(changes.stats().mode)
        assert found == list(range(202))
        assert (modes[0], modes[-1], set(modes)) == ("buffer", "buffer", {"buffer", "segments"})
        assert changes.stats().switches >= 2


def test_it_shows_metrics(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    with opened(tmp_path, metrics=registry) as log, log.subscribe(consumer="mailer") as changes:
        write(log, 1)
        assert in_batch(changes.take(10)) == [1]
        told = generate_latest(registry).decode()
    assert re.search(r"^cdc_tail_writer_entries_total\{.*\} [1-9]", told, re.MULTILINE), told
    assert re.search(r"^cdc_tail_subscription_\w+\{.*mailer.*\} ", told, re.MULTILINE)
