"""Masks through the Spark source, without a JVM: what travels, what executors give, what a replay and a restart do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tailer.errors import RefusedError, UsageError
from tailer.options.to_spark import parse_options
from tailer.spark.batch import CdcTailReader
from tailer.spark.executor import Job, JobPacker, read_job
from tailer.spark.form import form_schema, typed_form
from tailer.spark.named import check_tables
from tailer.spark.node import Node
from tailer.spark.planner import UNLIMITED
from tailer.spark.source import generic_schema
from tailer.state.offset import NodeOffset
from tests.helpers.log_writer import LogFolder, completed, create_payload, segment_of, simple_table
from tests.helpers.logs.model import Column
from tests.helpers.masked_log import CLEAR, FIRST, MASKS, NAME, PEOPLE, SECRET, hashed, key_file, people_log

SIMPLE = simple_table("ks", "t")


@pytest.fixture
def given(tmp_path: Path) -> dict[str, str]:
    log = people_log(tmp_path / "cdc_raw")
    return {
        "path": str(log.path),
        "mask": ",".join(f"{NAME}.{column}={how}" for column, how in MASKS.items()),
        "exclude": f"{NAME}.gone",
        "maskKey": str(key_file(tmp_path / "key")),
    }


def read(jobs: list[bytes]) -> list[dict[str, Any]]:
    return [row for job in jobs for batch in read_job(job) for row in batch.to_pylist()]


@pytest.mark.parametrize("table", [None, NAME])
@pytest.mark.parametrize("read_on", ["executors", "driver"])
def test_a_batch_read_shows_nothing(given: dict[str, str], table: str | None, read_on: str) -> None:
    options = parse_options({**given, "readOn": read_on, **({"table": table} if table else {})})
    check_tables(options)
    form = typed_form(options)
    schema = generic_schema() if form is None else form_schema(form)
    jobs = [partition.value for partition in CdcTailReader(options, schema).partitions()]
    assert all(SECRET not in job for job in jobs), "executors read the key's file"
    rows = read(jobs)
    text = str(rows)
    assert len(rows) == 6
    assert [each for each in CLEAR if each in text] == []
    assert hashed(b"clear-pk") in text
    assert list(rows[0]) == schema.names


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"mask": "ks.nobody.v=null"}, "no definition for table ks.nobody"),
        ({"mask": f"{NAME}.nothing=null"}, "no column 'nothing'"),
        ({"exclude": f"{NAME}.at"}, "primary key"),
    ],
)
def test_a_load_refuses_masks_that_cannot_be(given: dict[str, str], more: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_tables(parse_options({**given, **more}))


def test_what_another_node_knows_is_known(given: dict[str, str], tmp_path: Path) -> None:
    other = LogFolder(tmp_path / "other" / "cdc_raw")
    grown = replace(PEOPLE, columns=(*PEOPLE.columns, Column("new", "regular", "text")))
    writer = segment_of(FIRST, [[create_payload(SIMPLE), create_payload(grown)]])
    other.put(writer, completed(writer))
    both = {**given, "path": f"n1={given['path']},n2={other.path}"}
    check_tables(parse_options({**both, "exclude": f"{NAME}.new,ks.t"}))
    with pytest.raises(UsageError, match="no column 'v2' in ks"):
        check_tables(parse_options({**both, "exclude": "ks.t.v2"}))
    away = {**given, "path": f"n1={given['path']},n2={tmp_path / 'away'}"}
    with pytest.raises(UsageError, match=r"no definition for table ks\.t,"):
        check_tables(parse_options({**away, "exclude": "ks.t"}))
    check_tables(parse_options({**away, "exclude": "ks.t", "masksMayCome": "true"}))


@pytest.fixture
def nodes(given: dict[str, str]) -> Iterator[Any]:
    """Starts a query's node with other masks; the last one ends first."""
    running: list[Node] = []

    def start(*columns: str, key: str = given["maskKey"]) -> Node:
        while running:
            running.pop().close()
        mask = ",".join(f"{NAME}.{column}=hash" for column in columns)
        options = parse_options({"path": given["path"], "consumer": "q", "mask": mask, "maskKey": key})
        of = replace(options.of("local", once=True), settle_seconds=0.1)
        running.append(Node("local", options.places[0][1], of, None, lambda line: None))
        return running[-1]

    yield start
    for node in running:
        node.close()


def rows_of(node: Node, begin: NodeOffset, end: NodeOffset) -> list[dict[str, Any]]:
    packer = JobPacker()
    jobs = [packer.pack(task, node.place, node.options, node.carried(task)) for task in node.tasks(begin, end, 1)]
    return read(jobs)


def test_a_batch_that_is_planned_again_is_masked_as_it_was(nodes: Any, tmp_path: Path) -> None:
    node = nodes("pk")
    first = node.initial()
    assert node.plan(UNLIMITED)[0]
    end = node.handed
    assert end is not None
    before = rows_of(node, first, end)
    assert json.loads(before[0]["partition_key"])["pk"] == hashed(b"clear-pk")
    again = nodes("pk", "ck")
    again.stand(first)
    assert rows_of(again, first, end) == before, "with the masks of the batch, not with those of today"
    # None of these rows had the second mask: nothing binds the consumer to it yet.
    nodes("pk").stand(first)
    again = nodes("pk", "ck")
    again.stand(end)
    again.plan(UNLIMITED)
    # From here on rows may have left with both masks.
    with pytest.raises(RefusedError, match=r"consumer q masks ks\.people\.ck=hash"):
        nodes("pk")
    other = key_file(tmp_path / "other", b"another key of 16 bytes")
    with pytest.raises(RefusedError, match="fingerprint"):
        nodes("pk", "ck", key=str(other))


def test_an_executor_with_another_key_refuses(given: dict[str, str], tmp_path: Path) -> None:
    (partition,) = CdcTailReader(parse_options(given), generic_schema()).partitions()
    job = msgspec.msgpack.decode(partition.value, type=Job)
    for other in ("", str(key_file(tmp_path / "other", b"another key of 16 bytes"))):
        with pytest.raises(RefusedError, match="hashed with one key are to be read with another"):
            read([msgspec.msgpack.encode(msgspec.structs.replace(job, mask_key=other))])
