"""A table that the server refuses to read by the definition of its images: a sentence and exit 3."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from cassandra import InvalidRequest

from tailer.comparing import run
from tailer.errors import DefinitionError
from tests.unit.tail.test_mend_requests import TABLE, state


class Refusing:
    """A session whose server knows a column no more."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **more: self

    def execute(self, *given: Any, **more: Any) -> Any:
        raise InvalidRequest("Undefined column name v")

    execute_async = execute


def test_what_the_server_refuses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "open_session", lambda server: nullcontext(Refusing()))
    monkeypatch.setattr(run, "raw", lambda session: session)
    monkeypatch.setattr(run, "_place", lambda session, server: None)
    monkeypatch.setattr(run, "ring_ranges", lambda place: [(-(2**63), 2**63 - 1)])
    monkeypatch.setattr(run, "_check_same", lambda session, server, table: None)
    monkeypatch.setattr(run, "is_durable", lambda session, keyspace: True)
    server: Any = None
    with state(tmp_path / "images") as stream:
        where = Path(stream.where)
    with pytest.raises(DefinitionError) as raised:
        run.compare(where, server, TABLE.name, "ONE", 0.0)
    assert raised.value.code == 3
    assert raised.value.sentence().startswith(
        f"{TABLE.name} cannot be compared: the server refuses to read it by the definition that its images have: found "
    )
    assert "Undefined column name v" in raised.value.sentence()
