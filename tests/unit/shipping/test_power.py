"""Killed, or without power, at every call to the disk of the writer of data files and of their shipper: each row is
there once in the end, and what is left fits together."""

from __future__ import annotations

import os
import shutil
import traceback
from pathlib import Path

import pytest

from tailer.reading import reader
from tests.helpers.amount import ALL
from tests.helpers.data_files import feed, indexes, values_of
from tests.helpers.shipping import ship
from tests.retention.killed import Killed, killed_at
from tests.retention.power import ROOT, Shadow
from tests.unit.tail.test_taken import IN_BATCH, three_segments
from tests.writer.crash.disk import everything_kept, nothing_kept, some_kept

STRIDE = 1 if ALL else 19
SEEDS = 4 if ALL else 1
DIED = 9


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", IN_BATCH)


def run(folder: Path) -> None:
    """The follower, then the shipper, over what is there."""
    feed(folder / "cdc_raw", folder / "out", 4000)
    ship(folder / "out", f"files:{folder / 'two'}")


def check(folder: Path, values: list[int]) -> None:
    run(folder)
    assert values_of(folder / "two" / "local") == values
    # All but the newest was removed, with nothing left over.
    ((index,), two) = indexes(folder / "out" / "local"), indexes(folder / "two" / "local")
    assert index == two[-1]
    left = {path.name for path in (folder / "out" / "local").iterdir()}
    assert left == {"lock", index["data"], f"data-{index['number']:012}.idx.json"}


def test_the_power_goes_at_any_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, values = three_segments(tmp_path / "real")
    shadow = Shadow(tmp_path / "real")
    with shadow.watching():
        run(tmp_path / "real")
    check(tmp_path / "real", values)
    assert {name for name, _ in shadow.moments} >= {"fsync", "replace", "unlink"}
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    picks = [nothing_kept, everything_kept, *(some_kept(seed) for seed in range(SEEDS))]
    for number in range(0, len(shadow.moments), STRIDE):
        name, disk = shadow.moments[number]
        for at, pick in enumerate(picks):
            into = tmp_path / "after"
            disk.after_power_loss(pick).write_out(ROOT, into)
            try:
                check(into, values)
            except BaseException as error:
                error.add_note(f"before call {number} ({name}), pick {at}")
                raise
            shutil.rmtree(into)


def dies(folder: Path, number: int) -> bool:
    """A run in a process of its own, which ends at that call; whether it did."""
    child = os.fork()
    if child:
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended in (0, DIED)
        return ended == DIED
    try:
        with killed_at(number):
            run(folder)
    except Killed:
        os._exit(DIED)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


@pytest.mark.parametrize("first", range(7))
def test_killed_at_a_call_and_again_at_a_later_one(tmp_path: Path, first: int) -> None:
    """Each run is killed a few calls further than the one before it, until one gets through."""
    folder, values = tmp_path / "real", three_segments(tmp_path / "real")[1]
    for number in range(first, 400, 7):
        if not dies(folder, number):
            break
    assert number > 14
    check(folder, values)
