"""What cannot be decoded: it stops the query, or is put aside; and how a stopped query is mended by other options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.errors import CorruptError, DefinitionError
from tests.conftest import FreshFolder
from tests.golden.test_definitions import quarantined, without_the_creates
from tests.helpers.compare import same_rows, without_truncates
from tests.oracle import expected
from tests.spark.engine import Engine, planned_anew

SET = "50-cases"


def test_a_batch_without_definitions_is_mended_by_a_schema_file(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, schema = without_the_creates(fresh_folder(SET)), str(sets_root / SET / "schema.cql")
    engine = Engine(folder)
    with engine.running() as planner:
        assert engine.log_next(planner)
        with pytest.raises(DefinitionError, match="schema"):
            engine.read(planner, engine.end(-1), engine.end(0))
    with pytest.raises(DefinitionError):
        engine.available_now()

    # The file does not name every table: the query stops there, and goes on with quarantine.
    want = expected(sets_root / SET, folder, base=True, quarantine=True)
    first = want.undefined[0]
    with pytest.raises(DefinitionError, match=f"{first.segment}:{first.offset}"):
        engine.available_now(schemaFile=schema)
    rows = engine.available_now(schemaFile=schema, onError="quarantine")
    same_rows(want.rows, without_truncates(rows))
    assert [(kept["segment"], kept["offset"]) for kept in quarantined(folder)] == [each[:2] for each in want.undefined]

    # From now on the batch is what it was then, whatever the options are.
    assert planned_anew(folder, engine.end(-1), engine.end(0)) == rows


def test_quarantine_from_the_start_decides_before_the_offset_leaves(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, schema = without_the_creates(fresh_folder(SET)), str(sets_root / SET / "schema.cql")
    want = expected(sets_root / SET, folder, base=True, quarantine=True)
    engine = Engine(folder, {"maxBytesPerTrigger": "10k"})
    same_rows(want.rows, without_truncates(engine.available_now(schemaFile=schema, onError="quarantine")))
    assert len(list(quarantined(folder))) == len(want.undefined) == 4
    assert len(engine.offsets) > 10


def test_an_entry_put_aside_stays_aside_when_the_file_is_whole_again(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder(SET)
    every = Engine(folder, {"consumer": "every"}).available_now()
    last = json.loads(every[-1])
    log, at = folder / f"CommitLog-7-{last['segment']}.log", last["offset"]
    whole = log.read_bytes()
    log.write_bytes(whole[: at + 40] + bytes([whole[at + 40] ^ 1]) + whole[at + 41 :])

    stopped = Engine(folder, {"consumer": "stopped"})
    with pytest.raises(CorruptError, match=str(at)):
        stopped.available_now()
    kept = Engine(folder, {"consumer": "kept"})
    rows = kept.available_now(onError="quarantine")
    assert rows == [line for line in every if f'"offset":{at},' not in line]

    log.write_bytes(whole)
    ends = range(len(kept.offsets))
    again = [line for n in ends for line in planned_anew(folder, kept.end(n - 1), kept.end(n), "kept")]
    assert again == rows
    assert Engine(folder, {"consumer": "anew"}).available_now() == every


def test_row_shaping_options_are_those_of_the_offset(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder(SET)
    engine = Engine(folder)
    with engine.running(tables="cdc.toggled,cdc.dropped") as planner:
        assert engine.log_next(planner)
        few = engine.read(planner, engine.end(-1), engine.end(0))
    assert {line.split('"table":"')[1].split('"')[0] for line in few} == {"toggled", "dropped"}
    assert engine.available_now() == few


def test_schema_rows_come_when_asked_for(fresh_folder: FreshFolder) -> None:
    rows = Engine(fresh_folder(SET), {"includeSchemaChanges": "true"}).available_now()
    assert sum('"op":"schema"' in line for line in rows) > 10
