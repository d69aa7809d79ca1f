"""The power goes at every call to the disk of followers and `clean`: what is left fits together, and nothing is lost.

Of what was not synced any sector and any name may be there or not. Position, definitions, memory, cleaned ids and
quarantine must agree whichever it is: a run that starts again gives every row that was not given before.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from tailer.options.tail import TailOptions
from tailer.retention import clean as cleaning
from tailer.retention.needed import Ages
from tailer.state.cleaned import read_cleaned
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import SkipRecord
from tailer.state.log_folder import state_folder
from tailer.state.quarantine import kept_in, quarantine_path
from tailer.state.remembered import registered
from tailer.tail.tail import Tail
from tests.helpers.amount import ALL
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    alter_payload,
    completed,
    create_payload,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.helpers.logs.model import Column
from tests.helpers.tails import open_tail
from tests.retention.power import ROOT, Shadow
from tests.writer.crash.disk import everything_kept, nothing_kept, some_kept

FIRST = 1_700_000_000_000
SEGMENTS = 5
BAD = 2
"""The segment with an entry that nobody can read."""

TABLE = simple_table("ks", "t")
UNKNOWN = simple_table("ks", "unknown", 9)
NAMES = ("fast", "slow")


def write_log(log: LogFolder) -> None:
    for number in range(SEGMENTS):
        ts = TS + number
        payloads = [create_payload(TABLE, ts)] if number == 0 else []
        payloads += [alter_payload(TABLE, Column(f"c{number}", "regular", "int"), ts)]
        if number == BAD:
            payloads.append(insert_payload(UNKNOWN, 99, "z", 99))
        payloads.append(insert_payload(TABLE, number, "a", number, ts))
        writer = segment_of(FIRST + 2 * number, [[payload] for payload in payloads])
        log.put(writer, completed(writer))


class Reader:
    """A consumer and the values it was given so far; what is given counts as taken when its position is saved."""

    def __init__(self, folder: Path, name: str) -> None:
        self.given: set[int] = set()
        self.tail: Tail = open_tail(folder, TailOptions(consumer=name, on_error="quarantine", settle_seconds=0.0))

    def step(self) -> bool:
        step = self.tail.step(1)
        assert step.error is None, step.error
        for task in step.tasks:
            for batch in self.tail.read(task):
                rows = map(json.loads, batch.json_lines().splitlines())
                self.given |= {row["columns"]["v"] for row in rows if "v" in row.get("columns", {})}
        self.tail.advance(step)
        self.tail.save()
        return bool(step.tasks or step.moved)


def clean(folder: Path) -> None:
    cleaning.clean(folder, ages=Ages(0.0, 0.0), clock=lambda: time.time() + 10_000)


@pytest.fixture(autouse=True)
def forgets_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "FORGOTTEN_AT_LEAST", 1)


def live_through(log: LogFolder, shadow: Shadow, given: list[dict[str, set[int]]]) -> None:
    """Two consumers read, one behind the other, and `clean` runs between: as `given` tells for each moment."""
    readers: dict[str, Reader] = {}
    with shadow.watching(lambda: given.append({name: set(each.given) for name, each in readers.items()})):
        for name in NAMES:
            readers[name] = Reader(log.path, name)
            readers[name].tail.open()
        for number in range(4 * SEGMENTS):
            readers["fast"].step()
            if number % 2:
                readers["slow"].step()
            if number % 5 == 4:
                clean(log.path)
        while sum(each.step() for each in readers.values()):
            pass
        clean(log.path)
    for each in readers.values():
        assert each.given == set(range(SEGMENTS))
        each.tail.close()


def check(folder: Path, given: dict[str, set[int]]) -> None:
    """What a power loss left, opened as anybody would."""
    state = state_folder(folder)
    journal = FolderJournal(state, writable=False)
    known = registered(state, journal)
    for content in known:
        for held in content.nodes.values():
            journal.check(held.offset)
    kept = {(each.segment, each.offset) for name in NAMES for each in kept_in(quarantine_path(state, name))}
    skips = [record for record in journal.read() if isinstance(record, SkipRecord)]
    assert all((record.at.segment, record.at.offset) in kept for record in skips)
    record = read_cleaned(state)
    there = {int(file.stem.split("-")[2]) for file in folder.glob("*.log")}
    cleaned = record.segments
    assert {FIRST + 2 * number for number in range(SEGMENTS)} - there <= set(cleaned)
    for name in {content.name for content in known}:
        reader = Reader(folder, name)
        with reader.tail:
            while reader.step():
                pass
        assert reader.given | given.get(name, set()) == set(range(SEGMENTS)), name
    if known:
        clean(folder)


@pytest.mark.slow
def test_whatever_a_power_loss_leaves_fits_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogFolder(tmp_path / "real" / "cdc_raw")
    write_log(log)
    given: list[dict[str, set[int]]] = []
    shadow = Shadow(tmp_path / "real")
    live_through(log, shadow, given)
    assert {name for name, _ in shadow.moments} >= {"fsync", "replace", "ftruncate", "unlink", "write"}
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    picks = [nothing_kept, everything_kept, *(some_kept(seed) for seed in range(4 if ALL else 1))]
    stride = 1 if ALL else 23
    for number in range(0, len(shadow.moments), stride):
        name, disk = shadow.moments[number]
        for at, pick in enumerate(picks):
            into = tmp_path / "after"
            disk.after_power_loss(pick).write_out(ROOT, into)
            try:
                check(into / "cdc_raw", given[number])
            except BaseException as error:
                error.add_note(f"before call {number} ({name}), pick {at}")
                raise
            shutil.rmtree(into)
