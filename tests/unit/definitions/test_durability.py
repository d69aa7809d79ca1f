"""Tables in a keyspace with `durable_writes = false`: no change reaches the log; a reader reports them by name."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tailer.cli.compare import _end
from tailer.comparing.run import Compared, is_durable
from tailer.schema.rows import SchemaDelta
from tests.helpers.asked_server import AskedServer
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import TS, LogFolder, completed, create_payload, encode_mutation, segment_of, simple_table
from tests.helpers.logs.model import Cell, Liveness, Row, Update
from tests.helpers.logs.schema import KEYSPACES

FIRST = 1_700_000_000_001
A, B = simple_table("tracing", "spans", 1), simple_table("shop", "orders", 2)
LATER = simple_table("tracing", "later", 3)
TIME = "changes of tracing.spans are missing: keyspace tracing had durable_writes = false for a time"
LINE = "no change of tracing.spans reaches the commit log: keyspace tracing has durable_writes = false"


def keyspace(name: str, durable: bool, ts: int) -> bytes:
    """CREATE or ALTER KEYSPACE, as far as it matters here."""
    row = Row((), Liveness(ts), None, (("durable_writes", Cell(bytes([durable]), ts, like_row=1)),))
    return encode_mutation((Update(KEYSPACES, name.encode(), (row,)),))


def log_of(path: Path, *entries: bytes) -> LogFolder:
    folder = LogFolder(path / "cdc_raw")
    writer = segment_of(FIRST, [[create_payload(A), create_payload(B), *entries]])
    folder.put(writer, completed(writer))
    return folder


def follow(log: LogFolder, *more: str) -> Result:
    return run_cli(["follow", log.path, "--once", "--output", "json", "--consumer", "c", *more])


def test_the_log_says_so_and_every_run_repeats_it(tmp_path: Path) -> None:
    log = log_of(tmp_path, keyspace("tracing", False, TS + 1), keyspace("shop", True, TS + 1))
    for _ in range(2):
        result = follow(log)
        assert result.code == 0
        assert result.err.count(LINE) == 1
        assert "shop.orders" not in result.err
    assert LINE not in follow(log, "--table", "shop.*").err


def test_images_say_it_too(tmp_path: Path) -> None:
    log = log_of(tmp_path, keyspace("tracing", False, TS + 1))
    assert LINE in follow(log, "--image", "after").err


def test_a_time_without_it_is_told_to_whoever_reads_it_later(tmp_path: Path) -> None:
    """Of tables that were there then, and once: what comes behind is in the log again."""
    log = log_of(
        tmp_path, keyspace("tracing", False, TS + 1), keyspace("tracing", True, TS + 2), create_payload(LATER, TS + 3)
    )
    told = follow(log).err
    assert (told.count(TIME), LINE in told, "tracing.later" in told) == (1, False, False), told
    assert "durable_writes" not in follow(log).err
    assert TIME in follow(log, "--consumer", "second").err
    assert "durable_writes" not in follow(log, "--consumer", "third", "--from", "latest").err


def test_a_schema_file_says_it_too_and_the_log_knows_better(tmp_path: Path) -> None:
    file = tmp_path / "schema.cql"
    file.write_text(
        "CREATE KEYSPACE tracing WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'} "
        "AND durable_writes = false;\n"
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy'} AND durable_writes = false;\n"
        "ALTER KEYSPACE shop WITH durable_writes = true;\n"
        f"CREATE TABLE tracing.spans (pk int, ck text, v int, PRIMARY KEY (pk, ck)) WITH id = {A.id} AND cdc = true;\n"
    )
    log = LogFolder(tmp_path / "cdc_raw")
    writer = segment_of(FIRST, [[create_payload(B)]])
    log.put(writer, completed(writer))
    result = follow(log, "--schema", str(file))
    assert (result.code, result.err.count(LINE), "shop.orders" in result.err) == (0, 1, False), result.err
    # A CREATE TABLE of the log writes the row of its keyspace too.
    assert "durable_writes" not in follow(log_of(tmp_path / "other"), "--schema", str(file)).err
    file.write_text("CREATE KEYSPACE tracing WITH durable_writes = perhaps;\n")
    result = follow(log_of(tmp_path / "wrong"), "--schema", str(file))
    assert (result.code, "expected true or false, found `perhaps`" in result.err) == (2, True), result.err


class TestOfAServer:
    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch) -> AskedServer:
        return AskedServer(monkeypatch)

    @staticmethod
    def rows(durable: bool) -> list[SchemaDelta]:
        cells = {"durable_writes": (TS + 9, durable)}
        return [SchemaDelta("keyspaces", "tracing", (), cells, TS + 9), SchemaDelta("keyspaces", "shop", (), {}, TS)]

    def test_it_is_said_of_what_the_server_says(self, tmp_path: Path, server: AskedServer) -> None:
        log = log_of(tmp_path)
        server.knows(A, B)
        server.also(*self.rows(False))
        result = follow(log, "--server", "db")
        assert (result.code, result.err.count(LINE)) == (0, 1)
        assert "shop.orders" not in result.err

    def test_the_servers_word_counts(self, tmp_path: Path, server: AskedServer) -> None:
        log = log_of(tmp_path, keyspace("tracing", False, TS + 1))
        server.knows(A, B)
        server.also(*self.rows(True))
        told = follow(log, "--server", "db").err
        assert (LINE in told, told.count(TIME)) == (False, 1)


def test_compare_says_it_beside_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    class Session:
        def execute(self, query: str, *, timeout: float) -> list[tuple[bool]]:
            assert query == "SELECT durable_writes FROM system_schema.keyspaces WHERE keyspace_name = 'tracing'"
            return [(False,)]

    assert not is_durable(Session(), "tracing")
    result = msgspec.defstruct("Result", [("rows", int), ("partitions", int), ("unknown", int), ("undecided", int),
                                          ("stopped", bool)])(1, 1, 0, 0, False)  # fmt: skip
    _end(Compared("tracing.spans", result, [], 0.1, False, durable=False), Path("images"))
    assert LINE in capsys.readouterr().err
    _end(Compared("tracing.spans", result, [], 0.1, False), Path("images"))
    assert "durable_writes" not in capsys.readouterr().err
