"""What a Delta table says of a position, who else may write to it, and what it is refused for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tailer.errors import RefusedError
from tailer.sinks.database.columns import target_form
from tailer.sinks.deltalake.folder import DeltaFolder
from tailer.sinks.deltalake.place_text import app_of, find, text_of
from tailer.sinks.outlet import OutletKey, Place, TargetAwayError
from tests.unit.sinks.database.followed import follow, log, values
from tests.unit.sinks.database.targets import Deltalake

ALL = list(range(1, 21))


@pytest.fixture
def target(tmp_path: Path) -> Deltalake:
    return Deltalake(tmp_path)


def test_once_and_not_again(target: Deltalake, tmp_path: Path) -> None:
    folder = log(tmp_path)
    for _ in range(2):
        assert follow(folder, target).code == 0
        assert values(target) == ALL


def test_others_may_write_beside_it(target: Deltalake, tmp_path: Path) -> None:
    """Their commits stand between ours; the position is found behind them."""
    folder = log(tmp_path)
    assert follow(folder, target, "--until", "1700000000001:0").code == 0
    theirs = pa.table({"event_id": ["theirs"], "columns": ['{"v":0}'], "segment": [0], "offset": [0], "row": [0]})
    write_deltalake(target.folder, theirs, mode="append", schema_mode="merge")
    assert follow(folder, target).code == 0
    assert values(target) == [0, *ALL]


def test_a_second_one_under_the_same_name_is_shut_out(tmp_path: Path) -> None:
    """Both stand where the first commit is to be: the later one learns of it."""
    one, other = (DeltaFolder(tmp_path / "changes", target_form(None)) for _ in range(2))
    app, place = app_of(OutletKey("folder", "n1", "c")), Place("{}", 1)
    for each in (one, other):
        each.open()
    one.append(None, app, 1, text_of(app, 1, place))
    with pytest.raises(RefusedError, match="somebody else"):
        other.append(None, app, 1, text_of(app, 1, place))
    assert DeltaTable(tmp_path / "changes").transaction_version(app) == 1


def test_the_name_of_an_application_stays_as_it_is() -> None:
    """By another one a later version would not find where it stood, and write all again."""
    assert app_of(OutletKey("5a1f", "n1", "orders")) == "cdc-tail:5a1f:n1:orders"


def appended(folder: DeltaFolder, number: int) -> None:
    app = app_of(OutletKey("folder", "n1", "c"))
    folder.append(None, app, number, text_of(app, number, Place("{}", number)))


def test_a_disk_that_is_taken_away_leaves_no_commit_in_its_place(tmp_path: Path) -> None:
    """What is below a mount point is no table: what was written there would be hidden once the disk is back."""
    table, aside = tmp_path / "changes", tmp_path / "aside"
    folder = DeltaFolder(table, target_form(None))
    folder.open()
    appended(folder, 1)
    table.rename(aside)
    table.mkdir()
    (table / "_delta_log").mkdir()
    for again in (lambda: appended(folder, 2), folder.open):
        with pytest.raises(TargetAwayError, match="is gone"):
            again()
    (table / "_delta_log").rmdir()
    table.rmdir()
    aside.rename(table)
    folder.open()
    appended(folder, 2)
    assert DeltaTable(table).version() == 2


def test_a_disk_that_is_taken_away_during_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, aside = tmp_path / "changes", tmp_path / "aside"
    folder = DeltaFolder(table, target_form(None))
    folder.open()
    appended(folder, 1)
    commit = DeltaTable.create_write_transaction

    def taken_before(self: DeltaTable, *arguments: object, **more: object) -> None:
        table.rename(aside)
        commit(self, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(DeltaTable, "create_write_transaction", taken_before)
    with pytest.raises(TargetAwayError, match="is gone"):
        appended(folder, 2)
    monkeypatch.undo()
    aside.rename(table)
    folder.open()
    appended(folder, 2)
    assert (DeltaTable(table).version(), len(list((table / "_delta_log").glob("*.json")))) == (2, 3)


def test_another_table_in_its_place_is_another_one(tmp_path: Path) -> None:
    table = tmp_path / "changes"
    folder = DeltaFolder(table, target_form(None))
    folder.open()
    table.rename(tmp_path / "aside")
    DeltaFolder(table, target_form(None)).open()
    with pytest.raises(TargetAwayError, match="is gone"):
        folder.open()


def test_a_position_is_of_one_application_and_number() -> None:
    app, place = app_of(OutletKey("folder", "n1", "c")), Place('{"s":1}', 2)
    history = [{"version": 9}, {"cdcTail": text_of(app, 3, place)}, {"cdcTail": text_of(app, 2, Place("{}", 1))}]
    assert find(history, app, 3) == place
    assert find(history, app, 4) is None
    assert find(history, app_of(OutletKey("folder", "n1", "other")), 3) is None


OTHERS = {
    "partitioned": lambda path: DeltaTable.create(path, target_form(None).schema, partition_by=["table"]),
    "event_id": lambda path: DeltaTable.create(path, pa.schema([("op", pa.string())])),
    "segment": lambda path: DeltaTable.create(path, pa.schema([("event_id", pa.string()), ("segment", pa.string())])),
    "null": lambda path: DeltaTable.create(path, pa.schema([pa.field("event_id", pa.string(), nullable=False)])),
}


@pytest.mark.parametrize("reason", OTHERS)
def test_a_table_of_another_shape(reason: str, target: Deltalake, tmp_path: Path) -> None:
    OTHERS[reason](target.folder)
    ran = follow(log(tmp_path), target)
    assert ran.code == 7
    assert reason in ran.err


def test_wrong_usage(target: Deltalake, tmp_path: Path) -> None:
    folder = log(tmp_path)
    for more, told in (["--into", "t"], "--into"), (["--mode", "table"], "whole rows"):
        ran = follow(folder, target, *more)
        assert (ran.code, told in ran.err) == (2, True)
    target.folder.mkdir()
    (target.folder / "mine.txt").write_text("no table")
    assert follow(folder, target).code == 2


def test_a_table_that_is_gone(target: Deltalake, tmp_path: Path) -> None:
    folder = log(tmp_path)
    assert follow(folder, target).code == 0
    target.folder.rename(tmp_path / "elsewhere")
    assert follow(folder, target).code == 6
