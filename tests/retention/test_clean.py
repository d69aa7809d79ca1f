"""The edge of `clean`: what it refuses, what it records before it deletes, and that it may be killed at any call."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tailer.errors import LossError, RefusedError, UsageError
from tailer.options.tail import TailOptions
from tailer.planning.survey import Survey
from tailer.position import Position
from tailer.retention.clean import ALL_THAT_MAY_GO, CleanOptions, clean, held_segments
from tailer.retention.gather import observe
from tailer.retention.move_consumer import drop_consumer
from tailer.retention.needed import Ages, Limits
from tailer.segments.source import FolderSource
from tailer.state.cleaned import FILE_NAME, CleanedFile, read_cleaned
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids import Ids
from tailer.state.journal_records import SkipRecord
from tailer.state.lock import state_lock
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset
from tailer.state.remembered import registered
from tests.helpers.log_writer import LogFolder, SegmentWriter, completed, live, segment_of
from tests.helpers.logs.native import NativeWriter
from tests.helpers.tails import open_tail
from tests.native.logs import ORDERS, put
from tests.retention.killed import Killed, killed_at

ONE = 1_700_000_000_001
AT_ONCE = Ages(0.0, 0.0)


def later() -> float:
    return time.time() + 10_000


def segment(number: int) -> SegmentWriter:
    return segment_of(ONE + number, [[b"any payload of an entry"]] * 2)


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    """Segments 0 to 4 are done, 5 is written; the server holds 3 to 5."""
    made = LogFolder(tmp_path / "cdc_raw")
    for number in range(6):
        made.put(segment(number), live(segment(number)) if number == 5 else completed(segment(number)))
        if number >= 3:
            made.hold(segment(number))
    return made


def read(folder: LogFolder, name: str, steps: int = 99, **options: object) -> LossError | None:
    """A consumer reads on, saves, and stops; the loss it meets, if any."""
    with open_tail(folder.path, TailOptions(consumer=name, **options)) as tail:  # type: ignore[arg-type]
        for _ in range(steps):
            step = tail.step(1)
            if step.error is not None:
                assert isinstance(step.error, LossError)
                return step.error
            if not (step.moved or step.tasks):
                break
            tail.advance(step)
        tail.save()
    return None


def there(folder: LogFolder) -> tuple[list[int], list[int]]:
    """Numbers of the logs and of the sidecars."""
    logs = [int(file.stem.split("-")[2]) - ONE for file in folder.path.glob("*.log")]
    sidecars = [int(file.stem.split("-")[2].removesuffix("_cdc")) - ONE for file in folder.path.glob("*.idx")]
    return sorted(logs), sorted(sidecars)


def run(folder: LogFolder, options: CleanOptions = ALL_THAT_MAY_GO, **more: object) -> list[int]:
    made = clean(folder.path, options, **({"ages": AT_ONCE, "clock": later} | more))  # type: ignore[arg-type]
    return [held.segment - ONE for held in made.logs]


def state_files(folder: LogFolder) -> dict[str, bytes]:
    state = state_folder(folder.path)
    return {str(file): file.read_bytes() for file in state.rglob("*") if file.is_file()}


class TestWhatGoes:
    def test_what_every_consumer_has_read(self, folder: LogFolder) -> None:
        read(folder, "quick")
        read(folder, "slow", steps=5)
        state = state_folder(folder.path)
        slow = next(each for each in registered(state, FolderJournal(state)) if each.name == "slow")
        position = slow.nodes["local"].offset.s - ONE
        assert 0 < position < 4
        assert run(folder) == list(range(position))
        assert there(folder) == (list(range(position, 6)), list(range(position, 6)))
        drop_consumer(state_folder(folder.path), "slow")
        assert run(folder) == list(range(position, 5))
        assert run(folder) == []
        assert there(folder) == ([5], [5])
        assert list(read_cleaned(state_folder(folder.path)).segments) == [ONE + number for number in range(5)]

    def test_the_minute_and_the_ten(self, folder: LogFolder) -> None:
        """By the real clock everything here has changed just now."""
        read(folder, "a")
        assert run(folder, ages=Ages(), clock=time.time) == []
        assert run(folder, ages=Ages(), clock=lambda: time.time() + 55) == []
        assert run(folder, ages=Ages(), clock=lambda: time.time() + 61) == [0, 1, 2, 3, 4]

    def test_a_server_that_lets_go_is_given_a_minute(self, folder: LogFolder) -> None:
        """Losing its second name is a change too: the server may be about to delete the first."""
        read(folder, "a")
        time.sleep(1.1)
        folder.let_go(segment(3))
        held = {each.segment - ONE: each for each in held_segments(folder.path).segments}
        assert held[3].changed - held[2].changed > 1

    def test_a_dry_run_changes_nothing(self, folder: LogFolder) -> None:
        read(folder, "a")
        before = there(folder), state_files(folder)
        assert run(folder, CleanOptions(dry_run=True)) == [0, 1, 2, 3, 4]
        assert (there(folder), state_files(folder)) == before

    @pytest.mark.parametrize("suffix", [".log", "_cdc.idx"])
    def test_a_segment_of_which_one_file_is_none_stays(self, folder: LogFolder, suffix: str) -> None:
        """Without its sidecar it would count as one without captured changes, and go."""
        read(folder, "a")
        odd = folder.path / f"CommitLog-7-{ONE + 1}{suffix}"
        odd.unlink()
        os.mkfifo(odd)
        assert run(folder) == [0, 2, 3, 4]
        assert there(folder) == ([1, 5], [1, 5])

    def test_stopped(self, folder: LogFolder) -> None:
        read(folder, "a", stopped=True)
        assert run(folder) == [0, 1, 2, 3, 4]
        with open_tail(folder.path, TailOptions(consumer="a", stopped=True)) as tail:
            assert tail.offset.done, "by its own option alone: for clean the last one is not finished"
        drop_consumer(state_folder(folder.path), "a")
        assert run(folder, CleanOptions(no_consumers=True)) == []
        assert run(folder, CleanOptions(no_consumers=True, stopped=True)) == [5]

    def test_what_a_server_links_anew_goes_again(self, folder: LogFolder) -> None:
        read(folder, "a")
        run(folder)
        folder.put(segment(2), completed(segment(2)))
        folder.put(segment(3))
        survey = Survey(FolderSource(folder.path), cleaned=lambda: read_cleaned(state_folder(folder.path)).segments)
        assert list(survey.look(NodeOffset())) == [ONE + 5]
        assert run(folder) == [2, 3]
        assert there(folder) == ([5], [5])

    def test_a_sidecar_without_log(self, folder: LogFolder) -> None:
        read(folder, "a", steps=5)
        for number in (0, 4):
            (folder.path / segment(number).name).unlink()
        run(folder)
        assert 0 not in there(folder)[1]
        assert 4 in there(folder)[1], "a loss that is not told yet"


class TestRefusal:
    def test_without_a_consumer(self, folder: LogFolder) -> None:
        with pytest.raises(RefusedError, match="no consumer"):
            run(folder)
        assert not state_folder(folder.path).exists()
        assert run(folder, CleanOptions(no_consumers=True)) == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("text", ["", "{", '{"v":4,"name":"b","nodes":{}}'])
    def test_a_consumer_that_is_not_understood(self, text: str, folder: LogFolder) -> None:
        read(folder, "a")
        (state_folder(folder.path) / "consumers" / "b.json").write_text(text)
        before = there(folder)
        for options in (CleanOptions(), CleanOptions(no_consumers=True)):
            with pytest.raises(RefusedError):
                run(folder, options)
        assert there(folder) == before

    def test_beside_another_run(self, folder: LogFolder) -> None:
        read(folder, "a")
        with state_lock(state_folder(folder.path)), pytest.raises(RefusedError, match="locked"):
            run(folder, lock_seconds=0.1)
        assert run(folder) == [0, 1, 2, 3, 4]

    def test_a_consumer_that_starts_waits_for_it(self, folder: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tailer.state.lock.WAIT_SECONDS", 0.1)
        with state_lock(state_folder(folder.path)):
            tail = open_tail(folder.path, TailOptions(consumer="a"))
            with pytest.raises(RefusedError, match="locked"):
                tail.open()
        tail.close()
        read(folder, "a", steps=0)


class TestNoSidecar:
    """Nothing shows that a folder is a `cdc_raw`: it may be a server's own, where nothing may ever be deleted."""

    @pytest.fixture
    def bare(self, tmp_path: Path) -> LogFolder:
        made = LogFolder(tmp_path / "cdc_raw")
        for number in range(3):
            made.put(segment(number))
        return made

    @pytest.mark.parametrize("options", [CleanOptions(no_consumers=True, stopped=True), CleanOptions(dry_run=True)])
    def test_of_any_other_name_is_refused_and_nothing_is_made(self, options: CleanOptions, bare: LogFolder) -> None:
        bare.path = bare.path.rename(bare.path.with_name("copy"))
        with pytest.raises(UsageError, match="no sidecar was ever in this folder"):
            run(bare, options)
        assert there(bare) == ([0, 1, 2], [])
        assert not state_folder(bare.path).exists()
        refused = observe("local", bare.path, options=options, clock=later).clean.refused
        assert refused == "no sidecar was ever in this folder"

    @pytest.mark.parametrize("name", ["cdc_raw", "cdc"])
    def test_of_a_new_node_it_is_left_alone_and_a_timer_does_not_fail(self, name: str, bare: LogFolder) -> None:
        """A server links each segment when it makes it, the sidecar comes with the first captured change."""
        bare.path = bare.path.rename(bare.path.with_name(name))
        read(bare, "a", stopped=True)
        before = state_files(bare)
        for options in (CleanOptions(stopped=True), CleanOptions(no_consumers=True, stopped=True)):
            made = clean(bare.path, options, ages=AT_ONCE, clock=later)
            assert made.logs == []
            assert made.notices == [
                "no sidecar was ever in this folder: nothing was captured yet, and nothing is deleted"
            ]
        assert there(bare) == ([0, 1, 2], [])
        assert state_files(bare) == before

    def test_one_that_was_cleaned_tells(self, folder: LogFolder) -> None:
        """What a server left without captured changes goes after all that was captured has gone."""
        read(folder, "a")
        run(folder)
        drop_consumer(state_folder(folder.path), "a")
        folder.remove(segment(5))
        folder.put(segment(6))
        assert run(folder, CleanOptions(no_consumers=True, stopped=True)) == [6]

    def test_one_that_somebody_saw_completed_tells(self, folder: LogFolder) -> None:
        read(folder, "a")
        for number in range(6):
            folder.remove(segment(number))
        drop_consumer(state_folder(folder.path), "a")
        folder.put(segment(6))
        assert run(folder, CleanOptions(no_consumers=True, stopped=True)) == [6]

    def test_an_empty_folder_has_nothing_to_refuse(self, tmp_path: Path) -> None:
        empty = LogFolder(tmp_path / "cdc_raw")
        assert run(empty, CleanOptions(no_consumers=True)) == []


class TestCap:
    def test_a_services_log_has_none_but_the_one_that_is_given(self, folder: LogFolder, tmp_path: Path) -> None:
        log = NativeWriter(7)
        log.section([ORDERS.definition, put(1, "one")])
        own = LogFolder(tmp_path / "shop" / "cdc_raw")
        own.put(log.frame, log.sidecar(done=False))
        found = [
            clean(each.path, CleanOptions(no_consumers=True, dry_run=True, cap=cap)).cap
            for each in (own, folder)
            for cap in (None, 1 << 30)
        ]
        assert found[:2] == [None, 1 << 30]
        assert found[2] is not None
        assert 0 < found[2] <= 4096 << 20, "a server's default"
        assert found[3] == 1 << 30


class TestForce:
    FORCE = CleanOptions(Limits(max_bytes=0, force=True))

    def test_the_consumer_reports_the_loss_and_can_go_on(self, folder: LogFolder) -> None:
        read(folder, "a", steps=3)
        read(folder, "b")
        assert run(folder, self.FORCE) == [0, 1, 2, 3, 4]
        assert set(read_cleaned(state_folder(folder.path)).lost) == {"a"}
        told = read(folder, "a")
        assert told is not None
        assert told.code == 5
        assert read(folder, "b") is None
        with open_tail(folder.path, TailOptions(consumer="a", accept_loss=True)) as tail:
            error = tail.step().error
            assert error is not None
            assert tail.accept(error) is not None
            tail.save()
        assert read(folder, "a") is None
        run(folder)
        assert read_cleaned(state_folder(folder.path)).lost == {}, "told and accepted"

    def test_what_nobody_has_seen_is_told_too(self, folder: LogFolder) -> None:
        """The consumer stopped before segment 2 was there: nothing in its file names it."""
        hidden = [folder.path / segment(number).name for number in (2, 3, 4, 5)]
        kept = {file: (file.read_bytes(), file.with_name(file.stem + "_cdc.idx").read_bytes()) for file in hidden}
        for file in hidden:
            file.unlink()
            file.with_name(file.stem + "_cdc.idx").unlink()
        read(folder, "a")
        for file, (log, sidecar) in kept.items():
            file.write_bytes(log)
            file.with_name(file.stem + "_cdc.idx").write_bytes(sidecar)
        assert run(folder, self.FORCE) == [0, 1, 2, 3, 4]
        told = read(folder, "a")
        assert told is not None
        assert told.at is not None
        assert told.at.segment == ONE + 2

    def test_a_dropped_name_begins_anew(self, folder: LogFolder) -> None:
        read(folder, "a", steps=3)
        run(folder, self.FORCE)
        drop_consumer(state_folder(folder.path), "a")
        assert read_cleaned(state_folder(folder.path)).lost == {}
        assert read(folder, "a") is None


class TestKilled:
    def test_anywhere_and_run_again(self, folder: LogFolder) -> None:
        """At each call: nothing goes unrecorded, no log goes after its sidecar, and the next run does the rest."""
        read(folder, "a")
        with killed_at(10_000) as calls:
            clean(folder.path, CleanOptions(dry_run=True), ages=AT_ONCE, clock=later)
        assert calls == [], "a dry run"
        files = {file: file.read_bytes() for file in folder.path.iterdir()}
        number, done = 0, False
        while not done:
            (state_folder(folder.path) / FILE_NAME).unlink(missing_ok=True)
            for file, data in files.items():
                if not file.exists():
                    file.write_bytes(data)
            try:
                with killed_at(number):
                    run(folder)
                done = True
            except Killed:
                pass
            logs, sidecars = there(folder)
            recorded = set(read_cleaned(state_folder(folder.path)).segments)
            assert {ONE + each for each in range(6) if each not in logs} <= recorded
            assert set(logs) <= set(sidecars), "a sidecar that goes first leaves a log that says nothing"
            assert read(folder, "a") is None
            run(folder)
            assert there(folder) == ([5], [5])
            assert read_cleaned(state_folder(folder.path)) == CleanedFile(segments=Ids([(ONE, ONE + 4)]))
            number += 1
        assert number > 12, "record, five logs, five sidecars, the folder"

    def test_the_record_is_durable_before_the_first_log_goes(
        self, folder: LogFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read(folder, "a")
        with killed_at(10_000) as calls:
            run(folder)
        assert calls == ["fsync", "replace", "fsync", *["unlink"] * 10, "fsync"]

    def test_nothing_to_do_writes_nothing(self, folder: LogFolder) -> None:
        read(folder, "a")
        run(folder)
        before = state_files(folder)
        with killed_at(0):
            assert run(folder) == []
        assert state_files(folder) == before


def test_files_that_are_no_segments_stay(folder: LogFolder) -> None:
    read(folder, "a")
    (folder.path / "README").write_text("mine")
    run(folder)
    assert (folder.path / "README").exists()


def test_what_dropped_consumers_left_in_the_journal_goes(folder: LogFolder) -> None:
    """A drop leaves what is little, or of which something else was left: nothing else ever looks for that."""
    state = state_folder(folder.path)
    for name in ("stays", "gone"):
        assert read(folder, name) is None
    drop_consumer(state, "gone")
    for name in ("stays", "gone"):
        FolderJournal(state).append([SkipRecord(consumer=name, at=Position(ONE, 7), reason="x" * 300_000, lost=1)])
    clean(folder.path, CleanOptions(dry_run=True), ages=AT_ONCE, clock=later)
    assert {"stays", "gone"} <= named(state)
    clean(folder.path, ages=AT_ONCE, clock=later)
    assert "gone" not in named(state)
    assert "stays" in named(state)


def named(state: Path) -> set[str | None]:
    """The consumers that the journal's records name."""
    return {getattr(record, "consumer", None) for record in FolderJournal(state, writable=False).read()}
