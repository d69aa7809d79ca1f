"""A run of images that is killed anywhere: nothing is missing, nothing is another, and what comes again is the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.reading import reader
from tailer.sinks.outlet import Bounds
from tailer.tail.images import outlet
from tests.helpers.image_runs import Runs, Taker
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.outlets import Killed, kill_before_state

ONE = 1_700_000_000_000
TABLE = simple_table("ks", "t")
IN_BATCH = 3
WRITES = 24


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", IN_BATCH)
    monkeypatch.setattr(outlet, "BOUNDS", Bounds(4, None, 0.0))


def write(number: int) -> bytes:
    """The same row again and again, and another one in between."""
    return insert_payload(TABLE, number % 3, "a", number, 1_700_000_000_000_000 + number)


def log_of(folder: Path, numbers: list[int]) -> Path:
    """Three segments."""
    log = LogFolder(folder)
    third = len(numbers) // 3
    for segment in range(3):
        some = [write(number) for number in numbers[segment * third : (segment + 1) * third]]
        made = segment_of(ONE + segment, [[*([create_payload(TABLE)] if not segment else []), *some[:4]], some[4:]])
        log.put(made, live(made) if segment == 2 else completed(made))
    return log.path


def once_at(number: int, when: str) -> Callable[[int, str], None]:
    left = [None]

    def fails(at: int, where: str) -> None:
        if left and (at, where) == (number, when):
            left.pop()
            raise Killed

    return fails


def one_node(tmp_path: Path, **more: Any) -> Runs:
    return Runs({"n1": log_of(tmp_path / "n1" / "cdc_raw", list(range(WRITES)))}, tmp_path / "images", **more)


def check(runs: Runs) -> None:
    """Each write has its image, in an unbroken chain."""
    images = runs.taker.once
    assert [image["after"]["v"] for image in images] == list(range(WRITES))
    assert {image["complete"] for image in images} == {True}
    last: dict[str, Any] = {}
    for image in images:
        key = str(image["partition_key"])
        before = last.get(key)
        assert image["before"] == (None if before is None else before["after"])
        assert image["prev_seq"] == (None if before is None else before["seq"])
        assert image["op"] == ("insert" if before is None else "update")
        last[key] = image


def test_without_a_kill_each_comes_once(tmp_path: Path) -> None:
    runs = one_node(tmp_path)
    runs.run()
    assert len(runs.taker.lines) == WRITES
    check(runs)
    runs.run()
    assert len(runs.taker.lines) == WRITES


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(12))
def test_a_kill_at_a_transaction(tmp_path: Path, number: int, when: str) -> None:
    """The process that begins the state, those that merge, and that which notes what was taken."""
    runs = one_node(tmp_path, fails=once_at(number, when))
    assert runs.until_done() == (number < runs.transactions[0])
    check(runs)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(7))
def test_a_kill_where_images_are_handed_over(tmp_path: Path, number: int, when: str) -> None:
    runs = one_node(tmp_path, taker=Taker(fails=once_at(number, when)))
    assert runs.until_done() == (number < runs.taker.calls)
    check(runs)


@pytest.mark.parametrize("number", range(1, 9))
def test_a_kill_before_the_node_s_state_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    kill_before_state(monkeypatch, number)
    runs = one_node(tmp_path)
    assert runs.until_done() == 1
    check(runs)


def test_kills_without_end(tmp_path: Path) -> None:
    """Now at a transaction, now where images are handed over."""
    count = itertools.count(1)

    def fails(number: int, when: str) -> None:
        if next(count) % 9 == 0:
            raise Killed

    runs = one_node(tmp_path, fails=fails, taker=Taker(fails=lambda number, when: fails(number, when)))
    assert runs.until_done() >= 3
    check(runs)


@pytest.mark.parametrize("number", [None, *range(0, 20, 3)])
def test_copies_of_several_nodes_are_one_write(tmp_path: Path, number: int | None) -> None:
    """Every node has all of them, each in an order of its own, and some twice."""
    numbers = list(range(WRITES))
    logs = {
        "n1": log_of(tmp_path / "n1" / "cdc_raw", numbers),
        "n2": log_of(tmp_path / "n2" / "cdc_raw", [*numbers[3:], *numbers[:3]]),
        "n3": log_of(tmp_path / "n3" / "cdc_raw", [*numbers, *numbers[::-1]]),
    }
    runs = Runs(logs, tmp_path / "images")
    if number is not None:
        runs.fails = once_at(number, "after")
    runs.until_done()
    images = [image for image in runs.taker.once if image["op"] != "read"]
    assert [image["after"]["v"] for image in images] == numbers
    assert {image["node"] for image in images} == {"n1"}
    # When the last node has shown the CREATE each row is reported as complete.
    last = {str(image["partition_key"]): image["complete"] for image in runs.taker.once}
    assert set(last.values()) == {True}


def test_a_node_that_comes_later_brings_what_the_others_missed(tmp_path: Path) -> None:
    numbers = list(range(WRITES))
    logs = {
        "n1": log_of(tmp_path / "n1" / "cdc_raw", numbers[: WRITES - 3]),
        "n2": log_of(tmp_path / "n2" / "cdc_raw", numbers[3:]),
    }
    runs = Runs(logs, tmp_path / "images")
    runs.run("n1")
    runs.run()
    images = [image for image in runs.taker.once if image["op"] != "read"]
    assert sorted(image["after"]["v"] for image in images) == numbers
    assert len(images) == WRITES
