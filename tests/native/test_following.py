"""A native log followed from any place: definitions, open transactions, what holds segments back, what is loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.errors import LossError
from tailer.options.tail import TailOptions
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.move_consumer import seek_consumer
from tailer.retention.needed import Ages
from tailer.state.consumers import consumer_path, read_consumer
from tailer.state.log_folder import state_folder
from tailer.state.offset import NodeOffset
from tailer.tail.follow import steps
from tailer.tail.tail import Tail
from tests.helpers.logs.folder import LogFolder
from tests.helpers.logs.native import (
    REGULAR,
    NativeTable,
    NativeWriter,
    begin,
    commit,
    recovered,
    rollback_to,
    savepoint,
)
from tests.helpers.tails import open_tail
from tests.native.logs import NAME, ORDERS, as_rows, folder_of, put, rows_of, short

AT_ONCE = Ages(0.0, 0.0)
WIDER = NativeTable(ORDERS.id, "shop", "orders", (*ORDERS.columns, ("w", REGULAR, "int", False)))


def mixed_log() -> list[NativeWriter]:
    """Three segments: transactions over all of them, savepoints, changes between, a definition that changes."""
    one, two, three = NativeWriter(7), NativeWriter(8), NativeWriter(9)
    first = (7, one.frame.end)
    one.section([ORDERS.definition, begin(1), put(1, "a", txn=1)], restart=first)
    one.section([put(2, "alone"), begin(2), put(3, "b", txn=2)], restart=first)
    marked = one.section([savepoint(1, "s"), put(4, "void", txn=1)], restart=first)
    other = (8, two.frame.end)
    two.section([ORDERS.definition, rollback_to(1, (7, marked.entries[0].start)), put(5, "c", txn=3)], restart=first)
    two.section([commit(2, (7, one.frame.sections[1].start), 1), put(6, "alone too")], restart=first)
    three.section([WIDER.definition, put(7, "wide", table=ORDERS, txn=1), ORDERS.definition], restart=first)
    three.section([commit(1, first, 2), put(8, "between")], restart=other)
    three.section([commit(3, other, 1)])
    return [one, two, three]


EXPECTED = [
    (2, "alone", None),
    (3, "b", f"{NAME}-2"),
    (6, "alone too", None),
    (1, "a", f"{NAME}-1"),
    (7, "wide", f"{NAME}-1"),
    (8, "between", None),
    (5, "c", f"{NAME}-3"),
]


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each[1], each[2], each[5]) for each in short(rows)]


def test_the_whole_log_at_once(tmp_path: Path) -> None:
    assert told(rows_of(folder_of(tmp_path, *mixed_log()))) == EXPECTED


@pytest.mark.parametrize("budget", [1, 150, 400, 1000])
@pytest.mark.parametrize("anew", [False, True], ids=["one run", "a run for each step"])
def test_spans_of_every_size_give_the_same_rows(tmp_path: Path, budget: int, anew: bool) -> None:
    """With a run for each step, every section edge is a place where a consumer begins again."""
    folder = folder_of(tmp_path, *mixed_log())
    whole = rows_of(folder)
    found: list[dict[str, Any]] = []
    moved = True
    while moved:
        with open_tail(folder, TailOptions(consumer="c")) as tail:
            while True:
                step = tail.step(budget)
                assert step.error is None
                found += as_rows(batch.to_arrow() for task in step.tasks for batch in tail.read(task))
                moved = step.moved
                tail.advance(step)
                tail.save()
                if anew or not moved:
                    break
    assert found == whole


def test_reading_from_the_middle_knows_definitions_and_open_transactions(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *(logs := mixed_log()))
    edge = logs[1].frame.sections[1].start
    assert told(rows_of(folder, f"8:{edge}")) == EXPECTED[1:]
    assert told(rows_of(folder, "9:0")) == EXPECTED[3:]


def test_a_seek_over_segments_finds_their_definitions(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *(logs := mixed_log()))
    with open_tail(folder, TailOptions(consumer="c", until="7:0")):
        pass
    last = logs[2].frame.sections[1].start
    seek_consumer(folder, "c", f"9:{last}")
    assert told(as_rows(tailer.open(folder, consumer="c").follow(once=True))) == EXPECTED[3:]


def test_the_typed_form_has_the_newest_definition(tmp_path: Path) -> None:
    rows = [row for batch in tailer.open(folder_of(tmp_path, *mixed_log()), table="shop.orders").read()
            for row in batch.to_pylist()]  # fmt: skip
    assert [(row["id"], row["v"], row["_txn"]) for row in rows] == EXPECTED
    assert [row["_row"] for row in rows] == [0, 0, 0, 0, 1, 0, 0]


def test_definitions_are_journalled_where_they_change(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *mixed_log())
    for _ in range(2):
        list(tailer.open(folder, consumer="c").follow(once=True))
    journal = (state_folder(folder) / "journal").read_text()
    assert journal.count('"kind":"native"') == 3  # the first, the wider one, and the first again


def test_schema_rows_come_only_for_definitions_that_are_new(tmp_path: Path) -> None:
    one, two = NativeWriter(7), NativeWriter(8)
    one.section([ORDERS.definition, put(1, "a")])
    two.section([ORDERS.definition, put(2, "b"), WIDER.definition, put(3, "c", table=ORDERS)])
    found = rows_of(folder_of(tmp_path, one, two), schema_changes=True)
    ops = [(each["op"], each["segment"]) for each in found]
    assert ops == [("schema", 7), ("insert", 7), ("insert", 8), ("schema", 8), ("insert", 8)]
    assert [column["name"] for column in found[3]["columns"]["columns"]] == ["id", "v", "w"]


def test_nothing_behind_the_published_end_is_read_but_after_done(tmp_path: Path) -> None:
    log = NativeWriter(7)
    log.section([ORDERS.definition, put(1, "published")])
    published = log.sidecar(done=False)
    log.section([put(2, "perhaps not on the disk")])
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(log.frame, published)
    for options in ({}, {"stopped": True}, {"assume_finished_after": 0.0}):
        reader = tailer.open(folder.path, **options)
        assert told(as_rows(reader.read())) == [(1, "published", None)]
        assert any("not closed by its writer" in notice for notice in reader.notices) == ("stopped" in options)
    folder.sidecar(log.frame, log.sidecar())
    assert len(rows_of(folder.path)) == 2


def test_a_segment_that_never_had_a_sidecar_is_not_read_though_nobody_writes(tmp_path: Path) -> None:
    log = NativeWriter(7)
    log.section([ORDERS.definition, put(1, "never published")])
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(log.frame)
    assert rows_of(folder.path, stopped=True) == []


def test_link_counts_finish_no_segment_of_a_native_log(tmp_path: Path) -> None:
    one, two = NativeWriter(7), NativeWriter(8)
    one.section([ORDERS.definition, put(1, "a")])
    published = one.sidecar(done=False)
    one.section([put(2, "perhaps not on the disk")])
    two.section([ORDERS.definition, put(3, "later")])
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(one.frame, published)
    folder.put(two.frame, two.sidecar())
    folder.hold(two.frame)
    with pytest.raises(tailer.errors.HeldBackError, match="Open the log again"):
        rows_of(folder.path)


def consumer_of(folder: Path, name: str = "c") -> Any:
    return read_consumer(consumer_path(state_folder(folder), name), name).nodes["local"]


def test_a_consumer_keeps_and_holds_what_an_open_transaction_needs(tmp_path: Path) -> None:
    logs = mixed_log()
    folder = folder_of(tmp_path, *logs)
    with open_tail(folder, TailOptions(consumer="c")) as tail:
        while tail.offset.s < 9:
            step = tail.step(1)
            for task in step.tasks:
                assert list(tail.read(task)) is not None
            tail.advance(step)
            tail.save()
    state = consumer_of(folder)
    assert state.offset.s == 9
    assert state.restart == (7, logs[0].frame.sections[0].start)
    clean(folder, CleanOptions(), ages=AT_ONCE)
    assert sorted(log.name for log in folder.glob("*.log")) == [f"CommitLog-7-{n}.log" for n in (7, 8, 9)]
    assert told(as_rows(tailer.open(folder, consumer="c").follow(once=True)))[-2:] == EXPECTED[-2:]
    assert consumer_of(folder).restart == (9, logs[2].frame.end)
    clean(folder, CleanOptions(), ages=AT_ONCE)
    assert [log.name for log in folder.glob("*.log")] == ["CommitLog-7-9.log"]


def test_the_newest_sidecar_holds_what_an_open_transaction_needs(tmp_path: Path) -> None:
    one, two = NativeWriter(7), NativeWriter(8)
    first = (7, one.frame.end)
    one.section([ORDERS.definition, put(1, "a", txn=1)], restart=first)
    two.section([ORDERS.definition, put(2, "b")], restart=first)
    folder = folder_of(tmp_path, one, two, live=True)
    assert clean(folder, CleanOptions(no_consumers=True), ages=AT_ONCE).logs == []


def test_at_the_end_that_recovery_wrote_nothing_is_open(tmp_path: Path) -> None:
    log = NativeWriter(7)
    first = (7, log.frame.end)
    log.section([ORDERS.definition, put(1, "never committed", txn=1)], restart=first)
    log.section([put(2, "b")], restart=first)
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(log.frame, recovered(log))
    list(tailer.open(folder.path, consumer="c").follow(once=True))
    assert consumer_of(folder.path).restart == (7, log.frame.end)


def test_a_start_within_a_transaction_that_began_in_a_segment_that_is_gone_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *(logs := mixed_log()))
    (folder / logs[0].frame.name).unlink()
    edge = logs[1].frame.sections[1].start
    with pytest.raises(LossError, match="a transaction that is open at"):
        rows_of(folder, f"8:{edge}")
    with open_tail(folder, TailOptions(consumer="c")):
        pass
    with pytest.raises(LossError, match="a transaction that is open at"):
        seek_consumer(folder, "c", f"8:{edge}")


def test_at_earliest_a_transaction_from_before_is_counted_and_not_delivered(tmp_path: Path) -> None:
    logs = mixed_log()
    folder = folder_of(tmp_path, *logs[1:])
    reader = tailer.open(folder)
    assert told(as_rows(reader.read())) == [EXPECTED[2], EXPECTED[5], EXPECTED[6]]
    assert sum("belong to the history that is not known" in notice for notice in reader.notices) == 2
    # The bound stays with the consumer, whatever is deleted later.
    assert len(list(tailer.open(folder, consumer="c").follow(once=True))) == 3
    assert consumer_of(folder).memory.start == 8


def test_a_transaction_whose_beginning_was_deleted_is_lost_whole(tmp_path: Path) -> None:
    one, two = NativeWriter(7), NativeWriter(8)
    first = (7, one.frame.end)
    one.section([ORDERS.definition, put(1, "a", txn=1)], restart=first)
    two.section([ORDERS.definition, put(2, "b", txn=1)], restart=first)
    middle = two.sidecar(done=False)
    two.section([commit(1, first, 2), put(3, "after")])
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(one.frame, one.sidecar())
    folder.put(two.frame, middle)
    assert list(tailer.open(folder.path, consumer="c").follow(once=True)) == []
    folder.remove(one.frame)
    (folder.path / "DROPPED").write_text("7\n")
    folder.sidecar(two.frame, two.sidecar())
    with pytest.raises(LossError, match="began at 7:65, and segment 7 is gone"):
        list(tailer.open(folder.path, consumer="c").follow(once=True))
    reader = tailer.open(folder.path, consumer="c", accept_loss=True)
    assert told(as_rows(reader.follow(once=True))) == [(3, "after", None)]
    assert [each for each in reader.notices if each.endswith("Accepted: none of its rows come.")]
    assert '"kind":"loss"' in (state_folder(folder.path) / "journal").read_text()


def at_8_done(tmp_path: Path) -> tuple[LogFolder, Tail]:
    """A consumer that has read segments 7 and 8 to their ends."""
    folder = LogFolder(tmp_path / "cdc_raw")
    for segment in (7, 8):
        log = NativeWriter(segment)
        log.section([ORDERS.definition, put(segment, "read")])
        folder.put(log.frame, log.sidecar())
    tail = open_tail(folder.path, TailOptions(consumer="c"))
    tail.open()
    for step in steps(tail, once=True, say=lambda line: None):
        tail.advance(step)
    assert tail.offset.position.segment == 8
    assert tail.offset.done
    return folder, tail


def later(folder: LogFolder, segment: int) -> None:
    log = NativeWriter(segment)
    log.section([ORDERS.definition, put(segment, "later")])
    folder.put(log.frame, log.sidecar())


@pytest.mark.parametrize("dropped", [None, 7, 8])
def test_gaps_in_ids_mean_nothing_in_a_native_log(tmp_path: Path, dropped: int | None) -> None:
    folder, tail = at_8_done(tmp_path)
    if dropped is not None:
        (folder.path / "DROPPED").write_text(f"{dropped}\n")
    for segment in (7, 8):
        log = NativeWriter(segment)
        folder.remove(log.frame)
    later(folder, 12)
    step = tail.step()
    tail.close()
    assert (step.error, step.notices) == (None, [])
    assert [task.span.segment for task in step.tasks] == [12]


def test_what_the_limit_took_before_it_was_read_is_lost_exactly(tmp_path: Path) -> None:
    folder, tail = at_8_done(tmp_path)
    (folder.path / "DROPPED").write_text("11\n")
    later(folder, 12)
    error = tail.step().error
    assert isinstance(error, LossError)
    assert "took away segments up to 11, and 8 is the last one read; the first position not read is 9:0" in str(error)
    assert tail.accept(error) is None
    tail.close()
    reader = tailer.open(folder.path, consumer="c", accept_loss=True)
    assert told(as_rows(reader.follow(once=True)))[-1] == (12, "later", None)


def test_a_first_start_behind_what_was_dropped_loses_nothing(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    (folder.path / "DROPPED").write_text("11\n")
    later(folder, 12)
    assert told(rows_of(folder.path)) == [(12, "later", None)]
    assert NodeOffset().done


def test_a_transaction_is_no_part_of_the_quarantine_of_its_neighbours(tmp_path: Path) -> None:
    log = NativeWriter(7)
    first = (7, log.frame.end)
    unknown = NativeTable(bytes(16), "shop", "unknown", ORDERS.columns)
    log.section([ORDERS.definition, put(1, "a", txn=1), put(2, "x", txn=1, table=unknown), put(3, "c", txn=1)], first)
    log.section([commit(1, first, 3), put(4, "after")])
    folder = folder_of(tmp_path, log)
    with pytest.raises(tailer.errors.DefinitionError, match="no definition for table"):
        rows_of(folder)
    kept = short(rows_of(folder, on_error="quarantine"))
    assert [each[1:3] + each[4:5] for each in kept] == [(1, "a", 0), (3, "c", 2), (4, "after", 0)]
