"""Masks and exclusions hold for a table's id: a definition that gives it another name shows nothing."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tailer.definitions.bound_masks import BoundMasks
from tailer.definitions.history import DefinitionHistory
from tailer.schema.masks import masks_of
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import LOG, SchemaRecord
from tests.helpers.cli import Result
from tests.helpers.links import read_once, rows_of
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)

FIRST = 1_700_000_000_001
TABLE, OTHER = simple_table("shop", "orders"), simple_table("shop", "notes", 2)
LATER = 1_800_000_000_000_000


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Two tables, one row each in each segment."""
    folder = LogFolder(tmp_path / "cdc_raw")
    for number in range(3):
        made = [create_payload(TABLE), create_payload(OTHER)] if number == 0 else []
        rows = [insert_payload(TABLE, number, f"secret-{number}", 100 + number), insert_payload(OTHER, number, "n", 7)]
        writer = segment_of(FIRST + number, [made, rows])
        folder.put(writer, live(writer) if number == 2 else completed(writer))
    return folder


def renamed(log: LogFolder) -> None:
    """The journal has a definition that calls the table `shop.copy`, from behind its CREATE on."""
    assert read_once(log.path, "--consumer", "first").code == 0
    journal = FolderJournal(log.path.with_name("cdc_raw.cdc_tail"))
    (made,) = [
        each
        for each in journal.read()
        if isinstance(each, SchemaRecord) and each.source == LOG and "orders" in str(each.deltas)
    ]
    own = [each for each in made.deltas if each.clustering[:1] == ("orders",)]
    copy = [msgspec.structs.replace(each, clustering=("copy", *each.clustering[1:])) for each in own]
    gone = [msgspec.structs.replace(each, cells={}, liveness=None, row_deletion=LATER) for each in own]
    journal.append([SchemaRecord(at=made.at, source="file evil.cql", deltas=(*copy, *gone))])


def shown(result: Result) -> set[str]:
    return {row["table"] for row in rows_of(result)}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "mask.key"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("consumer", [[], ["--consumer", "second"]], ids=["alone", "consumer"])
def test_a_mask_stays_under_another_name(log: LogFolder, key: Path, consumer: list[str]) -> None:
    renamed(log)
    clear = read_once(log.path)
    # The definition counts: without masks the rows have the other name.
    assert shown(clear) == {"copy", "notes"}
    assert "secret-1" in clear.out
    words = ["--mask", "shop.orders.ck=hash", "--mask", "shop.orders.v=null", "--mask-key", key, *consumer]
    masked = read_once(log.path, *words)
    rows = [row for row in rows_of(masked) if row["table"] == "copy"]
    assert len(rows) == 3
    assert "secret-" not in masked.out
    assert {json.dumps(row["columns"]["v"]) for row in rows} == {"null"}
    assert [row["columns"]["v"] for row in rows_of(masked) if row["table"] == "notes"] == [7, 7, 7]


def test_an_exclusion_stays_under_another_name(log: LogFolder) -> None:
    renamed(log)
    assert shown(read_once(log.path, "--exclude", "shop.orders")) == {"notes"}
    assert shown(read_once(log.path, "--exclude", "shop.orders", "--consumer", "second")) == {"notes"}
    left_out = rows_of(read_once(log.path, "--exclude", "shop.orders.v"))
    assert {tuple(row["columns"]) for row in left_out if row["table"] == "copy"} == {()}


def test_row_images_are_masked_under_another_name(log: LogFolder) -> None:
    renamed(log)
    result = read_once(log.path, "--image", "after", "--consumer", "second", "--mask", "shop.orders.v=null")
    assert result.code == 0, result.err
    assert '"v":10' not in result.out
    assert '"v":7' in result.out
    result = read_once(log.path, "--image", "after", "--consumer", "third", "--exclude", "shop.orders")
    assert result.code == 0, result.err
    assert "secret-" not in result.out


def test_tables_with_one_name_have_the_masks_that_they_were_given(log: LogFolder) -> None:
    assert read_once(log.path, "--consumer", "first").code == 0
    history = DefinitionHistory(FolderJournal(log.path.with_name("cdc_raw.cdc_tail")).read())
    masks = masks_of(["shop.orders.v=null", "shop.orders.ck=null"], ["shop.secrets"])
    assert BoundMasks(history).of(masks) == masks
