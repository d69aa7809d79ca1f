"""Rows that go to an outlet: each once, whatever fails between target and state, and whoever moves one of the two."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tailer.errors import CorruptError, LossError, RefusedError, SinkError
from tailer.options.tail import TailOptions
from tailer.reading import reader
from tailer.retention.move_consumer import drop_consumer, seek_consumer
from tailer.sinks.outlet import Bounds, Place, TargetAwayError
from tailer.state.log_folder import state_folder
from tailer.tail.deliver import deliver
from tailer.tail.feed import Feed
from tailer.tail.patience import Patience
from tests.helpers.log_writer import LogFolder, completed, create_payload, live, segment_of
from tests.helpers.outlets import Killed, MemoryOutlet, Target, away, kill_before_state
from tests.helpers.tails import open_tail
from tests.native.logs import folder_of
from tests.native.test_following import EXPECTED, mixed_log
from tests.unit.tail.test_taken import IN_BATCH, ONE, TABLE, rows, three_segments

FEW = Bounds(rows=5)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", IN_BATCH)


def feed(
    folder: Path,
    target: Target,
    bounds: Bounds = FEW,
    *,
    keeps_place: bool = True,
    patience: float = 5.0,
    said: list[str] | None = None,
    **options: Any,
) -> int:
    """One run that does not wait; how many rows it committed."""
    say = [].append if said is None else said.append
    chosen = replace(TailOptions(consumer="c", settle_seconds=0.0, outlet=True), **options)
    with open_tail(folder, chosen) as tail:
        waits = Patience(patience, say, sleep=lambda seconds: None)
        one = Feed(tail, lambda context: MemoryOutlet(target, context, bounds, keeps_place), waits, say)
        return deliver(one, once=True, say=say)


def until_done(folder: Path, target: Target, **options: Any) -> int:
    """Runs until one is not killed; how many were."""
    for killed in range(200):
        try:
            feed(folder, target, **options)
        except Killed:
            continue
        return killed
    raise AssertionError("it never ends")


def killed_at(number: int, when: str) -> Callable[[int, str], None]:
    """The process dies once, at that call."""
    left = [None]

    def fails(at: int, where: str) -> None:
        if left and (at, where) == (number, when):
            left.pop()
            raise Killed

    return fails


def test_every_row_once_and_positions_agree(tmp_path: Path) -> None:
    folder, values = three_segments(tmp_path)
    target = Target()
    assert feed(folder.path, target) == len(values)
    assert target.values == values
    assert max(target.commits) < 5 + IN_BATCH
    ((key, place),) = target.places.items()
    state = msgspec.json.decode((state_folder(folder.path) / "consumers" / "c.json").read_bytes())
    node = state["nodes"]["local"]
    assert (key.node, key.consumer, place.generation) == ("local", "c", node["generation"])
    assert msgspec.json.decode(place.offset)["o"] == node["offset"]["o"]
    assert key.folder == node["offset"]["id"]
    assert feed(folder.path, target) == 0
    assert target.values == values


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(9))
def test_a_kill_at_a_commit(tmp_path: Path, number: int, when: str) -> None:
    folder, values = three_segments(tmp_path)
    target = Target(fails=killed_at(number, when))
    assert until_done(folder.path, target) == (number < len(target.commits))
    assert target.values == values


@pytest.mark.parametrize("number", range(1, 10))
def test_a_kill_before_the_state_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    folder, values = three_segments(tmp_path)
    kill_before_state(monkeypatch, number)
    target = Target()
    assert until_done(folder.path, target) == 1
    assert target.values == values


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_in_a_log_of_transactions(tmp_path: Path, number: int, when: str) -> None:
    """A batch may end inside a transaction: its rows are committed with its end."""
    folder = folder_of(tmp_path, *mixed_log())
    target = Target(fails=killed_at(number, when))
    until_done(folder, target, bounds=Bounds(rows=1))
    assert [(row["partition_key"]["id"], row["columns"]["v"], row["txn"]) for row in target.rows] == EXPECTED


@pytest.mark.parametrize("number", range(6))
def test_a_kill_where_a_segment_turns_up_in_a_hole(tmp_path: Path, number: int) -> None:
    """The target is ahead of the state by one commit: what was remembered there is known all the same."""
    folder = LogFolder(tmp_path / "cdc_raw")
    beginning = segment_of(ONE, [[create_payload(TABLE), *rows(itertools.count(1), 4)]])
    middle, last = (segment_of(ONE + at, [rows(itertools.count(first), 7)]) for at, first in ((2, 5), (3, 12)))
    for made in (beginning, middle, last):
        folder.put(made, completed(made))
    target = Target(fails=killed_at(number, "after"))
    with contextlib.suppress(Killed):
        feed(folder.path, target)
    target.fails = lambda at, when: None
    late = segment_of(ONE + 1, [rows(itertools.count(50), 4)])
    folder.put(late, completed(late))
    feed(folder.path, target)
    assert sorted(target.values) == [*range(1, 19), *range(50, 54)]


class TestAway:
    """A target that cannot be reached for a while."""

    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize("number", range(6))
    def test_a_commit_whose_answer_is_lost_is_not_sent_again(self, tmp_path: Path, number: int, when: str) -> None:
        folder, values = three_segments(tmp_path)
        failed: list[int] = []

        def fails(at: int, where: str) -> None:
            if (at, where) == (number, when) and len(failed) < 3:
                failed.append(at)
                raise away()

        target = Target(fails=fails)
        said: list[str] = []
        assert feed(folder.path, target, said=said) == len(values)
        assert target.values == values
        assert len(failed) == (3 if when == "before" else 1)
        assert [words in line for words, line in zip(("away", "there again"), said, strict=True)] == [True, True]

    def test_it_is_waited_for_at_the_start_too(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)

        def fails(at: int, where: str) -> None:
            if where == "open" and at < 4:
                raise away()

        target = Target(fails=fails)
        feed(folder.path, target)
        assert target.values == values

    def test_not_for_ever(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)
        clock = itertools.count(0.0, 0.5)
        target = Target()
        calls: list[str] = []

        def fails(at: int, where: str) -> None:
            if at == 2 and where == "before":
                calls.append(where)
                raise away()

        target.fails = fails
        with open_tail(folder.path, TailOptions(consumer="c", settle_seconds=0.0, outlet=True)) as tail:
            patience = Patience(30.0, [].append, clock=clock.__next__, sleep=lambda seconds: None)
            one = Feed(tail, lambda context: MemoryOutlet(target, context, FEW), patience, [].append)
            with pytest.raises(TargetAwayError) as raised:
                deliver(one, once=True, say=[].append)
        assert raised.value.code == 8
        assert 3 < len(calls) < 12
        target.fails = lambda at, where: None
        feed(folder.path, target)
        assert target.values == values

    def test_without_a_place_rows_may_come_again(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)
        target = Target(fails=killed_at(2, "after"))
        assert until_done(folder.path, target, keeps_place=False) == 1
        assert len(target.values) > len(values)
        assert list(dict.fromkeys(target.values)) == values


class TestTwoPositions:
    """State and target were moved apart by somebody."""

    def begun(self, tmp_path: Path, **options: Any) -> tuple[Path, Target, list[int]]:
        folder, values = three_segments(tmp_path)
        target = Target()
        feed(folder.path, target, until=f"{ONE + 1}:0", **options)
        return folder.path, target, values

    def place(self, target: Target) -> Place:
        (place,) = target.places.values()
        return place

    def test_the_target_was_emptied(self, tmp_path: Path) -> None:
        folder, target, _ = self.begun(tmp_path)
        target.places.clear()
        with pytest.raises(RefusedError, match="keeps no position"):
            feed(folder, target)

    def test_a_kill_before_the_first_commit_is_no_emptied_target(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)
        target = Target(fails=killed_at(0, "before"))
        assert until_done(folder.path, target) == 1
        assert target.values == values

    def test_the_target_was_restored_from_a_backup(self, tmp_path: Path) -> None:
        folder, target, values = self.begun(tmp_path)
        backup = list(target.rows), dict(target.places)
        feed(folder, target)
        target.rows, target.places = backup
        feed(folder, target)
        assert target.values == values

    def test_a_restored_target_lacks_what_is_gone(self, tmp_path: Path) -> None:
        folder, target, _ = self.begun(tmp_path)
        backup = list(target.rows), dict(target.places)
        feed(folder, target)
        target.rows, target.places = backup
        for path in folder.glob(f"*{ONE + 1}*"):
            path.unlink()
        with pytest.raises(LossError):
            feed(folder, target)

    def test_the_state_was_restored_from_a_backup(self, tmp_path: Path) -> None:
        folder, target, values = self.begun(tmp_path)
        file = state_folder(folder) / "consumers" / "c.json"
        backup = file.read_bytes()
        feed(folder, target)
        file.write_bytes(backup)
        feed(folder, target)
        assert target.values == values

    def test_sought_back_by_hand(self, tmp_path: Path) -> None:
        folder, target, values = self.begun(tmp_path)
        feed(folder, target)
        seek_consumer(folder, "c", f"{ONE + 1}:0")
        feed(folder, target)
        assert target.values == values + values[12:]
        assert self.place(target).generation == 2

    def test_sought_forward_by_hand(self, tmp_path: Path) -> None:
        folder, target, values = self.begun(tmp_path)
        seek_consumer(folder, "c", f"{ONE + 2}:0")
        feed(folder, target)
        assert target.values == values[:12] + values[24:]

    def test_dropped_and_begun_anew(self, tmp_path: Path) -> None:
        folder, target, values = self.begun(tmp_path)
        drop_consumer(state_folder(folder), "c")
        feed(folder, target)
        assert target.values == values[:12] + values
        assert self.place(target).generation == 2
        drop_consumer(state_folder(folder), "c")
        feed(folder, target)
        assert self.place(target).generation == 3

    def test_a_state_from_before_it_was_sought(self, tmp_path: Path) -> None:
        folder, target, _ = self.begun(tmp_path)
        file = state_folder(folder) / "consumers" / "c.json"
        backup = file.read_bytes()
        seek_consumer(folder, "c", "earliest")
        feed(folder, target)
        file.write_bytes(backup)
        with pytest.raises(RefusedError, match="generation"):
            feed(folder, target)

    def test_somebody_else_writes(self, tmp_path: Path) -> None:
        folder, target, _ = self.begun(tmp_path)
        key, place = next(iter(target.places.items()))

        def fails(at: int, where: str) -> None:
            if where == "before":
                target.places[key] = msgspec.structs.replace(place, generation=9)

        target.fails = fails
        with pytest.raises(RefusedError, match="somebody else"):
            feed(folder, target)

    def test_another_folder_is_another_key(self, tmp_path: Path) -> None:
        _, target, values = self.begun(tmp_path / "one")
        other, _ = three_segments(tmp_path / "two")
        feed(other.path, target)
        assert len(target.places) == 2
        assert target.values == values[:12] + values


class TestBounds:
    """When a commit is due."""

    def test_bytes(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)
        target = Target()
        feed(folder.path, target, Bounds(bytes=1))
        assert target.values == values
        assert max(target.commits) <= IN_BATCH

    def test_all_that_is_there_at_once(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)
        target = Target()
        feed(folder.path, target, Bounds())
        assert target.commits == [len(values)]

    def test_rows_before_damage_are_committed(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)
        last = folder.path / f"CommitLog-7-{ONE + 2}_cdc.idx"
        last.write_text(f"{last.read_text()}\nCOMPLETED")
        made = segment_of(ONE + 3, [rows(itertools.count(37), 8), rows(itertools.count(45), 8)])
        made.data[made.sections[1].end - 3] ^= 1
        folder.put(made, live(made))
        target = Target()
        for _ in range(2):
            with pytest.raises(CorruptError):
                feed(folder.path, target, Bounds())
            assert target.values == [*values, *range(37, 45)]


class TestRefused:
    """A row that the target does not take."""

    def refuses(self, row: dict[str, Any]) -> bool:
        return row["columns"]["v"] in (4, 20)

    def test_it_stops_the_run_and_nothing_is_lost(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)
        target = Target(refuses=self.refuses)
        with pytest.raises(SinkError) as raised:
            feed(folder.path, target)
        assert raised.value.code == 7
        target.refuses = lambda row: False
        feed(folder.path, target)
        assert target.values == values

    def test_or_is_put_aside(self, tmp_path: Path) -> None:
        folder, values = three_segments(tmp_path)
        target = Target(refuses=self.refuses)
        feed(folder.path, target, on_error="quarantine")
        assert target.values == [value for value in values if value not in (4, 20)]
        kept = (state_folder(folder.path) / "quarantine" / "c.jsonl").read_bytes().splitlines()
        found = [msgspec.json.decode(line) for line in kept]
        assert [msgspec.json.decode(bytes.fromhex(each["bytes"]))["columns"]["v"] for each in found] == [4, 20]
        assert {each["row"] for each in found} == {0}
