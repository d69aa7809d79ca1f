"""A table that a query meets before any of its definitions: rows before a DROP COLUMN are merged as they were written.

Else what a query that is behind has of a column would depend on how far it lags (A15).
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tailer.options.to_spark import parse_options
from tailer.spark.images.followed import followed
from tailer.spark.images.job import Job
from tests.helpers.bucketed import Buckets
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    add_column,
    completed,
    create_table,
    drop_column,
    encode_mutation,
    insert,
    segment_of,
)
from tests.unit.definitions.test_read_ahead import FIRST, WITH_X, T, X, row

DROP = TS + 1_000_000


def job_of(tmp_path: Path) -> Job:
    """Of a log with ADD x and DROP x."""
    log = LogFolder(tmp_path / "cdc_raw")
    entries = [create_table(T, TS), insert(T, 1, "a", 1, TS + 1), add_column(WITH_X, X, TS + 2)]
    entries += [row(WITH_X, 2, TS + 3, v=1, x=7), drop_column(T, X, DROP)]
    made = segment_of(FIRST, [[encode_mutation(each)] for each in entries])
    log.put(made, completed(made))
    return followed([parse_options({"path": str(log.path), "includeSchemaChanges": "true"})], (), None).job()


def columns(job: Job, offset: int) -> dict[str, bool]:
    """By name whether it is dropped."""
    table = job.table_at(T.id.hex, "local", (FIRST, offset))
    assert table is not None
    return {each.name: each.dropped for each in table.definition.columns}


def test_the_definition_at_a_place_is_that_of_its_log(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    places = [each.at[1] for each in job.earlier[T.id.hex]]
    assert [columns(job, at) for at in places] == [
        {"pk": False, "ck": False, "v": False},
        {"pk": False, "ck": False, "v": False, "x": False},
        {"pk": False, "ck": False, "v": False, "x": True},
    ]
    assert columns(job, places[1] + 1) == columns(job, places[1])
    newest = job.table(T.id.hex)
    assert newest is not None
    assert columns(job, 0) == {each.name: each.dropped for each in newest.definition.columns}


def test_a_row_before_the_drop_has_the_column_in_its_image(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    told = Buckets([], ["local"])
    told.job = job
    at = job.earlier[T.id.hex][1].at[1]
    change = dict.fromkeys(("columns", "range", "cells", "ttl", "expires_at")) | {
        "node": "local", "keyspace": "ks", "table": "t", "table_id": str(T.id), "op": "insert", "is_static": False,
        "partition_key": '{"pk":2}', "clustering": '{"ck":"a"}', "write_ts": TS + 3, "token": 5, "segment": FIRST,
        "offset": at, "row": 0, "event_id": f"local:{FIRST}:{at}:0", "columns": '{"v":1,"x":7}',
    }  # fmt: skip
    (image,) = told.batch([change], TS + 10)
    assert image.after is not None
    assert json.loads(image.after) == {"pk": 2, "ck": "a", "v": 1, "x": 7}


def test_a_table_that_was_never_altered_travels_once(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "cdc_raw")
    made = segment_of(FIRST, [[encode_mutation(create_table(replace(T, name="u"), TS))]])
    log.put(made, completed(made))
    found = followed([parse_options({"path": str(log.path), "includeSchemaChanges": "true"})], (), None)
    assert found.earlier == {T.id.hex: []}


def test_what_several_logs_tell_of_a_table_is_put_together(tmp_path: Path) -> None:
    """The last log that is looked at may be the one that is late."""
    logs = [LogFolder(tmp_path / node / "cdc_raw") for node in ("n1", "n2")]
    entries = [create_table(T, TS), add_column(WITH_X, X, TS + 2)]
    for log, part in zip(logs, (entries, entries[:1]), strict=True):
        made = segment_of(FIRST, [[encode_mutation(each)] for each in part])
        log.put(made, completed(made))
    path = ",".join(f"n{number}={log.path}" for number, log in enumerate(logs, 1))
    job = followed([parse_options({"path": path, "includeSchemaChanges": "true"})], (), None).job()
    newest = job.table(T.id.hex)
    assert newest is not None
    assert [each.name for each in newest.definition.columns] == ["pk", "ck", "v", "x"]
