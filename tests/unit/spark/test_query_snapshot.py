"""Where a query's snapshot stands: by its offset, by the spool, and by what of both is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailer.errors import RefusedError, UsageError
from tailer.options.to_spark import SourceOptions, parse_options
from tailer.rebuild import Table
from tailer.schema.model import Column
from tailer.spark.executor import read_job
from tailer.spark.offsets import SnapshotOffset, SourceOffset, decode_offset
from tailer.spark.query_snapshot import QuerySnapshot
from tailer.state.offset import NodeOffset
from tests.unit.images.told import DATA, definition
from tests.unit.snapshot.test_spool import TABLE, row


def options(tmp_path: Path, **more: str) -> SourceOptions:
    return parse_options({"path": str(tmp_path / "log"), "startingOffsets": "snapshot", "server": "h", **more})


def query(tmp_path: Path, **more: str) -> QuerySnapshot:
    return QuerySnapshot(options(tmp_path, **more), dict, lambda line: None)


def at(offset: int) -> dict[str, NodeOffset]:
    return {"local": NodeOffset(s=1, o=offset, id="i")}


def test_the_first_offset_is_the_same_until_the_log_s_is_another_or_pieces_were_committed(tmp_path: Path) -> None:
    first = query(tmp_path).initial(at(7))
    assert query(tmp_path).initial(at(7)) == first
    assert query(tmp_path).initial(at(8)) != first
    made = query(tmp_path)
    first = made.initial(at(7))
    made._held().add([row(1)], TABLE)
    assert query(tmp_path).initial(at(7)) == first
    made.commit(SnapshotOffset(first.id, 1))
    assert query(tmp_path).initial(at(7)) != first


def test_a_checkpoint_whose_rows_are_gone_is_refused(tmp_path: Path) -> None:
    made = query(tmp_path)
    first = made.initial(at(7))
    made.stand(first)
    with pytest.raises(RefusedError, match=r"rows of the snapshot .* are gone"):
        made.stand(SnapshotOffset("another", 0))
    made._held().add([row(1)], TABLE)
    made.commit(SnapshotOffset(first.id, 1))
    with pytest.raises(RefusedError, match="from piece 1 on"):
        made.stand(first)
    made.stand(SnapshotOffset("another", 3, end=True))
    assert not made.active


@pytest.mark.parametrize("read_on", ["executors", "driver"])
@pytest.mark.parametrize("schema", ["false", "true"])
def test_a_task_gives_the_rows_of_its_piece(tmp_path: Path, read_on: str, schema: str) -> None:
    made = query(tmp_path, readOn=read_on, includeSchemaChanges=schema)
    first = made.initial(at(7))
    for number in range(3):
        made._held().add([row(number), row(100)], TABLE)
    jobs = made.jobs(SnapshotOffset(first.id, 1), SnapshotOffset(first.id, 3))
    if read_on == "driver":
        made.commit(SnapshotOffset(first.id, 3))
    found = [batch.column("partition_key").to_pylist() for job in jobs for batch in read_job(job)]
    more = ['{"id":100}'] if schema == "true" else []
    assert found == [['{"id":1}', *more], ['{"id":2}', *more]]
    assert made.jobs(None, None) == []


def test_a_task_that_does_not_see_its_file_says_so(tmp_path: Path) -> None:
    made = query(tmp_path)
    first = made.initial(at(7))
    made._held().add([row(1)], TABLE)
    (job,) = made.jobs(first, SnapshotOffset(first.id, 1))
    made._held().taken(1)
    with pytest.raises(UsageError, match="snapshotSpool"):
        list(read_job(job))


def test_lists_and_counters_are_refused_unless_they_may_be_marked(tmp_path: Path) -> None:
    made = query(tmp_path)
    made.stand(made.initial(at(7)))
    listed = Table.of(definition(*DATA, Column("l", "regular", "list<int>")))
    with pytest.raises(UsageError, match=r"ks\.t has l, .*incomplete=true"):
        made.take_tables([listed])


def test_a_snapshot_begins_with_a_table(tmp_path: Path) -> None:
    made = query(tmp_path, tables="ks.t")
    made.stand(made.initial(at(7)))
    with pytest.raises(UsageError, match=r"there is no table to begin with: .*found ks\.t"):
        made.take_tables([])


def test_nodes_at_http_alone_need_a_folder_that_is_named() -> None:
    parsed = parse_options({"path": "n1=http://h:1", "startingOffsets": "snapshot"})
    with pytest.raises(UsageError, match="snapshotSpool"):
        QuerySnapshot(parsed, dict, lambda line: None).initial(at(1))


def test_the_offset_has_it_in_a_version_of_its_own() -> None:
    offset = SourceOffset(3, at(7), snapshot=SnapshotOffset("abc", 2))
    told = offset.as_json()
    assert (told["v"], told["snap"]) == (4, {"id": "abc", "n": 2, "end": False})
    assert decode_offset(told) == offset


def test_typed_rows_and_batch_reads_have_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="generic form"):
        options(tmp_path, table="ks.t")
