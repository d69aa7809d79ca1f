"""Data files into an outlet, which keeps how far the shipper is: every row once, whatever fails on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SystemFailedError, UsageError
from tailer.rows.batch import COLUMNS
from tailer.shipping import file_rows, to_outlet
from tailer.shipping.file_rows import row_batches
from tailer.sinks.files.series import Series
from tailer.sinks.outlet import Bounds, OutletContext, OutletKey
from tests.helpers.data_files import lines_of, outlet, place, write_files
from tests.helpers.outlets import Killed, MemoryOutlet, Target, away
from tests.helpers.shipping import ship
from tests.unit.sinks.rows import batch, row

FEW = Bounds(rows=3)


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    """What `--to kafka` leads to."""
    made = Target()

    def open_outlet(to: str, values: dict[str, Any], context: OutletContext) -> MemoryOutlet:
        return MemoryOutlet(made, context, FEW)

    monkeypatch.setattr(to_outlet, "open_outlet", open_outlet)
    monkeypatch.setattr(file_rows, "BATCH_ROWS", 2)
    return made


def send(folder: Path, **more: Any) -> int:
    return ship(folder, "kafka", consumer="ship", **more)


def stands(target: Target) -> Any:
    ((key, held),) = target.places.items()
    assert key == OutletKey("5f4e", "n1", "ship/ship/billing")
    return json.loads(held.offset)


def once(*fails: tuple[int, str], with_: Callable[[], Exception] = away) -> Callable[[int, str], None]:
    """Each of these calls fails once."""
    left = list(fails)

    def failing(at: int, where: str) -> None:
        if (at, where) in left:
            left.remove((at, where))
            raise with_()

    return failing


def test_large_files_are_committed_in_parts(tmp_path: Path, target: Target) -> None:
    write_files(tmp_path, list(range(1, 8)), [8])
    assert send(tmp_path) == 2
    assert target.values == list(range(1, 9))
    # Bounds of three, in batches of two; that a file is whole is said behind its last batch.
    assert target.commits == [4, 3, 0, 1]
    assert stands(target) == {"file": 2, "rows": 1, "whole": True, "v": 1}
    assert send(tmp_path) == 0


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(4))
def test_an_answer_that_is_lost_is_asked_for(tmp_path: Path, target: Target, number: int, when: str) -> None:
    write_files(tmp_path, list(range(1, 8)), [8], [9])
    target.fails = once((number, when), (number, when))
    assert send(tmp_path) == 3
    assert target.values == list(range(1, 10))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(4))
def test_a_kill_at_a_commit(tmp_path: Path, target: Target, number: int, when: str) -> None:
    write_files(tmp_path, list(range(1, 8)), [8], [9])
    target.fails = once((number, when), with_=Killed)
    with pytest.raises(Killed):
        send(tmp_path)
    send(tmp_path)
    assert target.values == list(range(1, 10))


def test_a_target_that_stays_away(tmp_path: Path, target: Target) -> None:
    write_files(tmp_path, [1, 2])

    def fails(number: int, when: str) -> None:
        if when == "before":
            raise away()

    target.fails = fails
    with pytest.raises(SystemFailedError, match="the list is away") as caught:
        send(tmp_path, retry_for=5)
    assert caught.value.code == 8
    target.fails = lambda number, when: None
    assert send(tmp_path) == 1
    assert target.values == [1, 2]


def test_somebody_else_moves_the_position(tmp_path: Path, target: Target) -> None:
    write_files(tmp_path, [1, 2])

    def fails(number: int, when: str) -> None:
        target.fails = lambda number, when: None
        target.places[OutletKey("5f4e", "n1", "ship/ship/billing")] = place(3)
        raise away()

    target.fails = lambda number, when: fails(number, when) if when == "before" else None
    with pytest.raises(RefusedError, match="moved by somebody else"):
        send(tmp_path)
    with pytest.raises(RefusedError, match="keeps a position that no shipper left there"):
        send(tmp_path)


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    """Each column as it was, JSON by its very text, in both forms."""
    made = batch(
        row(clustering=None, columns='{"total":1.50,"nested":{"a":[1, 2]}}', cells='{"total":{"ttl":3}}', ttl=5),
        row(op="delete_range", columns=None, range='{"start":null,"start_inclusive":true}', token=None),
        row(op="truncate", partition_key=None, clustering=None, columns=None, txn="a-1", attrs='{"x":"é\\u0000"}'),
    )
    for form in ("rows", "arrow"):
        out = outlet(tmp_path / form, format=form)
        out.open()
        out.write(made)
        out.commit(None, place(1))
        out.close()
        file = Series(tmp_path / form / "n1").file(1)
        assert file is not None
        (read,) = row_batches(file, "a test")
        assert [list(zip(COLUMNS, each, strict=True)) for each in read.rows()] == [
            list(zip(COLUMNS, each, strict=True)) for each in made.rows()
        ]
        assert read.json_lines() == made.json_lines()
    assert len(lines_of(tmp_path / "rows" / "n1")) == 3


@pytest.mark.parametrize(("asked", "given"), [(None, "rows"), ("debezium", "debezium")])
def test_the_outlet_is_given_the_form_of_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str | None, given: str
) -> None:
    write_files(tmp_path, [1])
    said: list[dict[str, Any]] = []

    def open_outlet(to: str, values: dict[str, Any], context: OutletContext) -> MemoryOutlet:
        said.append({name: values[name] for name in ("format", "at_least_once", "commit_seconds")})
        return MemoryOutlet(Target(), context, FEW)

    monkeypatch.setattr(to_outlet, "open_outlet", open_outlet)
    send(tmp_path, format=asked)
    assert said == [{"format": given, "at_least_once": False, "commit_seconds": 0.0}]


def test_typed_rows_are_refused(tmp_path: Path, target: Target) -> None:
    write_files(tmp_path, [1])
    path = tmp_path / "n1" / "data-000000000001.idx.json"
    path.write_text(path.read_text().replace('"typed":null', '"typed":"shop.orders"'))
    with pytest.raises(UsageError, match=r"needs files of generic rows.*found rows of shop.orders"):
        send(tmp_path)
