"""Data files as programs read them: `tailer.data_files`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailer
from tailer.errors import CorruptError, LossError, UsageError
from tailer.sinks.files import series
from tests.helpers.data_files import KEY, outlet, place, rows, write_files


def test_files_node_by_node(tmp_path: Path) -> None:
    write_files(tmp_path, [1, 2], [3])
    write_files(tmp_path, [7], key=KEY._replace(node="n0"))
    (tmp_path / "empty").mkdir()
    found = [(file.node, file.index.number, file.index.rows) for file in tailer.data_files(tmp_path)]
    assert found == [("n0", 1, 1), ("n1", 1, 2), ("n1", 2, 1)]
    assert [file.index.number for file in tailer.data_files(str(tmp_path), after={"n1": 1, "n0": 1})] == [2]


def test_lines_and_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "_READ_BYTES", 100)
    write_files(tmp_path / "lines", list(range(1, 50)))
    (file,) = tailer.data_files(tmp_path / "lines")
    file.check()
    assert [json.loads(line)["columns"]["v"] for line in file.lines()] == list(range(1, 50))
    assert b"\n".join([*file.lines(), b""]) == rows(*range(1, 50)).json_lines()
    with pytest.raises(UsageError, match="no Arrow"):
        next(file.batches())
    write_files(tmp_path / "arrow", list(range(1, 50)), format="arrow")
    (file,) = tailer.data_files(tmp_path / "arrow")
    assert [value for batch in file.batches() for value in batch.column("offset").to_pylist()] == list(range(1, 50))
    with pytest.raises(UsageError, match="no lines"):
        next(file.lines())


def test_a_place_without_rows_is_no_file(tmp_path: Path) -> None:
    out = outlet(tmp_path)
    out.open()
    out.commit(None, place(1))
    out.close()
    assert list(tailer.data_files(tmp_path)) == []


def test_what_is_not_as_its_index_says(tmp_path: Path) -> None:
    write_files(tmp_path, [1], [2])
    first, second = tailer.data_files(tmp_path)
    first.path.write_bytes(first.path.read_bytes()[:-1])
    with pytest.raises(CorruptError, match="not what its index says"):
        first.check()
    second.path.unlink()
    for reading in (second.check, lambda: list(second.lines())):
        with pytest.raises(LossError, match="gone that its index names"):
            reading()
    found = tailer.data_files(tmp_path)
    next(found)
    (tmp_path / "n1" / "data-000000000002.idx.json").unlink()
    with pytest.raises(LossError, match="removed before it was read"):
        next(found)
    with pytest.raises(UsageError, match="one node's data files"):
        next(tailer.data_files(tmp_path / "n1"))
