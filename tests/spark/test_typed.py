"""The typed form in Spark: the server's rows in every table's own columns, and what becomes of tables that change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tailer.errors import DefinitionError, RefusedError
from tailer.options.to_spark import parse_options
from tailer.spark.executor import read_job
from tailer.spark.fit import fit
from tailer.spark.form import check_form, form_schema, typed_form
from tailer.spark.planner import Planner
from tests.conftest import FreshFolder
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    LogFolder,
    Mutation,
    Table,
    Update,
    add_column,
    create_payload,
    encode_mutation,
    i32,
    insert,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.log_writer import Row as LoggedRow
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.sets import key_options
from tests.oracle import Row, expected, recording
from tests.spark.engine import Engine
from tests.unit.rows.typed.reading import rows_of_arrow
from tests.unit.rows.typed.test_recorded import same_rows

TABLE = simple_table("ks", "t")
WIDER = replace(TABLE, columns=(*TABLE.columns, Column("w", "regular", "int")))


def read_arrow(planner: Planner, start: Any, end: Any) -> Iterator[pa.RecordBatch]:
    for job in planner.partitions(start, end):
        if job:
            yield from read_job(job)


def typed_rows(folder: Path, table: str, **options: str) -> list[Mapping[str, Any]]:
    """All rows of one run with AvailableNow."""
    engine = Engine(folder, {"table": table, "consumer": table.replace(".", "-").replace('"', ""), **options})
    rows: list[Mapping[str, Any]] = []
    with engine.running(once=True) as planner:
        while engine.log_next(planner):
            number = len(engine.offsets)
            rows += rows_of_arrow(read_arrow(planner, engine.end(number - 2), engine.end(number - 1)))
    return [row for row in rows if row["_op"] != "truncate"]


KINDS = (
    ["scalars", "altered", "coll", "coll_types", "altered_type", "udt_map", "counters_static", "vectors", "deletes"],
    ["statics", "timestamps", "ttl", "frozen_key", "range3_mixed"],
)
"""A table of each kind; every table of every set is read in `tests/typed`."""


@pytest.mark.parametrize(("name", "tables"), [("50-cases", KINDS[0]), ("40-aes", KINDS[1])])
def test_tables_have_the_rows_of_the_server(
    name: str, tables: list[str], sets_root: Path, fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fresh_folder(name)
    keystore, env = key_options(sets_root / name)
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    options = {"decimals": "string", "onError": "quarantine"} | ({"keystore": keystore[1]} if keystore else {})
    every = expected(sets_root / name, folder).rows
    for table in tables:
        rows: list[Row] = [row for row in every if (row.data["keyspace"], row.data["table"]) == ("cdc", table)]
        definition = recording(sets_root / name).final.definitions[rows[0].data["table_id"]]
        same_rows(definition, rows, typed_rows(folder, f"cdc.{table}", **options))


class Growing(GrowingLog):
    """A log that grows under a query, and its only table with it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder.parent, 1_700_000_000_001)
        self.section([create_payload(TABLE)])
        self.publish()

    def add(self, *mutations: Mutation) -> None:
        self.section([encode_mutation(mutation) for mutation in mutations])
        self.publish()


def one_row_query(folder: Path, **options: str) -> tuple[Growing, Engine]:
    """A log of one row, and a query of it."""
    log = Growing(folder)
    log.add(insert(TABLE, 1, "a", 10))
    return log, Engine(folder, options)


def wider(pk: int, v: int, w: int) -> Mutation:
    """An insert that sets both columns."""
    cells = (("v", Cell(i32(v), TS, like_row=1)), ("w", Cell(i32(w), TS, like_row=1)))
    return (Update(WIDER, i32(pk), (LoggedRow((b"a",), Liveness(TS), None, cells),)),)


def seen(batches: Iterator[pa.RecordBatch], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in names) for row in rows_of_arrow(batches)]


def test_a_column_that_is_added_stops_the_query_and_a_restart_has_it(tmp_path: Path) -> None:
    log, engine = one_row_query(tmp_path / "cdc_raw", table="ks.t")
    with engine.running() as planner:
        assert engine.log_next(planner)
        assert seen(read_arrow(planner, engine.end(-1), engine.end(0)), "pk", "v") == [(1, 10)]
        engine.committed = 1
        log.add(add_column(TABLE, WIDER.columns[-1], TS + 1))
        log.add(insert(WIDER, 2, "a", 20), wider(3, 30, 33))
        assert engine.log_next(planner)
        with pytest.raises(DefinitionError, match=r"(?s)\"?w\"?.*[Rr]estart|[Ss]tart"):
            list(read_arrow(planner, engine.end(0), engine.end(1)))
    with engine.running() as planner:
        again = list(read_arrow(planner, engine.end(0), engine.end(1)))
        assert seen(iter(again), "pk", "v", "w") == [(2, 20, None), (3, 30, 33)]


def test_a_column_that_is_added_is_left_out_by_choice(tmp_path: Path) -> None:
    log, engine = one_row_query(tmp_path / "cdc_raw", table="ks.t", onSchemaChange="ignore")
    with engine.running() as planner:
        log.add(add_column(TABLE, WIDER.columns[-1], TS + 1), wider(3, 30, 33))
        assert engine.log_next(planner)
        (batch, *_) = batches = list(read_arrow(planner, engine.end(-1), engine.end(0)))
        assert seen(iter(batches), "pk", "v") == [(1, 10), (3, 30)]
        assert "w" not in batch.schema.names


def test_a_batch_that_is_replayed_keeps_its_columns_and_fits_those_of_the_query(tmp_path: Path) -> None:
    log, engine = one_row_query(tmp_path / "cdc_raw", table="ks.t")
    with engine.running() as planner:
        assert engine.log_next(planner)
        before = list(read_arrow(planner, engine.end(-1), engine.end(0)))
    log.add(add_column(TABLE, WIDER.columns[-1], TS + 1), wider(3, 30, 33))
    with engine.running(maxBytesPerTrigger="100", decimals="string", minPartitions="3") as planner:
        assert list(read_arrow(planner, engine.end(-1), engine.end(0))) == before
        engine.committed = 1
        assert engine.log_next(planner)
        after = list(read_arrow(planner, engine.end(0), engine.end(1)))
    assert seen(iter(after), "pk", "v", "w") == [(3, 30, 33)]
    fitted = fit(before[0], after[0].schema)
    assert fitted.schema == after[0].schema
    assert seen(iter([fitted]), "pk", "v", "w") == [(1, 10, None)]


def test_a_batch_of_another_form_is_refused(tmp_path: Path) -> None:
    _, engine = one_row_query(tmp_path / "cdc_raw")
    with engine.running() as planner:
        assert engine.log_next(planner)
    with engine.running(table="ks.t") as planner, pytest.raises(RefusedError, match="new checkpoint"):
        planner.partitions(engine.end(-1), engine.end(0))


def test_a_table_that_nothing_defines_is_told(tmp_path: Path) -> None:
    Growing(tmp_path / "cdc_raw")
    engine = Engine(tmp_path / "cdc_raw", {"table": "ks.unknown"})
    with pytest.raises(DefinitionError, match=r"ks\.unknown"), engine.running():
        pass


def test_two_nodes_have_one_form(tmp_path: Path) -> None:
    """A node that has not logged a column yet: null in its rows."""
    first, second = Growing(tmp_path / "a" / "cdc_raw"), Growing(tmp_path / "b" / "cdc_raw")
    first.add(insert(TABLE, 1, "a", 10))
    second.add(add_column(TABLE, WIDER.columns[-1], TS + 1), wider(3, 30, 33))
    rows = typed_rows(Path(f"a={tmp_path / 'a' / 'cdc_raw'},b={tmp_path / 'b' / 'cdc_raw'}"), "ks.t")
    assert sorted((row["_node"], row["pk"], row["w"]) for row in rows) == [("a", 1, None), ("b", 3, 33)]


def test_names_clash_with_the_columns_of_the_change(tmp_path: Path) -> None:
    odd: Table = replace(TABLE, columns=(*TABLE.columns, Column("_op", "regular", "int")))
    writer = segment_of(1_700_000_000_001, [[create_payload(odd)]])
    LogFolder(tmp_path / "cdc_raw").put(writer, live(writer))
    engine = Engine(tmp_path / "cdc_raw", {"table": "ks.t"})
    with pytest.raises(Exception, match="metaPrefix"), engine.running():
        pass
    with engine.running(metaPrefix="cdc_"):
        pass


def test_a_table_that_changed_between_load_and_start_is_told(tmp_path: Path) -> None:
    log = Growing(tmp_path / "cdc_raw")
    options = parse_options({"path": str(tmp_path / "cdc_raw"), "table": "ks.t"})
    loaded = typed_form(options)
    assert loaded is not None
    schema = form_schema(loaded)
    check_form(loaded, schema)
    log.add(add_column(TABLE, WIDER.columns[-1], TS + 1))
    started = typed_form(options)
    assert started is not None
    with pytest.raises(DefinitionError, match="changed after this DataFrame was loaded"):
        check_form(started, schema)
    check_form(started, form_schema(started))
