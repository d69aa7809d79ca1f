"""A server, or what stands before it, that says other things than it did: no row is lost without a word, and no wait
is without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.cli import Result, run_cli
from tests.helpers.cut_proxy import CutProxy
from tests.unit.sinks.database.followed import follow, log, values, words
from tests.unit.sinks.database.targets import Postgresql

ALL = list(range(1, 21))


class Lying(NamedTuple):
    target: Postgresql
    proxy: CutProxy

    def follow(self, folder: Path, *more: str) -> Result:
        command, direct = words(folder, self.target, *more), self.target.to
        command[command.index(direct)] = direct.replace(f":{self.target.server.port}/", f":{self.proxy.port}/")
        command[command.index("--retry-for") + 1] = "2s"
        return run_cli(command)


@pytest.fixture
def lying(postgresql: Postgresql) -> Iterator[Lying]:
    proxy = CutProxy(postgresql.server.port)
    yield Lying(postgresql, proxy)
    proxy.close()


def once(old: bytes, new: bytes, skip: int = 0) -> Callable[[bytes], bytes]:
    """Replaces these bytes, after `skip` times."""
    left = [skip]

    def changed(data: bytes) -> bytes:
        if old not in data:
            return data
        left[0] -= 1
        return data.replace(old, new) if left[0] < 0 else data

    return changed


def test_a_commit_that_was_a_rollback_is_no_commit(lying: Lying, tmp_path: Path) -> None:
    """As a server answers COMMIT where it has given the transaction up: with success, and the word ROLLBACK."""
    folder = log(tmp_path)
    lying.proxy.forth = once(b"COMMIT\0", b"ABORT;\0", skip=1)
    ran = lying.follow(folder, "--commit-rows", "1")
    assert ran.code == 7, ran.err
    assert "ROLLBACK" in ran.err
    # Nothing was taken for delivered.
    assert follow(folder, lying.target).code == 0
    assert values(lying.target) == ALL


@pytest.mark.parametrize(
    "garbage", [b"HTTP/1.1 200 OK\r\n\r\n", b"\0" * 64, b"\xff" * 64, b"E\0\0\0\4", b"T\0\x7f\xff\xff"]
)
@pytest.mark.parametrize("skip", [0, 1, 4])
def test_what_is_no_answer(
    garbage: bytes, skip: int, lying: Lying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is a part of an answer is waited for.
    monkeypatch.setattr("tailer.sinks.database.watched_connection.SILENT_SECONDS", 1.0)
    left = [skip]

    def wrong(data: bytes) -> bytes:
        left[0] -= 1
        return data if left[0] >= 0 else garbage

    lying.proxy.back = wrong
    ran = lying.follow(log(tmp_path))
    assert ran.code == 8, ran.err
    assert "bug" not in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("skip", [6, 12])
def test_an_answer_that_does_not_come(skip: int, lying: Lying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other connections are answered: what is asked there says that nothing is to be expected."""
    monkeypatch.setattr("tailer.sinks.database.watched_connection.SILENT_SECONDS", 1.0)
    left = [skip]

    def silent(data: bytes) -> bytes:
        left[0] -= 1
        return b"" if left[0] == 0 else data

    lying.proxy.back = silent
    folder = log(tmp_path)
    ran = lying.follow(folder)
    assert ran.code == 0, ran.err
    assert "no answer for 1 s" in ran.err
    assert values(lying.target) == ALL


def test_what_takes_long_is_waited_for(postgresql: Postgresql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.sinks.database.watched_connection.SILENT_SECONDS", 0.5)
    assert follow(log(tmp_path), postgresql, "--until", "1700000000001:0").code == 0
    postgresql.run(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3); RETURN NULL; END $$",
        "CREATE TRIGGER slow AFTER INSERT ON changes FOR EACH STATEMENT EXECUTE FUNCTION slow()",
    )
    ran = follow(tmp_path / "cdc_raw", postgresql)
    assert ran.code == 0, ran.err
    assert "no answer" not in ran.err
    assert values(postgresql) == ALL
