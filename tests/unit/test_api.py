"""The Python interface: ranges, following, consumers. Rows are compared with those of the server's own view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tailer
from tests.conftest import FreshFolder
from tests.helpers.sets import Place
from tests.oracle import expected

PLACE = Place("50-lz4")


@pytest.fixture
def folder(fresh_folder: FreshFolder) -> Path:
    return fresh_folder(PLACE)


@pytest.fixture(scope="module")
def events(sets_root: Path) -> list[str]:
    """Event ids in order, by the server's view."""
    set_dir = sets_root / PLACE.set
    return [f"{r.data['node']}:{r.data['segment']}:{r.data['offset']}:{r.data['row']}" for r in rows_of(set_dir)]


def rows_of(set_dir: Path) -> list[Any]:
    return list(expected(set_dir, set_dir / "cdc_raw").rows)


def ids(batches: Any) -> list[str]:
    found: list[str] = []
    for batch in batches:
        assert isinstance(batch, pa.RecordBatch)
        keep = [op != "truncate" for op in batch.column("op").to_pylist()]
        found += [event for event, kept in zip(batch.column("event_id").to_pylist(), keep, strict=True) if kept]
    return found


def test_read_gives_everything_and_leaves_nothing_behind(folder: Path, events: list[str]) -> None:
    assert ids(tailer.open(folder).read()) == events
    assert [item.name for item in folder.parent.iterdir() if item.name.endswith(".cdc_tail")] == []


def test_read_of_a_range_is_inclusive_and_exclusive(folder: Path, events: list[str]) -> None:
    def position(event: str) -> str:
        _, segment, offset, _ = event.split(":")
        return f"{segment}:{offset}"

    first, last = events[100], events[900]
    whole = [position(event) for event in events]
    want = events[whole.index(position(first)) : whole.index(position(last))]
    assert ids(tailer.open(folder).read(position(first), position(last))) == want


def test_follow_with_a_consumer_goes_on_where_the_last_batch_was_taken(folder: Path, events: list[str]) -> None:
    log = tailer.open(folder, consumer="here")
    assert ids(log.follow(once=True)) == events
    assert ids(log.follow(once=True)) == []
    assert ids(tailer.open(folder, consumer="there").follow(once=True)) == events


def test_a_batch_that_was_not_taken_comes_again(folder: Path, events: list[str]) -> None:
    batches = tailer.open(folder, consumer="here").follow(once=True)
    first = next(batches)
    batches.close()  # type: ignore[attr-defined]
    again = ids(tailer.open(folder, consumer="here").follow(once=True))
    assert again[: first.num_rows] == ids([first])
    assert again == events


def test_tables_select(folder: Path, events: list[str]) -> None:
    batches = list(tailer.open(folder, tables=["cdc.filler"]).read())
    names = {name for batch in batches for name in batch.column("table").to_pylist()}
    assert names == {"filler"}
    keys = [json.loads(text) for batch in batches for text in batch.column("partition_key").to_pylist()]
    assert all("id" in key for key in keys)


def test_wrong_use_is_told(folder: Path) -> None:
    with pytest.raises(tailer.UsageError, match="unknown option 'tabels'"):
        tailer.open(folder, tabels=["a.b"])
    with pytest.raises(tailer.UsageError, match="no such folder"):
        tailer.open(folder / "nowhere")
    with pytest.raises(tailer.UsageError, match="sequence"):
        tailer.open(folder, tables="shop.orders")
    with pytest.raises(tailer.UsageError, match="position"):
        list(tailer.open(folder).read("yesterday"))
    with pytest.raises(tailer.LossError) as lost:
        list(tailer.open(folder).read("17:20"))
    assert lost.value.at == tailer.Position(17, 20)
