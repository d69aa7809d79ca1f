"""Data files as an outlet: what is written, when it counts, who may write, and what a full disk leaves."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tailer.errors import DefinitionError, RefusedError, SystemFailedError, UsageError
from tailer.rows.batch import arrow_schema
from tailer.sinks.files import new_file
from tailer.sinks.files.new_file import NewFile
from tailer.sinks.files.outlet import open_outlet
from tailer.sinks.outlet import Bounds, OutletKey
from tests.helpers.data_files import KEY, indexes, lines_of, outlet, place, rows, stands, values_of, write_files
from tests.unit.sinks.rows import batch, row


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"lock"}


def test_a_file_and_its_index(tmp_path: Path) -> None:
    out = outlet(tmp_path / "out")
    assert out.open() is None
    held = out.write(batch(row(), row(op="delete_row", columns=None)))
    assert held > 0
    out.write(batch(row(keyspace="shop", table="notes", table_id="00")))
    out.commit(None, place(99))
    out.close()
    folder = tmp_path / "out" / "n1"
    assert names(folder) == {"data-000000000001.jsonl.zst", "data-000000000001.idx.json"}
    (index,) = indexes(folder)
    assert {name: index[name] for name in ("number", "rows", "format", "typed", "generation", "v")} == {
        "number": 1, "rows": 3, "format": "rows", "typed": None, "generation": 1, "v": 1
    }  # fmt: skip
    assert index["key"] == {"folder": "5f4e", "node": "n1", "consumer": "billing"}
    assert index["offset"] == {"j": 0, "s": 1700000000001, "o": 99}
    notes, orders = index["tables"]
    assert notes == {"table": "shop.notes", "id": "00", "rows": 1, "definition": None, "versions": []}
    assert (orders["table"], orders["id"], orders["rows"]) == ("shop.orders", row()[3], 2)
    assert [(each["name"], each["kind"]) for each in orders["definition"]["columns"]] == [
        ("id", "partition_key"), ("at", "clustering")
    ]  # fmt: skip
    assert [each["op"] for each in lines_of(folder)] == ["insert", "delete_row", "insert"]


@pytest.mark.skipif(shutil.which("zstdcat") is None, reason="no zstdcat here")
def test_zstdcat_gives_the_lines_of_output_json(tmp_path: Path) -> None:
    out = outlet(tmp_path)
    out.open()
    batches = [rows(*range(at, at + 500)) for at in range(0, 5000, 500)]
    for each in batches:
        out.write(each)
    out.commit(None, place(5))
    out.close()
    ran = subprocess.run(["zstdcat", tmp_path / "n1" / "data-000000000001.jsonl.zst"], check=True, capture_output=True)
    assert ran.stdout == b"".join(each.json_lines() for each in batches)


def test_the_newest_index_says_where_to_go_on(tmp_path: Path) -> None:
    write_files(tmp_path, [1, 2], [3])
    out = outlet(tmp_path)
    assert out.open() == place(3)
    out.write(rows(4))
    out.commit(place(3), place(4, 2))
    out.close()
    assert [index["number"] for index in indexes(tmp_path / "n1")] == [1, 2, 3]
    assert values_of(tmp_path / "n1") == [1, 2, 3, 4]
    assert stands(tmp_path) == place(4, 2)


def test_a_place_without_rows_makes_no_file(tmp_path: Path) -> None:
    out = outlet(tmp_path)
    out.open()
    out.commit(None, place(1))
    out.commit(place(1), place(2))
    out.write(rows(3))
    out.commit(place(2), place(3))
    out.commit(place(3), place(4, 5))
    out.close()
    found = indexes(tmp_path / "n1")
    assert [(each["number"], each["data"], each["offset"]["o"]) for each in found] == [
        (0, "", 2), (1, "data-000000000001.jsonl.zst", 4)
    ]  # fmt: skip
    assert stands(tmp_path) == place(4, 5)
    assert values_of(tmp_path / "n1") == [3]


def test_arrow(tmp_path: Path) -> None:
    out = outlet(tmp_path, format="arrow")
    out.open()
    held = [out.write(rows(at)) for at in range(100)]
    assert held == sorted(held)
    out.commit(None, place(100))
    out.close()
    (index,) = indexes(tmp_path / "n1")
    assert (index["data"], index["rows"], index["format"]) == ("data-000000000001.arrow", 100, "arrow")
    table = pa.ipc.open_file(tmp_path / "n1" / index["data"]).read_all()
    assert table.schema == arrow_schema()
    assert table.column("offset").to_pylist() == list(range(100))
    # Single rows would have a record batch each.
    assert len(table.to_batches()) == 1


def test_envelopes_are_lines(tmp_path: Path) -> None:
    out = outlet(tmp_path, format="debezium")
    out.open()
    began = time.time() * 1000
    out.write(batch(row(), row(op="delete_row", columns=None, event_id="local:1795259642879:28:1")))
    out.commit(None, place(1))
    out.close()
    (index,) = indexes(tmp_path / "n1")
    assert (index["format"], index["data"], index["rows"]) == ("debezium", "data-000000000001.jsonl.zst", 2)
    insert, delete = lines_of(tmp_path / "n1")
    assert began - 1 <= insert["ts_ms"] <= time.time() * 1000
    key = {"id": 17, "at": "a"}
    assert (insert["op"], insert["before"], insert["after"]) == ("c", None, {**key, "state": "new", "total": 12.5})
    assert (delete["op"], delete["before"], delete["after"]) == ("d", key, None)
    assert (insert["source"]["event_id"], insert["source"]["partial"]) == ("local:1795259642879:28:0", True)


def test_envelopes_with_their_schema(tmp_path: Path) -> None:
    out = outlet(tmp_path, format="debezium", with_schema=True)
    out.open()
    out.write(batch(row(columns="{}")))
    out.commit(None, place(1))
    out.close()
    (line,) = lines_of(tmp_path / "n1")
    assert line["payload"]["after"] == {"id": 17, "at": "a"}
    assert line["schema"]["type"] == "struct"


def test_a_batch_that_no_envelope_can_say(tmp_path: Path) -> None:
    """What was written before it is committed; of itself there is nothing."""
    by_element = row(table="notes", table_id="00", columns='{"tags":{"replaced":false,"put":["x"]}}')
    for number, good in enumerate(([], [row()])):
        out = outlet(tmp_path / str(number), format="debezium")
        out.open()
        for each in good:
            out.write(batch(each))
        with pytest.raises(DefinitionError, match=r"shop\.notes"):
            out.write(batch(by_element))
        out.commit(None, place(1))
        out.close()
        assert [index["rows"] for index in indexes(tmp_path / str(number) / "n1")] == [len(good)]
        assert len(lines_of(tmp_path / str(number) / "n1")) == len(good)
        assert not list((tmp_path / str(number) / "n1").glob("*.new"))


def test_a_form_that_files_do_not_have(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected --format rows or debezium .*found debezium-avro"):
        outlet(tmp_path, format="debezium-avro")


def test_what_was_not_committed_is_gone(tmp_path: Path) -> None:
    write_files(tmp_path, [1])
    out = outlet(tmp_path)
    out.open()
    out.write(rows(2, 3))
    out.close()
    assert names(tmp_path / "n1") == {"data-000000000001.jsonl.zst", "data-000000000001.idx.json"}


def test_what_a_kill_left_is_taken_away(tmp_path: Path) -> None:
    write_files(tmp_path, [1])
    folder = tmp_path / "n1"
    for name in ("data-000000000002.jsonl.zst", "data-000000000003.rows.new", "data-000000000001.idx.json.new"):
        (folder / name).write_bytes(b"half")
    (folder / "notes.txt").write_text("somebody's own")
    write_files(tmp_path, [2])
    assert names(folder) == {
        "data-000000000001.jsonl.zst", "data-000000000001.idx.json", "data-000000000002.jsonl.zst",
        "data-000000000002.idx.json", "notes.txt",
    }  # fmt: skip
    assert values_of(folder) == [1, 2]


def test_data_behind_the_newest_index_is_nobodys_to_take_away(tmp_path: Path) -> None:
    write_files(tmp_path, [1], [2], [3])
    for number in (2, 3):
        (tmp_path / "n1" / f"data-{number:012}.idx.json").unlink()
    with pytest.raises(RefusedError, match=r"without an index.*data-000000000003") as caught:
        stands(tmp_path)
    assert caught.value.code == 6
    assert (tmp_path / "n1" / "data-000000000003.jsonl.zst").exists()


def test_whoever_moves_files_away_may(tmp_path: Path) -> None:
    """The newest index alone is needed."""
    write_files(tmp_path, [1], [2])
    for path in (tmp_path / "n1").iterdir():
        if path.name not in ("lock", "data-000000000002.idx.json"):
            path.unlink()
    write_files(tmp_path, [3])
    assert names(tmp_path / "n1") == {
        "data-000000000002.idx.json", "data-000000000003.jsonl.zst", "data-000000000003.idx.json"
    }  # fmt: skip


def test_a_second_writer_is_shut_out(tmp_path: Path) -> None:
    first = outlet(tmp_path)
    first.open()
    with pytest.raises(RefusedError, match=r"written here by process \d+") as caught:
        stands(tmp_path)
    assert caught.value.code == 6
    other = outlet(tmp_path, key=OutletKey("5f4e", "n2", "billing"))
    assert other.open() is None
    first.close()
    assert stands(tmp_path) is None
    other.close()


def test_another_logs_files_are_not_gone_on_with(tmp_path: Path) -> None:
    write_files(tmp_path, [1])
    for key in (KEY._replace(folder="0000"), KEY._replace(consumer="other")):
        out = outlet(tmp_path, key=key)
        with pytest.raises(RefusedError, match="another log or consumer") as caught:
            out.open()
        assert caught.value.code == 6
        out.close()


def test_an_index_that_came_from_elsewhere_is_not_overwritten(tmp_path: Path) -> None:
    """As on a file system whose locks hold nobody."""
    out = outlet(tmp_path)
    out.open()
    out.write(rows(1))
    (tmp_path / "n1" / "data-000000000001.idx.json").write_text("{}")
    with pytest.raises(RefusedError, match="somebody else has written"):
        out.commit(None, place(1))
    with pytest.raises(RefusedError, match="somebody else has written"):
        out.commit(place(7), place(8))
    out.close()


class FullDisk:
    """Takes so many bytes of data files, and no more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        real = NewFile.write

        def write(file: NewFile, data: Any) -> int:
            self.room -= memoryview(data).nbytes
            if self.room < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(file, data)

        monkeypatch.setattr(NewFile, "write", write)


@pytest.mark.parametrize("form", ["rows", "arrow"])
@pytest.mark.parametrize("room", [0, 500, 3000])
def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, room: int) -> None:
    write_files(tmp_path, [1], format=form)
    before = sorted(names(tmp_path / "n1"))
    with monkeypatch.context() as full:
        FullDisk(full, room)
        out = outlet(tmp_path, format=form)
        before_that = out.open()
        with pytest.raises(SystemFailedError, match="No space left on device") as caught:  # noqa: PT012
            for at in range(0, 100_000, 1000):
                out.write(rows(*range(at, at + 1000)))
            out.commit(before_that, place(7))
        assert caught.value.code == 8
        # Half of a batch may be in the file: it is never taken for whole.
        with pytest.raises(SystemFailedError, match="No space left on device"):
            out.commit(before_that, place(7))
        out.close()
    assert sorted(names(tmp_path / "n1")) == before
    assert stands(tmp_path, format=form) == place(1)


def test_a_sync_that_fails_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = outlet(tmp_path)
    out.open()
    out.write(rows(1))

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(new_file.os, "fsync", fail)
    with pytest.raises(SystemFailedError, match="Input/output error"):
        out.commit(None, place(1))
    out.close()
    monkeypatch.undo()
    assert stands(tmp_path) is None


def test_an_index_of_another_version(tmp_path: Path) -> None:
    write_files(tmp_path, [1])
    path = tmp_path / "n1" / "data-000000000001.idx.json"
    held = json.loads(path.read_text())
    path.write_text(json.dumps({**held, "v": 2}))
    with pytest.raises(RefusedError, match=r"version of the index.*expected 1, found 2"):
        stands(tmp_path)
    # A field that is not known here is passed over.
    path.write_text(json.dumps({**held, "more": [1]}))
    assert json.loads((found := stands(tmp_path)).offset) == {"j": 0, "s": 1700000000001, "o": 1}
    assert found.generation == 1
    path.write_text("{")
    with pytest.raises(RefusedError, match="cannot be read"):
        stands(tmp_path)


def test_when_files_are_rolled(tmp_path: Path) -> None:
    assert outlet(tmp_path, roll_bytes=5, roll_seconds=2.5).bounds == Bounds(None, 5, 2.5)
    assert outlet(tmp_path).name == f"files:{tmp_path}"
    with pytest.raises(UsageError, match="files:DIR"):
        open_outlet("files:", {}, None)  # type: ignore[arg-type]


def test_held_bytes_grow_with_what_is_written(tmp_path: Path) -> None:
    out = outlet(tmp_path)
    out.open()
    held = [out.write(rows(*range(at, at + 200))) for at in range(0, 20_000, 200)]
    assert held[0] > 0
    # What is compressed counts as it is in the file: far less than it was.
    assert 10_000 < held[-1] < 1_500_000
    out.close()
