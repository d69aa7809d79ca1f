"""Data files from folder to folder: all of them once, by number, and what is done where the two do not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tailer.errors import CorruptError, LossError, RefusedError, SystemFailedError, UsageError
from tailer.shipping import to_folder
from tailer.shipping.shippers import Shipper, drop, registered
from tailer.sinks.files.new_file import NewFile
from tailer.sinks.files.series import Series
from tests.helpers.data_files import KEY, indexes, place, stands, values_of, write_files
from tests.helpers.shipping import ship


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path / "out", [1, 2], [3], [4, 5])
    return tmp_path / "out"


def numbers(folder: Path) -> list[int]:
    return [index["number"] for index in indexes(folder)]


def test_the_same_files_stand_elsewhere(folder: Path, tmp_path: Path) -> None:
    kept = {path.name: path.read_bytes() for path in (folder / "n1").glob("data-*")}
    assert ship(folder, f"files:{tmp_path / 'two'}") == 3
    assert {path.name: path.read_bytes() for path in (tmp_path / "two" / "n1").glob("data-*")} == kept
    assert numbers(folder / "n1") == [3]
    assert ship(folder, f"files:{tmp_path / 'two'}") == 0
    write_files(folder, [6])
    assert ship(folder, f"files:{tmp_path / 'two'}") == 1
    assert values_of(tmp_path / "two" / "n1") == [1, 2, 3, 4, 5, 6]
    # And on from there, by another shipper.
    assert ship(tmp_path / "two", f"files:{tmp_path / 'three'}") == 4
    assert values_of(tmp_path / "three" / "n1") == [1, 2, 3, 4, 5, 6]


def test_nodes_one_by_one_and_one_that_comes_later(folder: Path, tmp_path: Path) -> None:
    two = f"files:{tmp_path / 'two'}"
    write_files(folder, [11], [12], key=KEY._replace(node="n2"))
    assert ship(folder, two) == 5
    write_files(folder, [21], key=KEY._replace(node="n0"))
    write_files(folder, [13], key=KEY._replace(node="n2"))
    assert ship(folder, two) == 2
    assert {node: values_of(tmp_path / "two" / node) for node in ("n0", "n1", "n2")} == {
        "n0": [21], "n1": [1, 2, 3, 4, 5], "n2": [11, 12, 13]
    }  # fmt: skip


def test_a_place_without_rows_goes_along(tmp_path: Path) -> None:
    write_files(tmp_path / "out", [1])
    folder = tmp_path / "out" / "n1"
    held = json.loads((folder / "data-000000000001.idx.json").read_text())
    first = {**held, "number": 0, "data": "", "rows": 0, "bytes": 0, "sha256": "", "tables": []}
    (folder / "data-000000000000.idx.json").write_text(json.dumps(first))
    assert ship(tmp_path / "out", f"files:{tmp_path / 'two'}") == 2
    assert numbers(tmp_path / "two" / "n1") == [0, 1]
    assert values_of(tmp_path / "two" / "n1") == [1]


def test_two_shippers_each_have_all(folder: Path, tmp_path: Path) -> None:
    assert Shipper(folder, "slow", "nowhere yet").close() is None
    assert ship(folder, f"files:{tmp_path / 'two'}", name="fast") == 3
    # Registered is enough: nothing was removed.
    assert numbers(folder / "n1") == [1, 2, 3]
    assert ship(folder, f"files:{tmp_path / 'three'}", name="slow") == 3
    assert numbers(folder / "n1") == [3]
    assert values_of(tmp_path / "two" / "n1") == values_of(tmp_path / "three" / "n1") == [1, 2, 3, 4, 5]


def test_two_under_one_name_or_into_one_folder_shut_each_other_out(folder: Path, tmp_path: Path) -> None:
    held = Shipper(folder, "ship", "elsewhere")
    with pytest.raises(RefusedError, match="'ship' is in use by process") as caught:
        ship(folder, f"files:{tmp_path / 'two'}")
    assert caught.value.code == 6
    held.close()
    other = to_folder.FolderTarget(tmp_path / "two")
    newest = Series(folder / "n1").newest()
    assert newest is not None
    other.standing(newest)
    with pytest.raises(RefusedError, match="written here by process"):
        ship(folder, f"files:{tmp_path / 'two'}")
    other.close()
    assert ship(folder, f"files:{tmp_path / 'two'}") == 3


def test_what_is_not_whole_is_not_sent(folder: Path, tmp_path: Path) -> None:
    two = tmp_path / "two"
    path = folder / "n1" / "data-000000000002.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptError, match=r"not what its index says.*data-000000000002.jsonl.zst"):
        ship(folder, f"files:{two}")
    path.unlink()
    with pytest.raises(LossError, match=r"gone that its index names.*data-000000000002.jsonl.zst"):
        ship(folder, f"files:{two}")
    (folder / "n1" / "data-000000000002.idx.json").unlink()
    with pytest.raises(LossError, match="not sent is gone: number 2"):
        ship(folder, f"files:{two}")
    assert values_of(two / "n1") == [1, 2]
    drop(folder, "ship")
    with pytest.raises(LossError, match="that it lacks were removed"):
        ship(folder, f"files:{two}", name="anew", keep=9)


def test_a_target_that_was_set_back_or_emptied(folder: Path, tmp_path: Path) -> None:
    two = tmp_path / "two"
    assert ship(folder, f"files:{two}", keep=9) == 3
    for path in (two / "n1").glob("data-000000000003*"):
        path.unlink()
    assert ship(folder, f"files:{two}", keep=9) == 1
    assert values_of(two / "n1") == [1, 2, 3, 4, 5]
    for number in (2, 3):
        for path in (two / "n1").glob(f"data-00000000000{number}*"):
            path.unlink()
    write_files(folder, [6])
    assert ship(folder, f"files:{tmp_path / 'other'}", name="other", keep=9) == 4
    with pytest.raises(RefusedError, match="has none of the data files of node n1"):
        ship(folder, f"files:{tmp_path / 'empty'}")
    # What the target lacks is not removed before it has it again.
    assert ship(folder, f"files:{two}") == 3
    assert values_of(two / "n1") == [1, 2, 3, 4, 5, 6]
    assert numbers(folder / "n1") == [4]
    shutil.rmtree(two)
    with pytest.raises(RefusedError, match="none of the data files") as caught:
        ship(folder, f"files:{two}")
    assert caught.value.code == 6


def test_a_target_that_lacks_what_was_removed(folder: Path, tmp_path: Path) -> None:
    two = tmp_path / "two"
    ship(folder, f"files:{two}")
    for number in (2, 3):
        for path in (two / "n1").glob(f"data-00000000000{number}*"):
            path.unlink()
    with pytest.raises(LossError, match="expected number 2 or a later one, found 1") as caught:
        ship(folder, f"files:{two}")
    assert caught.value.code == 5


def test_data_files_that_were_set_back(folder: Path, tmp_path: Path) -> None:
    two = tmp_path / "two"
    ship(folder, f"files:{two}", keep=9)
    for path in (folder / "n1").glob("data-000000000003*"):
        path.unlink()
    with pytest.raises(RefusedError, match="the shipper is ahead of the data files of node n1"):
        ship(folder, f"files:{two}")
    drop(folder, "ship")
    with pytest.raises(RefusedError, match="is ahead of the data files of node n1"):
        ship(folder, f"files:{two}")


def test_numbers_that_were_given_twice(folder: Path, tmp_path: Path) -> None:
    """The newest index was deleted by hand: what was sent under its number is another file's now."""
    two = tmp_path / "two"
    ship(folder, f"files:{two}", keep=9)
    (folder / "n1" / "data-000000000003.idx.json").unlink()
    write_files(folder, [4, 5, 6], [7])
    with pytest.raises(RefusedError, match=r"numbers were given twice.*data-000000000004") as caught:
        ship(folder, f"files:{two}", keep=9)
    assert caught.value.code == 6


def test_another_logs_files_in_the_target(folder: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "two", [1], key=KEY._replace(folder="0000"))
    with pytest.raises(RefusedError, match="another log or consumer"):
        ship(folder, f"files:{tmp_path / 'two'}")


def test_a_dropped_shipper_holds_nothing(folder: Path, tmp_path: Path) -> None:
    Shipper(folder, "gone", "nowhere").close()
    ship(folder, f"files:{tmp_path / 'two'}")
    assert numbers(folder / "n1") == [1, 2, 3]
    held = Shipper(folder, "gone", "nowhere")
    with pytest.raises(RefusedError, match="in use"):
        drop(folder, "gone")
    held.close()
    drop(folder, "gone")
    assert [each.name for each in registered(folder)] == ["ship"]
    with pytest.raises(UsageError, match=r"no shipper 'gone'.*There are: ship"):
        drop(folder, "gone")
    write_files(folder, [6])
    ship(folder, f"files:{tmp_path / 'two'}")
    assert numbers(folder / "n1") == [4]


def test_a_nodes_own_folder_is_not_what_is_shipped(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"Name the folder above: {folder}"):
        ship(folder / "n1", f"files:{tmp_path / 'two'}")


def test_a_full_disk_at_the_target(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = tmp_path / "two"
    with monkeypatch.context() as full:

        def write(file: NewFile, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        full.setattr(NewFile, "write", write)
        with pytest.raises(SystemFailedError, match="No space left on device") as caught:
            ship(folder, f"files:{two}")
    assert caught.value.code == 8
    assert [path.name for path in (two / "n1").iterdir()] == ["lock"]
    assert ship(folder, f"files:{two}") == 3
    assert stands(two) == place(5)


def test_what_waits_is_not_listed_for_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a target that was away for long there are many files: each costs what one does."""
    write_files(tmp_path / "out", *([number] for number in range(120)))
    listed = []
    names = Series.names

    def counted(series: Series) -> list[str]:
        listed.append(series.folder)
        return names(series)

    monkeypatch.setattr(Series, "names", counted)
    assert ship(tmp_path / "out", f"files:{tmp_path / 'two'}") == 120
    assert listed.count(tmp_path / "out" / "n1") < 40
    assert numbers(tmp_path / "out" / "n1") == [120]
