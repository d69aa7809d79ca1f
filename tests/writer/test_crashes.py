"""The writer, crashed before every call it makes to the disk, with every loss that the disk may have.

`CDC_TAIL_TESTS=thorough` crashes random workloads too, and crashes recovery of many more crashes.
"""

from __future__ import annotations

import random

import pytest

from tests.helpers.amount import THOROUGH
from tests.writer.crash.crashes import Recorder, crash_everywhere, crashes, raw_files
from tests.writer.crash.files import FakeFiles
from tests.writer.crash.reader import read_folder
from tests.writer.crash.session import open_log
from tests.writer.crash.workloads import (
    SCRIPTS,
    Script,
    closed,
    dropped,
    random_script,
    refused,
    rows_only,
    transactions,
)
from tests.writer.tailing import tailed_disk
from writer_hooks.cap import Cap


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_crash_at_every_call(script: Script) -> None:
    count = crash_everywhere(script, seeds=8 if THOROUGH else 1, second=40 if THOROUGH else 1)
    print(f"{script.__name__}: {count} recoveries")


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_crash_at_every_call_with_compression(compression: str) -> None:
    crash_everywhere(transactions, seeds=1, second=1, compression=compression, stride=1 if THOROUGH else 4)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_crash_of_a_log_that_makes_segments_ahead(script: Script) -> None:
    for ahead in range(20 if THOROUGH else 1):
        stride, second = (1, 20) if THOROUGH else (2, 1)
        crash_everywhere(script, seeds=1, second=second, seed=ahead, stride=stride, ahead=ahead)


@pytest.mark.parametrize(("script", "cap"), [(dropped, Cap(8192, "drop_oldest")), (refused, Cap(8192, "block"))])
def test_crash_at_every_call_under_a_cap(script: Script, cap: Cap) -> None:
    crash_everywhere(script, seeds=4 if THOROUGH else 1, second=10 if THOROUGH else 1, cap=cap)


@pytest.mark.parametrize("seed", range(200 if THOROUGH else 4))
def test_crash_of_random_workloads(seed: int) -> None:
    script, second, stride = random_script(seed), 3 if THOROUGH else 1, 1 if THOROUGH else 3
    crash_everywhere(script, seeds=2 if THOROUGH else 1, second=second, seed=seed, stride=stride)


@pytest.mark.parametrize(
    "script", [rows_only, transactions, closed, random_script(5)], ids=lambda script: script.__name__
)
def test_the_tailer_reads_what_the_model_reads(script: Script) -> None:
    """Before recovery and behind it: every row that the model's reader delivers, and no other."""
    run = Recorder()
    script(run)
    rng = random.Random(1)
    for moment in rng.sample(run.moments, len(run.moments) if THOROUGH else 6):
        for crash in crashes(moment, [rng.randrange(2**32)]):
            assert tailed_disk(crash.disk) == read_folder(raw_files(crash.disk), strict=False).rows, (
                moment,
                crash.loss,
            )
            open_log(FakeFiles(crash.disk), boot_id=lambda: "run 1")
            assert tailed_disk(crash.disk) == read_folder(raw_files(crash.disk)).rows, (moment, crash.loss)
