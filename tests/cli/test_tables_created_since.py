"""`cdc-tail follow --image` and `compare --mend`: tables that are created while it runs. The server is a stand-in."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tailer.image_state import mend_requests
from tailer.image_state.mend_requests import MendRow
from tailer.tail.snapshot import rereading
from tailer.tail.snapshot.beside import Beside
from tailer.tail.snapshot.nodes import Nodes
from tests.cli.test_definition_faults import Log
from tests.helpers.asked_server import AskedServer
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import TS, create_table, insert, simple_table

T, LATER = simple_table("ks", "t"), simple_table("ks", "later", 2)


@pytest.fixture
def mended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables of which rows were read again."""
    found: list[str] = []

    def of_table(self: Any, table: Any, due: Any, session: Any) -> None:
        name = table.facts.table.name
        found.append(name)
        if name == "ks.later" or "ks.later" in found:
            self._forget(due)

    monkeypatch.setattr(rereading.Rereading, "_of_table", of_table)
    monkeypatch.setattr(rereading, "_at", lambda each: 0)
    monkeypatch.setattr(rereading, "open_session", lambda server: nullcontext())
    monkeypatch.setattr(rereading, "raw", lambda session: session)
    monkeypatch.setattr(Nodes, "ask", lambda self: None)
    return found


@pytest.mark.parametrize("to", [[], ["--to", "sqlite:{}", "--into", "images"]])
def test_rows_of_a_table_that_was_created_since_are_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mended: list[str], to: list[str]
) -> None:
    server, log, state = AskedServer(monkeypatch), Log(tmp_path), tmp_path / "images"
    server.knows(T)
    log.write(create_table(T, TS), insert(T, 1, "a", 1, TS + 1))
    begin, look, asked = Beside.begin, Beside.look, list[str]()

    def begins(self: Beside, tail: Any) -> None:
        """The run has the log open: from here on there is another table."""
        begin(self, tail)
        if not asked:
            asked.append("created")
            server.knows(T, LATER)
            log.write(create_table(LATER, TS + 10), insert(LATER, 1, "a", 1, TS + 11))

    def looks(self: Beside) -> None:
        """The images have its row."""
        if len(asked) == 1 and self._run.stream.definition(LATER.id.hex) is not None:
            asked.append("left")
            mend_requests.leave(state, LATER.id.hex, (MendRow(b"12345678" + b"k", b"row", b""),))
        look(self)

    monkeypatch.setattr(Beside, "begin", begins)
    monkeypatch.setattr(Beside, "look", looks)
    words = ["--once", "--consumer", "c", "--image", "after", "--image-state", str(state), "--server", "db"]
    state.mkdir()
    mend_requests.leave(state, T.id.hex, (MendRow(b"12345678" + b"k", b"row", b""),))
    result = run_cli(["follow", log.path, *words, *(word.format(tmp_path / "kept") for word in to)])
    assert (result.code, {*mended}) == (0, {"ks.t", "ks.later"}), result.err
    assert "ks.later: 1 rows are read again from the server" in result.err
