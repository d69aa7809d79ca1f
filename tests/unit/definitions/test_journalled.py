"""Definitions out of journals that others write meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path

from tailer.definitions.journalled import JournalledTables
from tailer.definitions.learning import Definitions
from tailer.position import Position
from tailer.schema.builtin import builtin_definitions
from tailer.schema.selection import Selection
from tailer.state.folder_journal import FolderJournal
from tailer.state.home import FolderHome
from tailer.state.journal_records import OwnSchemaRecord
from tests.unit.schema.made import ID_A, ID_B, SIMPLE, create, data


def journal(state: Path, id: str, ts: int, **columns: str) -> None:
    known = Definitions(FolderJournal(state), Selection(), tolerant=False)
    known.add(
        create("t", id, ts, SIMPLE | {name: data(type_) for name, type_ in columns.items()}), "log", Position(7, ts)
    )


def columns(tables: JournalledTables, id: str) -> list[str] | None:
    found = tables.definition(id)
    return None if found is None else sorted(column.name for column in found.columns)


def test_what_is_journalled_while_rows_come_is_found(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    tables = JournalledTables([FolderHome(tmp_path, one), FolderHome(tmp_path, other)])
    assert columns(tables, ID_A) is None
    assert list(tmp_path.iterdir()) == []
    journal(one, ID_A, 10)
    journal(other, ID_B, 20)
    assert (columns(tables, ID_A), columns(tables, ID_B)) == (["id", "v"], ["id", "v"])
    journal(one, ID_A, 30, w="int")
    assert columns(tables, ID_A) == ["id", "v", "w"]
    shutil.rmtree(one)
    journal(one, ID_A, 40, x="int")
    assert columns(tables, ID_A) == ["id", "v", "x"]


def test_the_server_s_own_tables_need_no_journal(tmp_path: Path) -> None:
    (id,) = [id for id, held in builtin_definitions().items() if held.name == "system.local"]
    assert "truncated_at" in (columns(JournalledTables([FolderHome(tmp_path, tmp_path)]), id) or [])


def test_definitions_of_one_consumer_are_told_to_it_alone(tmp_path: Path) -> None:
    one = tmp_path / "one"
    deltas = tuple(create("t", ID_A, 10, SIMPLE))
    FolderJournal(one).append([OwnSchemaRecord(at=Position(7, 0), source="file x", deltas=deltas, consumer="c")])
    homes = [FolderHome(tmp_path, one)]
    assert columns(JournalledTables(homes), ID_A) is None
    assert columns(JournalledTables(homes, "d"), ID_A) is None
    assert columns(JournalledTables(homes, "c"), ID_A) == ["id", "v"]
