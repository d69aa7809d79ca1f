"""A run merges batches by their cells where it can: the images and the state are those of a run that never does."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tailer.image_state.file import reading
from tailer.reading import reader
from tailer.tail.images import waiting
from tests.helpers.image_runs import NOW, Runs
from tests.helpers.log_writer import (
    Bound,
    Cell,
    Column,
    Deletion,
    Liveness,
    LogFolder,
    Marker,
    Row,
    Update,
    alter_payload,
    completed,
    create_payload,
    encode_mutation,
    i32,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.sets import CASES
from tests.unit.scan.compiled.twins import compiled_only
from writer_hooks import SegmentLog, periodic
from writer_hooks import Table as NativeTable

ONE = 1_700_000_000_000
TABLE = simple_table("ks", "t")
OTHER = simple_table("ks", "other", 2)
TS = int(NOW * 1_000_000)
NEVER = 1 << 40


def merged_by_cells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of each batch were given to compiled code from here on."""
    from tailer.image_state.compiled import lane

    merge, found = lane.merge_batch, list[int]()

    def counted(merger: Any, store: Any, batch: Any, *more: Any) -> None:
        found.append(len(batch))
        merge(merger, store, batch, *more)

    monkeypatch.setattr(lane, "merge_batch", counted)
    return found


def kept(runs: Runs) -> dict[bytes, list[tuple[bytes, bytes]]]:
    """All of the state but whose it is."""
    with reading(runs.folder) as seen:
        return {name: list(seen._transaction.cursor(db)) for name, db in seen._rows.items()}


def both(tmp_path: Path, log: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch) -> tuple[Runs, Runs]:
    """A run that merges by cells whatever it can, and one that never does."""
    made = []
    for few in (1, NEVER):
        monkeypatch.setattr(waiting, "FEW", few)
        parent = tmp_path / str(few)
        runs = Runs({"n1": log(parent / "n1" / "cdc_raw")}, parent / "images")
        runs.run()
        made.append(runs)
    return made[0], made[1]


def made_log(folder: Path) -> Path:
    """Rows of two tables, changed and deleted; and a column that comes between them."""
    gone = Deletion(TS + 500, int(NOW))
    wide = Row((b"a",), Liveness(TS + 600), None, (("v", Cell(i32(5), TS + 600)), ("w", Cell(i32(6), TS + 600))))
    table = simple_table("ks", "t")
    newer = type(table)(table.id, "ks", "t", (*table.columns, Column("w", "regular", "int")))
    payloads = [create_payload(TABLE), create_payload(OTHER)]
    payloads += [insert_payload(TABLE, number % 7, "ab"[number % 2], number, TS + number) for number in range(50)]
    payloads += [insert_payload(OTHER, number % 3, "a", number, TS + number) for number in range(30)]
    payloads.append(encode_mutation((Update(TABLE, i32(1), (Row((b"a",), None, gone),)),)))
    markers = (Marker(Bound.INCL_START, (b"a",), (gone,)), Marker(Bound.INCL_END, (b"a",), (gone,)))
    payloads.append(encode_mutation((Update(TABLE, i32(2), markers),)))
    payloads += [insert_payload(TABLE, number % 7, "a", number, TS + 499 + number % 3) for number in range(20)]
    payloads.append(alter_payload(newer, newer.columns[-1], TS + 550))
    payloads += [encode_mutation((Update(newer, i32(number), (wide,)),)) for number in range(7)]
    payloads += payloads[60:]
    log = LogFolder(folder)
    half = len(payloads) // 2
    for number, some in enumerate((payloads[:half], payloads[half:])):
        segment = segment_of(ONE + number, [some])
        log.put(segment, live(segment) if number else completed(segment))
    return log.path


@compiled_only
@pytest.mark.parametrize("entries", [7, 10_000])
def test_a_log_with_all_kinds_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", entries)
    by_cells = merged_by_cells(monkeypatch)
    cells, plain = both(tmp_path, made_log, monkeypatch)
    assert sum(by_cells) > 100
    assert cells.taker.lines == plain.taker.lines
    assert kept(cells) == kept(plain)


class Line(msgspec.Struct):
    key: int
    line: int
    text: str | None = None
    tags: set[str] | None = None


LINES = NativeTable.of(Line, "shop.lines", key=["key"], clustering=["line"])
PAIRS = NativeTable.of(Line, "shop.pairs", key=["key", "line"])


def native_log(folder: Path) -> Path:
    """Changes of a service's own log, some of several rows, some of a transaction."""
    chance = random.Random(1)
    folder.mkdir(parents=True)
    with SegmentLog.open(folder, [LINES, PAIRS], sync=periodic(1)) as log:
        for number in range(300):
            table = chance.choice((LINES, LINES, PAIRS))
            change = table.insert(Line(number % 7, number % 11, chance.choice(("x", "ü" * 40, None)), {"a", "b"}))
            if chance.random() < 0.3:
                change = change & table.delete({"key": number % 5, "line": number % 3})
            if chance.random() < 0.2:
                with log.begin() as transaction:
                    transaction.append(change)
            else:
                log.append(change)
    return folder / "cdc_raw"


@compiled_only
def test_a_service_s_own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = native_log(tmp_path / "made")
    by_cells = merged_by_cells(monkeypatch)
    cells, plain = both(tmp_path, lambda folder: Path(shutil.copytree(made, folder)), monkeypatch)
    assert sum(by_cells) > 100
    assert cells.taker.lines == plain.taker.lines
    assert kept(cells) == kept(plain)


@compiled_only
@pytest.mark.parametrize("name", CASES)
def test_recorded_sets(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_folder: Callable[..., Path]
) -> None:
    by_cells = merged_by_cells(monkeypatch)
    cells, plain = both(tmp_path, lambda folder: fresh_folder(name), monkeypatch)
    assert sum(by_cells) > 100
    assert cells.taker.lines == plain.taker.lines
    assert kept(cells) == kept(plain)
