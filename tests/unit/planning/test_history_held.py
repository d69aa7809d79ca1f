"""Which tables a folder has every change of, as readers are told and the current state asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tailer
from tailer.errors import LossError
from tailer.schema.rows import SchemaDelta
from tailer.spark.known_table import find_table
from tests.conftest import FreshFolder
from tests.helpers.asked_server import AskedServer
from tests.helpers.cleaned_log import FIRST, ONE, cleaned, follow, log, row
from tests.helpers.log_writer import (
    PLAIN,
    TS,
    Format,
    LogFolder,
    alter_payload,
    completed,
    create_payload,
    segment_of,
    simple_table,
)
from tests.helpers.logs.model import Column
from tests.helpers.logs.native import NativeWriter
from tests.native.logs import ORDERS, folder_of, put
from tests.unit.definitions.test_durability import keyspace


def read(folder: Path, **options: object) -> list[str]:
    """What is said while all that is there is read."""
    opened = tailer.open(folder, **options)
    for _ in opened.read():
        pass
    return opened.notices


def refusal(folder: Path | str, table: str, **options: str) -> str:
    with pytest.raises(LossError) as caught:
        find_table(folder, table, {"stopped": "true", **options}).check()
    return caught.value.sentence()


def test_a_whole_log_is_read_without_a_word(tmp_path: Path) -> None:
    folder = log(tmp_path).path
    assert read(folder) == []
    for table in ("shop.orders", "shop.items"):
        find_table(folder, table, {}).check()


def test_what_clean_took_is_told(tmp_path: Path) -> None:
    folder = log(tmp_path).path
    follow(folder)
    cleaned(folder)
    told = refusal(folder, "shop.orders")
    assert f"begins at segment {ONE + 4}, and `clean` took 4 segments ({ONE} to {ONE + 3})" in told
    assert "partial=True" in told
    # Made in segment 2: what went before says nothing of it.
    assert f"`clean` took 2 segments ({ONE + 2} to {ONE + 3})" in refusal(folder, "shop.items")
    notices = read(folder)
    assert len(notices) == 1
    assert notices[0].startswith("changes of shop.items, shop.orders may be missing: the folder begins at segment ")


def test_a_table_that_was_made_behind_what_clean_took_is_whole(tmp_path: Path) -> None:
    made = log(tmp_path)
    follow(made.path)
    cleaned(made.path)
    third = simple_table("shop", "notes", 3)
    later = segment_of(ONE + 5, [[create_payload(third), row(third, 9)]])
    made.put(later, completed(later))
    find_table(made.path, "shop.notes", {}).check()
    assert read(made.path, tables=["shop.notes"]) == []


def test_a_segment_that_somebody_else_took(tmp_path: Path) -> None:
    made = log(tmp_path)
    follow(made.path)
    for file in made.path.glob(f"*{ONE + 3}*"):
        file.unlink()
    assert f"somebody else took segment {ONE + 3}" in refusal(made.path, "shop.orders")
    assert any("somebody else took" in notice for notice in read(made.path))


def test_a_log_that_begins_in_the_middle(tmp_path: Path) -> None:
    """Nothing was read there before: the definition comes from a file, and nothing tells when the table was made."""
    made = log(tmp_path)
    for number in (0, 1):
        for file in made.path.glob(f"*{ONE + number}*"):
            file.unlink()
    schema = tmp_path / "schema.cql"
    schema.write_text(
        f"CREATE TABLE shop.orders (pk int, ck text, v int, PRIMARY KEY (pk, ck)) WITH ID = {FIRST.id} AND cdc = true;"
    )
    told = refusal(made.path, "shop.orders", schemaFile=str(schema))
    assert f"begins at segment {ONE + 2}, and what was written before it is not known" in told
    find_table(made.path, "shop.items", {"schemaFile": str(schema)}).check()
    notices = read(made.path, schema_file=schema)
    assert notices == [
        "changes of shop.orders may be missing: "
        f"the folder begins at segment {ONE + 2}, and what was written before it is not known"
    ]


def test_a_creation_that_is_known_and_not_there(tmp_path: Path) -> None:
    """Its segment captured nothing and was the server's to delete; what else went by then, nobody may know any more."""
    made = LogFolder(tmp_path / "cdc_raw")
    creation = segment_of(ONE, [[create_payload(FIRST)]])
    made.put(creation)
    segment = segment_of(ONE + 1, [[row(FIRST, 1)]])
    made.put(segment, completed(segment))
    find_table(made.path, "shop.orders", {}).check()
    follow(made.path)
    made.remove(creation)
    assert f"begins at segment {ONE + 1}, and what was written before it is not known" in refusal(
        made.path, "shop.orders"
    )


def test_a_file_and_the_log_tell_of_a_table_that_is_whole(tmp_path: Path) -> None:
    folder = log(tmp_path).path
    schema = tmp_path / "schema.cql"
    schema.write_text(
        f"CREATE TABLE shop.orders (pk int, ck text, v int, PRIMARY KEY (pk, ck)) WITH ID = {FIRST.id} AND cdc = true;"
    )
    find_table(folder, "shop.orders", {"schemaFile": str(schema)}).check()


def test_an_alter_is_no_beginning(tmp_path: Path) -> None:
    made = LogFolder(tmp_path / "cdc_raw")
    wider = Column("w", "regular", "int")
    segment = segment_of(ONE, [[alter_payload(FIRST, wider, TS), row(FIRST, 1)]])
    made.put(segment, completed(segment))
    schema = tmp_path / "schema.cql"
    schema.write_text(
        f"CREATE TABLE shop.orders (pk int, ck text, v int, PRIMARY KEY (pk, ck)) WITH ID = {FIRST.id} AND cdc = true;"
    )
    assert "is not known" in refusal(made.path, "shop.orders", schemaFile=str(schema))


def test_a_table_that_did_not_capture_for_a_time(fresh_folder: FreshFolder) -> None:
    """Its second row was written then, as `SELECT` showed, and is in no change."""
    told = refusal(fresh_folder("50-cases"), "cdc.toggled")
    assert "Changes of cdc.toggled may be missing: it did not capture (cdc = false) until" in told


class TestOfAKeyspaceWithoutDurableWrites:
    """ALTER KEYSPACE … WITH durable_writes: no change that is written meanwhile is in the log."""

    def folder(self, path: Path, *statements: bytes, created: int = 0) -> Path:
        """The table's CREATE stands behind so many of the statements."""
        made = LogFolder(path / "cdc_raw")
        entries = [*statements[:created], create_payload(FIRST), row(FIRST, 1), *statements[created:]]
        segment = segment_of(ONE, [entries])
        made.put(segment, completed(segment))
        return made.path

    def test_the_log_says_so(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, keyspace("shop", False, TS + 1), keyspace("bank", False, TS + 1))
        told = refusal(folder, "shop.orders")
        assert "Changes of shop.orders may be missing: keyspace shop has durable_writes = false" in told
        assert "ALTER KEYSPACE shop WITH durable_writes = true" in told
        assert "partial=True" in told

    def test_for_a_time(self, tmp_path: Path) -> None:
        altered = keyspace("shop", False, TS + 1), keyspace("shop", True, TS + 2)
        assert "keyspace shop had durable_writes = false for a time" in refusal(
            self.folder(tmp_path / "a", *altered), "shop.orders"
        )
        find_table(self.folder(tmp_path / "b", *altered, created=2), "shop.orders", {}).check()
        assert "for a time" in refusal(self.folder(tmp_path / "c", *altered, created=1), "shop.orders")

    def test_of_another_keyspace(self, tmp_path: Path) -> None:
        find_table(self.folder(tmp_path, keyspace("bank", False, TS + 1)), "shop.orders", {}).check()

    def test_the_server_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        server = AskedServer(monkeypatch)
        server.knows(FIRST)
        server.also(SchemaDelta("keyspaces", "shop", (), {"durable_writes": (TS + 9, False)}, TS + 9))
        told = refusal(self.folder(tmp_path), "shop.orders", server="db")
        assert "keyspace shop has durable_writes = false" in told


@pytest.mark.parametrize("name", ["50-cases", "40-cases", "50-torn"])
def test_recorded_logs_are_whole(fresh_folder: FreshFolder, name: str) -> None:
    folder = fresh_folder(name)
    assert not [notice for notice in read(folder, stopped=True) if "may be missing" in notice]
    find_table(folder, "cdc.lwt", {}).check()


class TestNative:
    def writers(self, form: Format = PLAIN) -> list[NativeWriter]:
        made = [NativeWriter(7, form=form), NativeWriter(8)]
        for number, writer in enumerate(made):
            writer.section([ORDERS.definition, put(number, "x")])
        return made

    def test_the_log_from_its_first_segment_on(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path, *self.writers())
        find_table(folder, "shop.orders", {}).check()
        assert read(folder) == []

    def test_what_its_limit_took(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path, *self.writers())
        (folder / "DROPPED").write_text("6\n")
        assert "the log's limit took what was up to segment 6" in refusal(folder, "shop.orders")

    def test_a_segment_that_names_another_before_it(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path, *self.writers(replace(PLAIN, parameters={"previous": 6})))
        assert "begins at segment 7, and what was written before it is not known" in refusal(folder, "shop.orders")
        assert len(read(folder)) == 1
