"""Images that go to an outlet: each once, whatever is killed, and whoever restores one of the two sides."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import LossError, RefusedError, SinkError, SystemFailedError
from tailer.image_state.file import reading
from tailer.options.images import ImageOptions
from tailer.options.token_range import TokenRange
from tailer.reading import reader
from tailer.sinks.outlet import Bounds, Place
from tailer.tail.images import outlet
from tailer.tail.images.delivery import ImageDelivery
from tailer.tail.images.stream import ImageStream
from tailer.tail.patience import Patience
from tests.helpers.image_runs import NOW, DyingFile, Runs
from tests.helpers.outlets import Killed, MemoryOutlet, Target, away, kill_before_state
from tests.unit.tail.images.test_kills import WRITES, log_of, once_at

FEW = Bounds(rows=5)
ALL = list(range(WRITES))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", 3)
    monkeypatch.setattr(outlet, "BOUNDS", Bounds(4, None, 0.0))


@dataclass
class Into(Runs):
    """Runs whose images go to a target."""

    target: Target = field(default_factory=Target)
    bounds: Bounds = FEW
    keeps_place: bool = True
    patience: float = 5.0
    images: ImageOptions = ImageOptions("both")  # noqa: RUF009
    delivery: ImageDelivery | None = None

    def stream(self) -> ImageStream:
        waits = Patience(self.patience, self.said.append, sleep=lambda seconds: None)
        made = ImageDelivery(
            lambda context: MemoryOutlet(self.target, context, self.bounds, self.keeps_place),
            self.consumer,
            self.images,
            waits,
            self.said.append,
        )
        self.delivery = made
        file = DyingFile(self.folder, self.fails, self.transactions)
        return ImageStream(file, self.consumer, list(self.logs), made.give, reach=made.reach, wall=lambda: NOW)

    def ended(self) -> None:
        assert self.delivery is not None
        self.delivery.finish()
        self.delivery.close()

    @property
    def values(self) -> list[int]:
        return [image["after"]["v"] for image in self.target.rows]

    @property
    def given(self) -> int:
        """What the state says to have been taken."""
        with reading(self.folder) as seen:
            return seen.given


def one_node(tmp_path: Path, **more: Any) -> Into:
    return Into({"n1": log_of(tmp_path / "n1" / "cdc_raw", ALL)}, tmp_path / "images", **more)


def test_each_once_and_the_number_beside_them(tmp_path: Path) -> None:
    runs = one_node(tmp_path)
    runs.run()
    assert runs.values == ALL
    ((key, place),) = runs.target.places.items()
    assert (key.node, key.consumer) == ("images", "c")
    assert place == Place(f'{{"images":{runs.given},"v":1}}')
    assert len(runs.target.commits) > 2
    runs.run()
    assert runs.values == ALL


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(6))
def test_a_kill_at_a_commit_of_the_target(tmp_path: Path, number: int, when: str) -> None:
    runs = one_node(tmp_path, target=Target(fails=once_at(number, when)))
    assert runs.until_done() == (number < len(runs.target.commits))
    assert runs.values == ALL


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(12))
def test_a_kill_at_a_transaction_of_the_state(tmp_path: Path, number: int, when: str) -> None:
    runs = one_node(tmp_path, fails=once_at(number, when))
    assert runs.until_done() == (number < runs.transactions[0])
    assert runs.values == ALL


@pytest.mark.parametrize("number", range(1, 9))
def test_a_kill_before_the_node_s_state_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    kill_before_state(monkeypatch, number)
    runs = one_node(tmp_path)
    assert runs.until_done() == 1
    assert runs.values == ALL


def test_kills_without_end(tmp_path: Path) -> None:
    count = itertools.count(1)

    def fails(number: int, when: str) -> None:
        if next(count) % 13 == 0:
            raise Killed

    runs = one_node(tmp_path, fails=fails, target=Target(fails=fails))
    assert runs.until_done() >= 2
    assert runs.values == ALL


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [0, 2])
def test_a_commit_whose_answer_is_lost_is_read(tmp_path: Path, number: int, when: str) -> None:
    runs = one_node(tmp_path, target=Target(fails=away_at(number, when)))
    runs.run()
    assert runs.values == ALL
    assert runs.target.opened == 2
    assert [line for line in runs.said if "Trying again" in line]


def away_at(number: int, when: str) -> Callable[[int, str], None]:
    left = [None]

    def fails(at: int, where: str) -> None:
        if left and (at, where) == (number, when):
            left.pop()
            raise away()

    return fails


def test_a_target_that_stays_away_loses_nothing(tmp_path: Path) -> None:
    def fails(number: int, when: str) -> None:
        if when == "before":
            raise away()

    runs = one_node(tmp_path, target=Target(fails=fails), patience=0.0)
    with pytest.raises(SystemFailedError):
        runs.run()
    assert (runs.values, runs.given) == ([], 0)
    runs.target.fails = lambda number, when: None
    runs.run()
    assert runs.values == ALL


def test_after_a_failure_nothing_is_given_over_a_gap(tmp_path: Path) -> None:
    """Another node may still merge: its batch must not get a place behind one that is not there."""
    runs = one_node(tmp_path, target=Target(refuses=lambda row: row["after"]["v"] == 7))
    with pytest.raises(SinkError):
        runs.run()
    assert runs.delivery is not None
    before = dict(runs.target.places)
    with reading(runs.folder) as seen:
        batch = next(seen.waiting(seen.given))
    assert not runs.delivery.give(batch)
    runs.delivery.finish()
    assert runs.target.places == before
    runs.target.refuses = lambda row: False
    runs.run()
    assert runs.values == ALL


def test_images_wait_in_the_outbox_until_they_are_committed(tmp_path: Path) -> None:
    runs = one_node(tmp_path, bounds=Bounds(seconds=3600.0))
    runs.run()
    assert runs.values == ALL
    assert len(runs.target.commits) == 1


def test_without_before(tmp_path: Path) -> None:
    runs = one_node(tmp_path, images=ImageOptions("after"))
    runs.run()
    assert {image["before"] for image in runs.target.rows} == {None}


def test_a_range_of_tokens_has_a_place_of_its_own(tmp_path: Path) -> None:
    runs = one_node(tmp_path, images=ImageOptions("after", tokens=TokenRange(-5, 7)))
    runs.run()
    assert [key.node for key in runs.target.places] == ["images_-5..7"]


def test_a_target_that_keeps_no_place_gets_what_was_not_said_to_be_there(tmp_path: Path) -> None:
    runs = one_node(tmp_path, keeps_place=False, target=Target(fails=once_at(1, "after")))
    assert runs.until_done() == 1
    assert set(runs.values) == set(ALL)
    seqs = {(str(image["partition_key"]), image["seq"]) for image in runs.target.rows}
    assert len(seqs) == len(ALL)


def test_an_emptied_target_is_refused(tmp_path: Path) -> None:
    runs = one_node(tmp_path)
    runs.run()
    runs.target = Target()
    with pytest.raises(RefusedError, match="given elsewhere already"):
        runs.run()


def test_a_target_of_an_earlier_time_lacks_images(tmp_path: Path) -> None:
    runs = one_node(tmp_path)
    runs.run()
    (key,) = runs.target.places
    runs.target.places[key] = Place('{"images":2}')
    with pytest.raises(LossError, match="behind what the state of images has given"):
        runs.run()


def test_a_state_of_an_earlier_time_is_refused(tmp_path: Path) -> None:
    logs = {name: log_of(tmp_path / name / "cdc_raw", some) for name, some in (("n1", ALL[:21]), ("n2", ALL))}
    runs = Into(logs, tmp_path / "images")
    runs.run("n1")
    shutil.copytree(tmp_path / "images", tmp_path / "backup")
    runs.run()
    assert sorted({*runs.values}) == ALL
    shutil.rmtree(tmp_path / "images")
    shutil.copytree(tmp_path / "backup", tmp_path / "images")
    with pytest.raises(RefusedError, match="ahead of the state of images"):
        runs.run()


@pytest.mark.parametrize("offset", ['{"j":0,"s":1,"o":2}', "{}", "no", '{"images":"x"}'])
def test_a_place_that_is_none_of_images(tmp_path: Path, offset: str) -> None:
    runs = one_node(tmp_path)
    runs.run()
    (key,) = runs.target.places
    runs.target.places[key] = Place(offset)
    with pytest.raises(RefusedError, match="none of images"):
        runs.run()
