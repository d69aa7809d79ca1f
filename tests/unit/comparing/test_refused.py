"""A table that the server refuses to read by the definition of its images: a sentence and exit 3."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from cassandra import InvalidRequest

from tailer.comparing import run
from tailer.errors import DefinitionError
from tailer.rebuild import Table
from tailer.schema.model import Column, TypeField
from tailer.types import murmur3_token
from tests.helpers.log_writer import i32
from tests.helpers.raw_server import INT, TEXT, RawServer, udt
from tests.unit.images.told import definition
from tests.unit.tail.test_mend_requests import TABLE, state, write


class Refusing:
    """A session whose server knows a column no more."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **more: self

    def execute(self, *given: Any, **more: Any) -> Any:
        raise InvalidRequest("Undefined column name v")

    execute_async = execute


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state; the server is asked for nothing but rows."""
    monkeypatch.setattr(run, "_place", lambda session, server: None)
    monkeypatch.setattr(run, "ring_ranges", lambda place: [(-(2**63), 2**63 - 1)])
    monkeypatch.setattr(run, "_check_same", lambda session, server, table: None)
    monkeypatch.setattr(run, "is_durable", lambda session, keyspace: True)
    with state(tmp_path / "images") as stream:
        write(stream)
        return Path(stream.where)


def refusal(where: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The sentence of exit 3."""
    monkeypatch.setattr(run, "open_session", lambda server: nullcontext(session))
    server: Any = None
    with pytest.raises(DefinitionError) as raised:
        run.compare(where, server, TABLE.name, "ONE", 0.0)
    assert raised.value.code == 3
    return raised.value.sentence()


def test_what_the_server_refuses_is_named(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = refusal(where, Refusing(), monkeypatch)
    assert sentence.startswith(
        f"{TABLE.name} cannot be compared: the server refuses to read it by the definition that its images have: found "
    )
    assert "Undefined column name v" in sentence


@pytest.mark.parametrize("value", [b"abcd", b"\xff"])
def test_a_column_that_has_another_type_on_the_server(
    where: Path, monkeypatch: pytest.MonkeyPatch, value: bytes
) -> None:
    """It was dropped and added again, and the images have not heard of that. No value is read by the older type."""
    types = {"k": INT, "x": INT, "s": INT, "v": TEXT, "w": INT}
    row = {column: i32(1) for column in types} | {"v": value}
    sentence = refusal(where, RawServer(types, [row]), monkeypatch)
    assert sentence.startswith(f"{TABLE.name} cannot be compared: the server has another type of a column than ")
    assert f"expected int in {TABLE.name}, column v, found text" in sentence


def test_a_value_with_more_fields_than_images_know(
    where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ALTER TYPE added one, and the images have not heard of that."""
    types = {"u": (TypeField("a", "int"),)}
    table = Table.of(definition(Column("v", "regular", "frozen<u>"), types=types))
    monkeypatch.setattr("tests.unit.tail.test_mend_requests.TABLE", table)
    with state(tmp_path / "other") as stream:
        write(stream, v={"a": 5})
        other = Path(stream.where)
    more = {"k": INT, "x": INT, "v": udt("u", {"a": INT, "b": INT})}
    token = murmur3_token(i32(1)).to_bytes(8, "big", signed=True)
    row = {'token("k")': token, "k": i32(1), "x": i32(1), "v": 2 * (i32(4) + i32(7))}
    sentence = refusal(other, RawServer(more, [row]), monkeypatch)
    assert sentence.startswith(f"{TABLE.name} cannot be compared: the server has a value that does not fit ")
    assert f"expected frozen<u> in {TABLE.name}, column v" in sentence
