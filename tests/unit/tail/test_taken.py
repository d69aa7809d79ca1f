"""The position stands behind the last batch that was taken, wherever in a step that is: nothing comes again behind it,
and nothing is missing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow
import pytest

import tailer
from tailer.errors import CorruptError, LossError, SinkError
from tailer.options.kinds import CommitEvery
from tailer.options.tail import TailOptions
from tailer.reading import reader, records
from tailer.schema.model import TableDefinition
from tailer.sinks.base import Rows
from tailer.tail.follow import follow
from tailer.tail.run import ConsumerState
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.logs.native import NativeWriter, commit
from tests.helpers.tails import open_tail
from tests.native.logs import ORDERS, as_rows, folder_of
from tests.native.logs import put as put_native
from tests.native.test_following import EXPECTED, mixed_log, told

ONE = 1_700_000_000_000
TABLE = simple_table("ks", "t")
IN_BATCH = 3


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", IN_BATCH)


class Broken(Exception):
    """What a sink ends with."""


class Taking:
    """Takes so many batches, and breaks at the next one. `batches`: the values of each."""

    def __init__(self, most: int | None = None) -> None:
        self.batches: list[list[int]] = []
        self._most = most

    def write(self, batch: Rows) -> None:
        if len(self.batches) == self._most:
            raise Broken
        self.batches.append([json.loads(line)["columns"]["v"] for line in batch.json_lines().splitlines()])

    def close(self) -> None:
        return None

    @property
    def values(self) -> list[int]:
        return [value for batch in self.batches for value in batch]


def numbers() -> Iterator[int]:
    return itertools.count(1)


def rows(counted: Iterator[int], count: int) -> list[bytes]:
    return [insert_payload(TABLE, value, "a", value) for value in itertools.islice(counted, count)]


def three_segments(path: Path) -> tuple[LogFolder, list[int]]:
    """Two sections each, all rows of one step; the last segment is written."""
    counted = numbers()
    folder = LogFolder(path / "cdc_raw")
    for number in range(3):
        first = [create_payload(TABLE)] if number == 0 else []
        made = segment_of(ONE + number, [[*first, *rows(counted, 8)], rows(counted, 4)])
        folder.put(made, live(made) if number == 2 else completed(made))
    return folder, list(range(1, 37))


def run(folder: LogFolder, sink: Taking, every: str = "batch", **options: object) -> None:
    unit, number = (every, 1) if " " not in every else (every.split()[1], int(every.split()[0]))
    options = {"consumer": "c", "settle_seconds": 0.0, **options}
    with open_tail(folder.path, TailOptions(**options)) as tail:  # type: ignore[arg-type]
        follow(tail, sink, once=True, commit_every=CommitEvery(unit, number), say=lambda line: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", range(12))
def test_a_sink_that_breaks_is_given_what_it_did_not_take(tmp_path: Path, most: int) -> None:
    folder, values = three_segments(tmp_path)
    broken = Taking(most)
    with pytest.raises(Broken):
        run(folder, broken)
    assert len(broken.batches) == most
    again = Taking()
    run(folder, again)
    assert broken.values + again.values == values


@pytest.mark.parametrize("most", range(2, 12, 3))
def test_so_many_rows_at_most_come_again(tmp_path: Path, most: int) -> None:
    folder, values = three_segments(tmp_path)
    broken, again = Taking(most), Taking()
    with pytest.raises(Broken):
        run(folder, broken, "5 rows")
    run(folder, again)
    repeated = len(broken.values) + len(again.values) - len(values)
    assert 0 <= repeated < 5 + IN_BATCH
    assert [*broken.values, *again.values[repeated:]] == values


def test_a_segment_at_a_time(tmp_path: Path) -> None:
    folder, values = three_segments(tmp_path)
    # Twelve rows in four or five batches are a segment's.
    broken, again = Taking(7), Taking()
    with pytest.raises(Broken):
        run(folder, broken, "segment")
    run(folder, again)
    assert again.values == values[-len(again.values) :]
    assert 0 <= len(broken.values) + len(again.values) - len(values) < 12 + IN_BATCH


def test_what_was_taken_before_damage_does_not_come_again(tmp_path: Path) -> None:
    folder, values = three_segments(tmp_path)
    last = folder.path / f"CommitLog-7-{ONE + 2}_cdc.idx"
    last.write_text(f"{last.read_text()}\nCOMPLETED")
    made = segment_of(ONE + 3, [rows(itertools.count(37), 8), rows(itertools.count(45), 8)])
    place = made.sections[1]
    made.data[place.end - 3] ^= 1
    folder.put(made, live(made))
    first, again = Taking(), Taking()
    for sink in (first, again):
        with pytest.raises(CorruptError):
            run(folder, sink)
    assert first.values == [*values, *range(37, 45)]
    assert again.values == []


def test_a_late_segment(tmp_path: Path) -> None:
    """Two segments without sidecar are passed; then both get one, and are read in one step with what is new."""
    counted = itertools.count(1)
    folder = LogFolder(tmp_path / "cdc_raw")
    beginning = segment_of(ONE, [[create_payload(TABLE), *rows(counted, 2)]])
    folder.put(beginning, completed(beginning))
    late: list[SegmentWriter] = []
    for number in (1, 2):
        late.append(segment_of(ONE + number, [rows(counted, 7)]))
        folder.put(late[-1])
    after = segment_of(ONE + 3, [rows(counted, 2)])
    folder.put(after, completed(after))
    begun = Taking()
    run(folder, begun)
    assert begun.values == [1, 2, 17, 18]
    for each in late:
        folder.sidecar(each, completed(each))
    more = segment_of(ONE + 4, [rows(counted, 7)])
    folder.put(more, completed(more))
    found: list[int] = []
    for _ in range(20):
        sink = Taking(1)
        try:
            run(folder, sink)
        except Broken:
            found += sink.values
            continue
        found += sink.values
        break
    assert found == [*range(3, 17), *range(19, 26)]


@pytest.mark.parametrize("most", range(1, 6))
def test_a_segment_that_turns_up_in_a_hole(tmp_path: Path, most: int) -> None:
    """Behind every batch of the step that passes over its id it is remembered that nothing was there."""
    folder = LogFolder(tmp_path / "cdc_raw")
    beginning = segment_of(ONE, [[create_payload(TABLE), *rows(itertools.count(1), 4)]])
    middle, last = (
        segment_of(ONE + 2, [rows(itertools.count(5), 7)]),
        segment_of(ONE + 3, [rows(itertools.count(12), 2)]),
    )
    for made in (beginning, middle, last):
        folder.put(made, completed(made))
    broken, again = Taking(most), Taking()
    with pytest.raises(Broken):
        run(folder, broken)
    late = segment_of(ONE + 1, [rows(itertools.count(50), 4)])
    folder.put(late, completed(late))
    run(folder, again)
    assert sorted(broken.values + again.values) == [*range(1, 14), *range(50, 54)]


@pytest.mark.parametrize("most", [3, 4])
def test_a_segment_ahead_that_goes_is_a_loss(tmp_path: Path, most: int) -> None:
    """The step that was broken off had seen it."""
    folder, _ = three_segments(tmp_path)
    with pytest.raises(Broken):
        run(folder, Taking(most))
    for file in folder.path.glob(f"*{ONE + 1}*"):
        file.unlink()
    with pytest.raises(LossError, match=str(ONE + 1)):
        run(folder, Taking())


def test_every_place_of_a_native_log(tmp_path: Path) -> None:
    """Two batches and the question for a third, again and again. A transaction comes whole or not at all behind a
    position: one has two batches, which no position stands between."""
    writers = mixed_log()
    writers[2].section([put_native(key, "more") for key in range(20, 28)])
    writers[2].section([put_native(30, "x", txn=9), put_native(31, "y", txn=9)])
    writers[2].section([commit(9, (9, writers[2].frame.sections[-1].start), 2), put_native(40, "end")])
    folder = folder_of(tmp_path, *writers)
    whole = as_rows(tailer.open(folder).read())
    assert told(whole)[: len(EXPECTED)] == EXPECTED
    found: list[dict[str, object]] = []
    for _ in range(len(whole) + 1):
        batches = tailer.open(folder, consumer="c").follow(once=True)
        taken = as_rows(itertools.islice(batches, 2))
        # Asking for the next one says that it is safe.
        more = next(batches, None)
        batches.close()
        found += [each for each in taken if each not in found]
        if more is None:
            break
    assert found == whole


class Doubting:
    """Keeps the keys of batches; one it does not call safe, and it dies with the next one."""

    def __init__(self, doubted: int | None = None) -> None:
        self.batches: list[list[int]] = []
        self._doubted = doubted

    def start(self, state: ConsumerState) -> None:
        return None

    def on_definitions(self, changes: Sequence[TableDefinition]) -> None:
        return None

    def on_changes(self, batch: pyarrow.RecordBatch) -> bool:
        if self._doubted is not None and len(self.batches) > self._doubted:
            raise Broken
        self.batches.append([row["partition_key"]["id"] for row in as_rows([batch])])
        return len(self.batches) - 1 != self._doubted

    def stop(self) -> None:
        return None


@pytest.mark.parametrize("doubted", range(5))
def test_a_part_of_a_transaction_that_is_not_safe_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, doubted: int
) -> None:
    """Its rows come in several batches from one place in the log."""
    monkeypatch.setattr(records, "ALONE_MAX", IN_BATCH)
    log = NativeWriter(7)
    log.section([ORDERS.definition, put_native(1, "first")])
    log.section([put_native(10 + key, "x", txn=9) for key in range(8)])
    log.section([commit(9, (7, log.frame.sections[-1].start), 8)])
    log.section([put_native(1000 + key, "behind") for key in range(4)])
    folder = folder_of(tmp_path, log)
    broken, again = Doubting(doubted), Doubting()
    with pytest.raises(Broken):
        tailer.run(folder, broken, name="c", once=True)
    tailer.run(folder, again, name="c", once=True)
    safe = [key for batch in broken.batches[:-1] for key in batch]
    rest = [key for batch in again.batches for key in batch if key not in safe]
    assert [*safe, *rest] == [1, *range(10, 18), *range(1000, 1004)]


def test_the_python_interface_saves_what_was_asked_beyond(tmp_path: Path) -> None:
    folder, values = three_segments(tmp_path)
    batches = tailer.open(folder.path, consumer="c").follow(once=True)
    taken = [json.loads(text)["v"] for _ in range(4) for text in next(batches).column("columns").to_pylist()]
    batches.close()
    rest = tailer.open(folder.path, consumer="c").follow(once=True)
    again = [json.loads(text)["v"] for batch in rest for text in batch.column("columns").to_pylist()]
    # The fourth was not said to be safe.
    assert [*taken[: -len(taken) // 4], *again] == [*taken[: -len(taken) // 4], *values[len(values) - len(again) :]]
    assert len(taken) + len(again) - len(values) in range(1, IN_BATCH + 1)


def test_sigterm_ends_behind_the_batch_in_hand(tmp_path: Path) -> None:
    folder, values = three_segments(tmp_path)
    sink, again = Taking(), Taking()
    with open_tail(folder.path, TailOptions(consumer="c", settle_seconds=0.0)) as tail:
        follow(tail, sink, once=False, say=lambda line: None, stopping=lambda: len(sink.batches) == 5)
    assert len(sink.batches) == 5
    run(folder, again)
    assert sink.values + again.values == values


def test_a_sink_error_is_one_too(tmp_path: Path) -> None:
    folder, values = three_segments(tmp_path)

    class Full(Taking):
        def write(self, batch: Rows) -> None:
            if len(self.batches) == 4:
                raise SinkError("the disk is full")
            super().write(batch)

    sink, again = Full(), Taking()
    with pytest.raises(SinkError):
        run(folder, sink)
    run(folder, again)
    assert sink.values + again.values == values
