"""What a batch read needs stays while it runs, whoever cleans beside it; a lease that ran out holds nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.errors import DefinitionError, LossError, RefusedError, UsageError
from tailer.options.tail import TailOptions
from tailer.options.to_spark import parse_options
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.gather import observe
from tailer.retention.needed import Ages, Limits
from tailer.spark.batch import CdcTailReader
from tailer.spark.executor import read_job
from tailer.spark.source import generic_schema
from tailer.state.holds import FolderHolds, Hold, read_holds
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset
from tailer.tail.follow import steps
from tailer.tail.learning import Learning
from tailer.tail.tail import Tail
from tests.helpers.cleaned_log import ONE, follow, log
from tests.helpers.cli import run_cli
from tests.helpers.tails import tail_parts

AT_ONCE = Ages(0.0, 0.0)
MUCH = 10_000


def cleaned(folder: Path, *, after: float = 0.0, **options: Any) -> list[int]:
    """What a run takes away, `after` so many seconds; segments are old enough then."""
    made = clean(folder, CleanOptions(stopped=True, **options), ages=AT_ONCE, clock=lambda: time.time() + after)
    return [held.segment - ONE for held in made.logs]


def holds(folder: Path) -> list[Path]:
    return sorted((state_folder(folder) / "consumers").glob("*.hold"))


def values(batches: Iterator[Any]) -> list[int]:
    return [json.loads(text)["v"] for batch in batches for text in batch.column("columns").to_pylist()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five segments, and a consumer that has read all of them."""
    made = log(tmp_path).path
    follow(made)
    return made


def test_clean_takes_nothing_from_under_a_read(folder: Path) -> None:
    batches = tailer.open(folder, tables=["shop.orders"]).read()
    first = values([next(batches)])
    assert cleaned(folder) == []
    assert [*first, *values(batches)] == [0, 1, 2, 3, 4]
    assert holds(folder) == [], "let go at the end"
    assert cleaned(folder) == [0, 1, 2, 3]


def test_what_lies_before_a_read_is_not_held(folder: Path) -> None:
    batches = tailer.open(folder, tables=["shop.orders"]).read(f"{ONE + 2}:0")
    first = values([next(batches)])
    assert cleaned(folder) == [0, 1]
    assert [*first, *values(batches)] == [2, 3, 4]


def test_a_read_that_is_left_lets_go(folder: Path) -> None:
    batches = tailer.open(folder).read()
    next(batches)
    assert len(holds(folder)) == 1
    batches.close()
    assert holds(folder) == []


def test_a_lease_that_ran_out_holds_nothing_and_is_deleted(folder: Path) -> None:
    hold = Hold(FolderHolds(state_folder(folder)), "local", "test", 60.0, "1")
    hold.take(ONE, time.time())
    assert cleaned(folder) == []
    assert cleaned(folder, after=59) == []
    assert len(holds(folder)) == 1
    assert cleaned(folder, after=61) == [0, 1, 2, 3]
    assert holds(folder) == []


def test_a_lease_is_renewed_while_it_is_read_and_moves_on(folder: Path) -> None:
    now = [time.time()]
    options = TailOptions(hold_seconds=100.0)
    hold = Hold(FolderHolds(state_folder(folder)), "local", "test", 100.0, "1")
    with Tail(tail_parts(folder, options, writes=False, hold=hold, wall=lambda: now[0])) as tail:
        step = tail.step(1)
        tail.advance(step)
        (before,) = read_holds(state_folder(folder), now[0])
        now[0] += 40
        tail.advance(tail.step(1))
        assert read_holds(state_folder(folder), now[0]) == [before], "not half of its time is over"
        now[0] += 40
        while tail.offset.s < ONE + 3:
            now[0] += 40
            tail.advance(tail.step(1))
        (after,) = read_holds(state_folder(folder), now[0])
        assert after.until > before.until
        assert before.segment < after.segment <= ONE + 3
    assert holds(folder) == []


def test_clean_does_not_wait_for_what_a_read_learns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it take what that needs: while the place is looked for everything is held, then what lies behind it."""
    seen: dict[str, list[int]] = {}
    find, learn = Tail._find_place, Learning.below

    def look(name: str) -> None:
        clean_now = CleanOptions(stopped=True)
        made = clean(folder, clean_now, ages=AT_ONCE, clock=lambda: time.time(), lock_seconds=0.0)
        seen[name] = [held.segment - ONE for held in made.logs]

    def finding(tail: Tail) -> None:
        look("before it is found")
        find(tail)

    def learning(learning: Learning, offset: NodeOffset) -> None:
        look("while it learns")
        learn(learning, offset)

    monkeypatch.setattr(Tail, "_find_place", finding)
    monkeypatch.setattr(Learning, "below", learning)
    batches = tailer.open(folder, tables=["shop.orders"]).read(f"{ONE + 2}:0")
    assert values(batches) == [2, 3, 4]
    assert seen == {"before it is found": [], "while it learns": [0, 1]}
    assert holds(folder) == []


def test_a_read_that_finds_no_place_holds_nothing(folder: Path) -> None:
    for start in ("nonsense", f"{ONE + 9}:0"):
        with pytest.raises(UsageError):
            next(tailer.open(folder).read(start))
        assert holds(folder) == []
    with pytest.raises(DefinitionError) as told:
        next(tailer.open(folder, tables=["shop.ordres"]).read())
    assert holds(folder) == [], "nor one that is refused behind that"
    assert told.value.code == 3
    assert cleaned(folder) == [0, 1, 2, 3]


def test_no_state_is_made_for_a_read(tmp_path: Path) -> None:
    made = log(tmp_path).path
    opened = tailer.open(made)
    assert len(values(opened.read())) == 8
    assert opened.notices == []
    assert not state_folder(made).exists()


def test_without_the_right_to_write_one_notice_says_so(folder: Path) -> None:
    """In place of the right: a file where the folder would be, which stops root as well."""
    state = state_folder(folder)
    for file in (state / "consumers").iterdir():
        file.unlink()
    (state / "consumers").rmdir()
    (state / "consumers").write_text("")
    opened = tailer.open(folder)
    assert len(values(opened.read())) == 8
    (notice,) = opened.notices
    assert notice.startswith(f"nothing holds the segments that are read here ({state}: ")


def test_an_ended_hold_that_cannot_be_deleted_stops_no_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of another user, in a folder that an earlier version made. The segments are gone by then."""
    Hold(FolderHolds(state_folder(folder)), "local", "test", 1.0, "x").take(ONE, time.time())
    unlink = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".hold":
            raise PermissionError(1, "Operation not permitted", str(path))
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)
    assert cleaned(folder, after=MUCH) == [0, 1, 2, 3]
    assert len(holds(folder)) == 1
    assert read_holds(state_folder(folder), time.time() + MUCH) == []


def test_nothing_is_held_where_that_was_asked_for(folder: Path) -> None:
    batches = tailer.open(folder, hold_seconds=0).read()
    next(batches)
    assert holds(folder) == []


def test_a_lease_is_renewed_within_a_step(folder: Path) -> None:
    now = [time.time()]
    hold = Hold(FolderHolds(state_folder(folder)), "local", "test", 100.0, "1")
    with Tail(tail_parts(folder, TailOptions(), writes=False, hold=hold, wall=lambda: now[0])) as tail:
        (task, *_) = tail.step().tasks
        now[0] += 60
        next(tail.read(task))
        (held,) = read_holds(state_folder(folder), now[0])
        assert (held.segment, held.until) == (ONE, now[0] + 100)


def test_a_lease_that_stays_does_not_move_on(folder: Path) -> None:
    """What was planned first may be read last, by executors."""
    now = [time.time()]
    hold = Hold(FolderHolds(state_folder(folder)), "local", "test", 100.0, "1", stays=True)
    with Tail(tail_parts(folder, TailOptions(), writes=False, hold=hold, wall=lambda: now[0])) as tail:
        while tail.offset.s < ONE + 3:
            now[0] += 60
            tail.advance(tail.step(1))
    (held,) = read_holds(state_folder(folder), now[0])
    assert (held.segment, held.until) == (ONE, now[0] + 100)


def test_what_is_taken_by_force_is_a_loss(folder: Path) -> None:
    batches = steps_of(folder)
    next(batches)
    assert cleaned(folder, limits=Limits(max_bytes=0, force=True)) == [0, 1, 2, 3, 4]
    with pytest.raises(LossError, match=rf"{ONE + 1}"):
        for _ in batches:
            pass


def steps_of(folder: Path) -> Iterator[int]:
    """A batch read, one segment a step."""
    hold = Hold(FolderHolds(state_folder(folder)), "local", "test", 100.0, "1")
    with Tail(tail_parts(folder, TailOptions(), writes=False, hold=hold)) as tail:
        while (step := tail.step(1)).tasks or step.moved:
            tail.advance(step)
            if tail.offset.s:
                yield tail.offset.s
        if step.error is not None:
            raise step.error


def test_a_batch_of_spark_is_held_until_its_lease_runs_out(folder: Path) -> None:
    """Executors read when the planner is done."""
    reader = CdcTailReader(parse_options({"path": str(folder), "tables": "shop.orders"}), generic_schema())
    partitions = reader.partitions()
    assert cleaned(folder) == []
    found = [json.loads(text)["v"] for each in partitions for batch in read_job(each.value)
             for text in batch.column("columns").to_pylist()]  # fmt: skip
    assert sorted(found) == [0, 1, 2, 3, 4]
    reader.partitions()
    assert len(holds(folder)) == 1, "one session's reads from one place share a hold"
    assert cleaned(folder, after=3599) == []
    assert cleaned(folder, after=MUCH) == [0, 1, 2, 3]
    with pytest.raises(LossError, match=str(ONE)):
        list(read_job(partitions[0].value))


def test_reads_of_spark_from_different_places_hold_each_their_own(folder: Path) -> None:
    given = {"path": str(folder), "tables": "shop.orders"}
    for segment in (ONE + 1, ONE + 3):
        start = json.dumps({"j": 0, "s": segment, "o": 0, "done": False, "p": []})
        CdcTailReader(parse_options({**given, "startingOffsets": start}), generic_schema()).partitions()
    assert {held.segment for held in read_holds(state_folder(folder), time.time())} == {ONE + 1, ONE + 3}
    assert cleaned(folder) == [0]


def test_what_the_driver_carries_lets_go_of_its_own_hold_alone(folder: Path) -> None:
    given = {"path": str(folder), "tables": "shop.orders"}
    CdcTailReader(parse_options(given), generic_schema()).partitions()
    CdcTailReader(parse_options({**given, "readOn": "driver"}), generic_schema()).partitions()
    assert len(holds(folder)) == 1
    assert cleaned(folder) == []


def test_a_hold_that_stays_never_moves_on(folder: Path) -> None:
    """Planning passes what executors have not read yet."""
    now = time.time()
    hold = Hold(FolderHolds(state_folder(folder)), "local", "test", 100.0, "1", stays=True)
    hold.take(ONE, now)
    hold.take(ONE + 3, now + 60)
    (held,) = read_holds(state_folder(folder), now)
    assert (held.segment, held.until) == (ONE, now + 160)


def test_what_the_driver_carries_needs_no_hold_afterwards(folder: Path) -> None:
    given = {"path": str(folder), "tables": "shop.orders", "readOn": "driver"}
    CdcTailReader(parse_options(given), generic_schema()).partitions()
    assert holds(folder) == []


def test_status_and_consumers_show_it(folder: Path) -> None:
    Hold(FolderHolds(state_folder(folder)), "local", "tailer.open", 3600.0, "1").take(ONE + 2, time.time())
    (read,) = observe("local", folder).reads
    assert (read.segment, read.program, read.process) == (ONE + 2, "tailer.open", os.getpid())
    told = run_cli(["status", folder, "--output", "pretty"])
    assert f"holds segment {ONE + 2} and later, for 60 min at most" in told.out
    assert any("(batch read)" in line for line in told.lines if line.split()[:1] == [str(ONE + 3)])
    assert all(len(line) <= 80 for line in told.lines[1:])
    assert f"holds segment {ONE + 2} and later" in run_cli(["consumers", folder, "--output", "pretty"]).out
    listed = [json.loads(line) for line in run_cli(["consumers", folder, "--output", "json"]).lines]
    assert [each.get("is") for each in listed] == [None, "read"]
    assert listed[1]["segment"] == ONE + 2


def test_one_that_is_not_understood_stops_clean(folder: Path) -> None:
    """What it holds is not known."""
    path = state_folder(folder) / "consumers" / "read-x.hold"
    for text in ('{"v":2,"node":"local","segment":1,"until":9e9}', "{"):
        path.write_text(text)
        with pytest.raises(RefusedError, match="the hold of a batch read"):
            cleaned(folder)
        assert observe("local", folder).problems


def test_a_consumer_may_not_be_taken_for_one(folder: Path) -> None:
    """Names of consumers may hold a dot; the two kinds of files never meet."""
    for step in steps_of_consumer(folder, "read.hold"):
        assert step is not None
    assert holds(folder) == []
    assert read_holds(state_folder(folder), time.time()) == []


def steps_of_consumer(folder: Path, name: str) -> Iterator[object]:
    with Tail(tail_parts(folder, TailOptions(consumer=name, settle_seconds=0.0))) as tail:
        for step in steps(tail, once=True, say=lambda line: None):
            tail.advance(step)
            tail.save()
            yield step
