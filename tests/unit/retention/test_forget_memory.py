"""What is remembered of ids: when it may be forgotten, put together into one record, and what turns up all the same."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tailer
from tailer.retention import clean as cleaning
from tailer.retention import forget_memory
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.forget_memory import forgotten_below, put_together
from tailer.retention.needed import Ages
from tailer.state.cleaned import CleanedFile, read_cleaned, write_cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import ConsumerFile, Mark, NodeState
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids import Ids
from tailer.state.journal_records import AnyRecord, MemoryRecord, OptionsRecord
from tailer.state.log_folder import state_folder
from tailer.state.offset import Memory, NodeOffset
from tailer.state.remembered import registered
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)

DAY_MS = 86_400_000
NOW = 1_795_258_311.0
NOW_MS = 1_795_258_311_000
AFTER = 30 * 86400.0


class TestWhen:
    HELD = Ids((NOW_MS - n * DAY_MS // 20, NOW_MS - n * DAY_MS // 20) for n in range(2000, 0, -1))
    """A segment each 72 minutes, a hundred days long."""

    def test_old_ids_below_the_floor(self) -> None:
        limit = forgotten_below([self.HELD], 0, NOW_MS, NOW, AFTER)
        assert limit == self.HELD.ranges[1000][0], "the newest thousand are more than thirty days"
        assert forgotten_below([self.HELD], 0, NOW_MS, NOW, 70 * 86400.0) == NOW_MS - 70 * DAY_MS
        assert forgotten_below([self.HELD], 0, NOW_MS - 90 * DAY_MS, NOW, AFTER) == NOW_MS - 90 * DAY_MS

    def test_nothing_where_few_would_go(self) -> None:
        assert forgotten_below([self.HELD], 7, self.HELD.ranges[199][0], NOW, AFTER) == 7
        assert forgotten_below([self.HELD], 7, self.HELD.ranges[200][0], NOW, AFTER) == self.HELD.ranges[200][0]
        assert forgotten_below([Ids(self.HELD.ranges[:1000])], 7, NOW_MS, NOW, AFTER) == 7, "a log that is hardly used"
        assert forgotten_below([], 7, NOW_MS, NOW, AFTER) == 7

    def test_never_back(self) -> None:
        assert forgotten_below([self.HELD], NOW_MS - 5, NOW_MS, NOW, AFTER) == NOW_MS - 5


def told(n: int, consumer: str = "c", **more: object) -> MemoryRecord:
    """`more`: ids as ranges."""
    fields = {name: Ids(value) if isinstance(value, tuple) else value for name, value in more.items()}
    return MemoryRecord(n=n, consumer=consumer, node="local", **fields)  # type: ignore[arg-type]


def consumer(*uptos: int, at: int = 20, name: str = "c") -> ConsumerFile:
    first, *ahead = (NodeState(NodeOffset(s=at + n), Memory(upto=upto)) for n, upto in enumerate(uptos))
    return ConsumerFile(
        name, {"local": msgspec.structs.replace(first, ahead=tuple(Mark(each.offset, each.memory) for each in ahead))}
    )


class TestPutTogether:
    RECORDS: tuple[AnyRecord, ...] = (
        told(1, holes=((1, 2),), seen=((3, 3), (21, 21))),
        OptionsRecord(n=2, consumer="c", options={}),
        told(3, holes=((7, 9),), not_holes=((2, 2),)),
        told(4, "gone", holes=((1, 2),)),
        told(5, holes=((30, 31),)),
    )

    def test_those_up_to_the_first_mark_are_one_with_the_number_of_the_last(self) -> None:
        whole = told(3, anew=True, seen=((21, 21),), holes=((1, 1), (7, 9)))
        assert put_together(self.RECORDS, [consumer(3, 5)], 0) == [self.RECORDS[1], whole, self.RECORDS[4]]
        assert put_together(self.RECORDS, [consumer(4)], 0) == [self.RECORDS[1], whole, self.RECORDS[4]]
        assert put_together([whole, self.RECORDS[4]], [consumer(3)], 0) == [whole, self.RECORDS[4]]

    def test_ids_below_go(self) -> None:
        (_, whole, _) = put_together(self.RECORDS, [consumer(3, 5)], 8)
        assert whole == told(3, anew=True, seen=((21, 21),), holes=((8, 9),))

    def test_what_some_mark_does_not_count_stays_as_it_is(self) -> None:
        left = [self.RECORDS[0], self.RECORDS[1], self.RECORDS[2], self.RECORDS[4]]
        assert put_together(self.RECORDS, [consumer(0, 5)], 8) == left
        assert put_together(self.RECORDS, [consumer(1, 5, at=2)], 0)[1:] == left[1:]

    def test_a_consumer_that_runs_on_beside_a_compaction_keeps_all(self, tmp_path: Path) -> None:
        held = Consumer(tmp_path, "c")
        memory = Memory(start=1)
        for number in range(1, 60):
            memory = msgspec.structs.replace(
                memory, holes=memory.holes.with_ids([3 * number]), seen=Ids.of([3 * number + 5])
            )
            held.save("local", NodeState(NodeOffset(0, 3 * number + 1, 0), memory), moved=0.0, program="")
            if number % 7 == 0:
                journal = FolderJournal(tmp_path)
                known = registered(tmp_path, journal)
                made = journal.compact(0, lambda records, known=known: put_together(records, known, 0))  # type: ignore[misc]
                assert made is not None
                assert made.j == 0, "no offset counts them"
        held.close()
        assert len([r for r in FolderJournal(tmp_path).read() if isinstance(r, MemoryRecord)]) <= 4
        again = Consumer(tmp_path, "c")
        state = again.node("local")
        assert state is not None
        assert (state.memory.holes, state.memory.seen) == (memory.holes, memory.seen)
        again.close()


TABLE = simple_table("ks", "t")
FIRST = 1_700_000_000_000
FOLLOW = ("--once", "--output", "json")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LogFolder:
    """Segments 10 to 14 of which a consumer has read all, and `clean` taken away what it may and forgotten it."""
    monkeypatch.setattr(forget_memory, "REMEMBERED_AT_LEAST", 2)
    monkeypatch.setattr(forget_memory, "FORGOTTEN_AT_LEAST", 1)
    monkeypatch.setattr(cleaning, "FORGOTTEN_AT_LEAST", 1)
    folder = LogFolder(tmp_path / "cdc_raw")
    for numbers in ([10, 11, 12, 13], [14]):
        for number in numbers:
            put(folder, number)
        assert values(folder) == numbers
        clean(folder.path, ages=Ages(0.0, 0.0), clock=lambda: time.time() + 1000)
    return folder


def put(folder: LogFolder, number: int, *, done: bool = True) -> None:
    first = [create_payload(TABLE)] if number == 10 else []
    writer = segment_of(FIRST + 2 * number, [[*first, insert_payload(TABLE, number, "a", number)]])
    folder.put(writer, completed(writer) if done else live(writer))


def values(folder: LogFolder, *more: str, name: str = "c") -> list[int]:
    ran = run_cli(["follow", folder.path, *FOLLOW, "--consumer", name, *more])
    assert ran.code == 0, ran.err
    return [json.loads(line)["columns"]["v"] for line in ran.lines]


def again_cleaned(folder: LogFolder) -> list[int]:
    made = clean(folder.path, ages=Ages(0.0, 0.0), clock=lambda: time.time() + 1000)
    return [held.segment for held in made.logs]


class TestWhatTurnsUp:
    def test_cleaned_ids_are_forgotten_up_to_the_floor(self, log: LogFolder) -> None:
        record = read_cleaned(state_folder(log.path))
        assert record.segments == Ids.of([FIRST + 26])
        assert record.forgotten == FIRST + 25, "the two newest stay: this gap and that between 13 and 14"

    def test_one_that_is_remembered_is_passed_by_and_one_that_is_not_is_told(self, log: LogFolder) -> None:
        put(log, 13)
        put(log, 15)
        assert values(log) == [15]
        put(log, 12)
        ran = run_cli(["follow", log.path, *FOLLOW, "--consumer", "c"])
        assert (ran.code, ran.out) == (5, "")
        assert f"segment {FIRST + 24} has turned up" in ran.err
        put(log, 16)
        assert values(log, "--accept-loss") == [16]
        assert values(log) == [], "accepted once and for all"

    def test_clean_takes_it_only_once_that_was_accepted(self, log: LogFolder) -> None:
        put(log, 12)
        assert again_cleaned(log) == []
        ran = run_cli(["follow", log.path, *FOLLOW, "--consumer", "c"])
        assert (ran.code, ran.out) == (5, "")
        assert values(log, "--accept-loss") == []
        assert values(log) == [], "also though nothing was left to read"
        assert again_cleaned(log) == [FIRST + 24]

    def test_to_accept_it_saves_no_rows_that_are_not_safe(self, log: LogFolder) -> None:
        class Unsafe:
            given = 0

            def start(self, state: object) -> None: ...

            def stop(self) -> None: ...

            def on_definitions(self, changes: object) -> None: ...

            def on_changes(self, batch: Any) -> bool:
                self.given += len(batch)
                put(log, 12)
                return False

        put(log, 15)
        consumer, said = Unsafe(), list[str]()
        tailer.run(log.path, consumer, name="c", once=True, accept_loss=True, say=said.append)
        assert consumer.given == 1
        assert any("has turned up" in line and "Accepted" in line for line in said)
        assert values(log, "--accept-loss") == [15]

    def test_who_begins_there_is_told_too(self, log: LogFolder) -> None:
        put(log, 11)
        ran = run_cli(["follow", log.path, *FOLLOW, "--consumer", "new"])
        assert (ran.code, ran.out) == (5, "")
        assert f"segment {FIRST + 22} has turned up" in ran.err

    def test_a_gap_too(self, log: LogFolder) -> None:
        """An id of which nothing was there when it was passed: it was kept as one that may come, for so long."""
        consumer = Consumer(state_folder(log.path), "c")
        state = consumer.node("local")
        assert state is not None
        assert state.memory.holes == Ids([(FIRST + 25, FIRST + 25), (FIRST + 27, FIRST + 27)]), (
            "of the others nothing is remembered"
        )
        consumer.close()
        frame = segment_of(FIRST + 21, [[insert_payload(TABLE, 99, "a", 99)]])
        log.put(frame, completed(frame))
        ran = run_cli(["follow", log.path, *FOLLOW, "--consumer", "c"])
        assert (ran.code, ran.out) == (5, "")
        log.remove(frame)
        frame = segment_of(FIRST + 27, [[insert_payload(TABLE, 98, "a", 98)]])
        log.put(frame, completed(frame))
        assert values(log) == [98], "as long as it is remembered it is late, and is read"


def test_how_long_is_an_option(tmp_path: Path) -> None:
    ids = Ids.of(NOW_MS - n * DAY_MS // 100 for n in range(5000, 0, -1))
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = segment_of(NOW_MS, [[create_payload(TABLE)]])
    folder.put(writer, live(writer))
    state = state_folder(folder.path)
    state.mkdir()
    write_cleaned(state, CleanedFile(segments=ids))
    for days, kept in ((30, 3000), (20, 2000), (30, 2000), (1, 1000)):
        clean(folder.path, CleanOptions(no_consumers=True, forget_after=days * 86400.0), clock=lambda: NOW)
        record = read_cleaned(state)
        assert len(record.segments) == kept
        assert record.forgotten == record.segments.firsts[0]
    before = (state / "cleaned.json").read_bytes()
    clean(folder.path, CleanOptions(no_consumers=True, forget_after=86400.0), clock=lambda: NOW)
    assert (state / "cleaned.json").read_bytes() == before


def test_gaps_alone_are_worth_a_compaction(tmp_path: Path) -> None:
    """A log whose server restarts all the time, and nothing else of which has become needless."""
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = segment_of(NOW_MS, [[create_payload(TABLE)]])
    folder.put(writer, live(writer))
    state = state_folder(folder.path)
    holes = Ids((NOW_MS - n * DAY_MS // 20, NOW_MS - n * DAY_MS // 20 + 5) for n in range(3000, 0, -1))
    consumer = Consumer(state, "c")
    offset = consumer.journal.stamped(NodeOffset(s=NOW_MS))
    consumer.save("local", NodeState(offset, Memory(start=1, holes=holes), (NOW_MS, 0)), moved=0.0, program="")
    consumer.close()
    before = (state / "journal").stat().st_size
    clean(folder.path, clock=lambda: NOW)
    (known,) = registered(state, FolderJournal(state))
    assert known.nodes["local"].memory.holes == Ids(holes.ranges[2000:])
    assert read_cleaned(state).forgotten == holes.ranges[2000][0]
    assert (state / "journal").stat().st_size + (state / "journal.base").stat().st_size < before / 2
    base = (state / "journal.base").read_bytes()
    clean(folder.path, clock=lambda: NOW)
    assert (state / "journal.base").read_bytes() == base, "once is enough"
