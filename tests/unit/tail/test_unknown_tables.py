"""Entries of a table that no definition names: the segment with its CREATE went before anybody read it.

Such an entry is never passed over unless it is known that the table is not wanted: the server is asked, or the entry is
put aside where a replay finds it, or the run ends.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import DefinitionError
from tailer.state.quarantine import Quarantine, quarantine_path, whole_records
from tailer.tail.unknown_tables import UnknownTables
from tests.helpers.asked_server import AskedServer
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    completed,
    create_payload,
    encode_mutation,
    insert,
    insert_payload,
    segment_of,
    simple_table,
)

FIRST = 1_700_000_000_001
A = simple_table("ks", "a", 1)
B = simple_table("ks", "b", 2)
PLAIN = simple_table("ks", "plain", 3, cdc=False)
CQL = (
    "CREATE TABLE ks.b (pk int, ck text, v int, PRIMARY KEY (pk, ck)) "
    f"WITH ID = {B.id} AND cdc = true AND CLUSTERING ORDER BY (ck ASC);"
)
BOTH = encode_mutation((*insert(A, 7, "both", 70), *insert(B, 8, "both", 80)))
BEHIND = encode_mutation((*insert(PLAIN, 5, "x", 50), *insert(B, 6, "x", 60)))
SELECTIONS: dict[str, list[str]] = {
    "all": [],
    "glob": ["--table", "ks.*"],
    "name": ["--table", "ks.a", "--table", "ks.b", "--table-may-come"],
}


def log_of(path: Path, *entries: bytes) -> LogFolder:
    """The definitions of two tables, then these entries, then a row of the known table that captures."""
    folder = LogFolder(path / "cdc_raw")
    known = [create_payload(A), create_payload(PLAIN)]
    writer = segment_of(FIRST, [known, [*entries, insert_payload(A, 9, "last", 90)]])
    folder.put(writer, completed(writer))
    return folder


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Two rows of a table whose CREATE the log has not, between rows of one that it has."""
    return log_of(tmp_path, insert_payload(A, 1, "a", 10), *(insert_payload(B, n, "b", n) for n in (2, 3)))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> AskedServer:
    return AskedServer(monkeypatch)


def follow(log: LogFolder, *more: str, consumer: str = "c") -> Result:
    return run_cli(["follow", log.path, "--once", "--output", "json", "--consumer", consumer, *more])


def keys(result: Result) -> list[int]:
    return [json.loads(line)["partition_key"]["pk"] for line in result.lines]


def aside(log: LogFolder, consumer: str = "c") -> list[tuple[int, int]]:
    """Where the entries in quarantine stood."""
    state = log.path.with_name(log.path.name + ".cdc_tail")
    return [(kept.segment, kept.offset) for kept in whole_records(quarantine_path(state, consumer))]


def replayed(log: LogFolder, *more: str) -> Result:
    return run_cli(["quarantine", log.path, "replay", "--consumer", "c", "--output", "json", *more])


@pytest.mark.parametrize("selection", SELECTIONS)
class TestOfEachSelection:
    def test_the_server_is_asked_at_once_and_every_row_comes(
        self, log: LogFolder, server: AskedServer, selection: str
    ) -> None:
        server.knows(A, PLAIN)
        server.knows_next(A, PLAIN, B)
        result = follow(log, "--server", "db", *SELECTIONS[selection])
        assert (result.code, keys(result), aside(log)) == (0, [1, 2, 3, 9], [])
        assert server.requests == 2, "at the start, and for the table"

    def test_a_table_that_the_server_does_not_know_goes_aside_and_the_others_rows_come(
        self, log: LogFolder, server: AskedServer, selection: str
    ) -> None:
        result = follow(log, "--server", "db", *SELECTIONS[selection])
        assert (result.code, keys(result)) == (0, [1, 9])
        assert len(aside(log)) == 2
        (line,) = (each for each in result.err.splitlines() if str(B.id) in each)
        assert "2 entries" in line
        assert f"{FIRST}:{aside(log)[0][1]}" in line
        assert server.requests == 2, "at the start, and for the table"

    def test_without_a_server_it_is_3_with_three_remedies(self, log: LogFolder, selection: str, tmp_path: Path) -> None:
        result = follow(log, *SELECTIONS[selection])
        assert (result.code, keys(result)) == (3, [1])
        for remedy in (str(B.id), "--schema FILE", "--server HOST", f"--quarantine-table {B.id}"):
            assert remedy in result.err
        assert aside(log) == []
        (tmp_path / "b.cql").write_text(CQL)
        mended = follow(log, *SELECTIONS[selection], "--schema", str(tmp_path / "b.cql"))
        assert (mended.code, keys(mended)) == (0, [2, 3, 9])

    def test_the_server_mends_it(self, log: LogFolder, selection: str, server: AskedServer) -> None:
        assert follow(log, *SELECTIONS[selection]).code == 3
        server.knows(A, B)
        mended = follow(log, *SELECTIONS[selection], "--server", "db")
        assert (mended.code, keys(mended)) == (0, [2, 3, 9])

    def test_its_id_can_be_put_aside_and_replayed(self, log: LogFolder, selection: str, tmp_path: Path) -> None:
        assert follow(log, *SELECTIONS[selection]).code == 3
        result = follow(log, *SELECTIONS[selection], "--quarantine-table", str(B.id))
        assert (result.code, keys(result)) == (0, [9])
        assert len(aside(log)) == 2
        assert "--quarantine-table" in result.err
        assert keys(replayed(log)) == []
        (tmp_path / "b.cql").write_text(CQL)
        assert keys(replayed(log, "--schema", str(tmp_path / "b.cql"))) == [2, 3]
        assert keys(replayed(log, "--schema", str(tmp_path / "b.cql"))) == []


def test_another_id_is_not_put_aside(log: LogFolder) -> None:
    result = follow(log, "--quarantine-table", str(PLAIN.id))
    assert (result.code, keys(result)) == (3, [1])


def test_an_id_that_is_none_is_2(log: LogFolder) -> None:
    result = follow(log, "--quarantine-table", "ks.b")
    assert result.code == 2
    assert "ks.b" in result.err


def test_a_table_that_the_server_knows_not_to_capture_is_passed_over(log: LogFolder, server: AskedServer) -> None:
    server.knows(replace(B, cdc=False))
    result = follow(log, "--server", "db", "--table", "ks.*")
    assert (result.code, keys(result), aside(log)) == (0, [1, 9], [])
    assert str(B.id) not in result.err


def test_a_table_that_is_not_selected_is_passed_over_where_the_server_says_so(
    log: LogFolder, server: AskedServer
) -> None:
    server.knows(A, B)
    result = follow(log, "--server", "db", "--table", "ks.a")
    assert (result.code, keys(result), aside(log)) == (0, [1, 9], [])


def test_a_table_of_the_selected_name_under_an_unknown_id_may_be_the_selected_one(tmp_path: Path) -> None:
    """`ks.a` was dropped and created again, and the segments that say so are gone."""
    again = replace(A, id=B.id)
    log = log_of(tmp_path, insert_payload(again, 2, "b", 20))
    result = follow(log, "--table", "ks.a")
    assert (result.code, keys(result)) == (3, [])


def test_the_server_tells_of_a_table_that_was_created_again(tmp_path: Path, server: AskedServer) -> None:
    """Its DROP was not seen: the server's own timestamps say which of the two has the name."""
    again = replace(A, id=B.id)
    folder = LogFolder(tmp_path / "cdc_raw")
    rows = [insert_payload(A, 1, "a", 10), insert_payload(again, 2, "b", 20)]
    writer = segment_of(FIRST, [[create_payload(A)], rows])
    folder.put(writer, completed(writer))
    server.knows(A)
    assert keys(follow(folder, "--server", "db", "--table", "ks.a", "--until", f"{FIRST}:0")) == []
    server.knows(again, ts=TS + 1000)
    result = follow(folder, "--server", "db", "--table", "ks.a", consumer="other")
    assert (result.code, keys(result)) == (0, [1, 2])


def test_rows_of_several_tables_come_once_the_unknown_one_is_known(tmp_path: Path, server: AskedServer) -> None:
    log = log_of(tmp_path, BOTH, BEHIND)
    server.knows(A, PLAIN, B)
    result = follow(log, "--server", "db", "--table", "ks.*")
    assert (result.code, keys(result)) == (0, [7, 8, 6, 9])


@pytest.mark.parametrize("selection", SELECTIONS)
def test_an_unknown_table_behind_a_known_one_puts_the_entry_aside_whole(
    tmp_path: Path, server: AskedServer, selection: str
) -> None:
    """Else a replay would give the rows of the known table a second time."""
    log = log_of(tmp_path, BOTH, BEHIND)
    assert follow(log, *SELECTIONS[selection], consumer="alone").code == 3
    result = follow(log, "--server", "db", *SELECTIONS[selection])
    assert (result.code, keys(result), len(aside(log))) == (0, [9], 2)
    (tmp_path / "b.cql").write_text(CQL)
    assert keys(replayed(log, "--schema", str(tmp_path / "b.cql"))) == [7, 8, 6]


def test_an_entry_of_several_tables_in_another_keyspace_is_passed_over(tmp_path: Path) -> None:
    """A mutation is of one keyspace: what else it holds cannot be selected."""
    here, there = simple_table("other", "here", 4, cdc=False), simple_table("other", "there", 5)
    log = log_of(tmp_path, create_payload(here), encode_mutation((*insert(here, 1, "x", 1), *insert(there, 2, "x", 2))))
    result = follow(log, "--table", "ks.*")
    assert (result.code, keys(result)) == (0, [9])
    assert follow(log, consumer="all").code == 3


def test_many_entries_are_one_request_and_one_line(
    tmp_path: Path, server: AskedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailer.definitions.outside.RETRY_SECONDS", 3600.0)
    log = log_of(tmp_path, *(insert_payload(B, n, "b", n) for n in range(1000)))
    result = follow(log, "--server", "db", "--table", "ks.*")
    assert (result.code, keys(result), len(aside(log))) == (0, [9], 1000)
    lines = [each for each in result.err.splitlines() if str(B.id) in each]
    assert "1000 entries" in lines[0]
    assert len(lines) == 1
    assert server.requests == 2


def test_a_server_that_does_not_respond_puts_nothing_aside(log: LogFolder, server: AskedServer) -> None:
    assert follow(log).code == 3
    server.away = True
    result = follow(log, "--server", "db")
    assert result.code == 8
    assert aside(log) == []


def test_a_server_that_goes_away_before_it_is_asked_for_the_table_is_8(log: LogFolder, server: AskedServer) -> None:
    read = server._read

    def once(asked: Any) -> Any:
        found = read(asked)
        server.away = True
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tailer.definitions.outside.read_server", once)
        result = follow(log, "--server", "db")
    assert (result.code, keys(result), aside(log)) == (8, [1], [])
    assert str(B.id) in result.err
    server.away = False
    server.knows(A, B)
    assert keys(follow(log, "--server", "db")) == [2, 3, 9]


def test_a_full_quarantine_is_3(log: LogFolder, server: AskedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Quarantine.__init__

    def small(self: Quarantine, *args: Any, **more: Any) -> None:
        real(self, *args, **{**more, "bytes_max": 900})

    monkeypatch.setattr(Quarantine, "__init__", small)
    result = follow(log, "--server", "db", "--table", "ks.*")
    assert (result.code, keys(result), len(aside(log))) == (3, [1], 1)
    assert "the quarantine is full" in result.err
    assert str(B.id) in result.err
    monkeypatch.setattr(Quarantine, "__init__", real)
    again = follow(log, "--server", "db", "--table", "ks.*")
    assert (again.code, keys(again), len(aside(log))) == (0, [9], 2)


def test_what_was_put_aside_stays_aside_when_the_run_is_repeated(log: LogFolder, server: AskedServer) -> None:
    """The decision is durable before the position passes the entry."""
    follow(log, "--server", "db")
    places = aside(log)
    server.knows(A, B)
    folder = log.path
    writer = segment_of(FIRST + 1, [[insert_payload(B, 4, "b", 4)]])
    log.put(writer, completed(writer))
    result = follow(log, "--server", "db")
    assert (result.code, keys(result)) == (0, [4])
    assert aside(log) == places
    assert keys(run_cli(["quarantine", folder, "replay", "--consumer", "c", "--output", "json"])) == [2, 3]


def test_without_a_state_nothing_is_left_out_in_silence(log: LogFolder, server: AskedServer) -> None:
    import tailer

    with pytest.raises(DefinitionError, match=str(B.id)):
        list(tailer.open(log.path, server="db", tables=["ks.*"]).read())
    told = tailer.open(log.path, server="db", tables=["ks.*"], quarantine_tables=[str(B.id)])
    rows = [row for batch in told.read() for row in batch.to_pylist()]
    assert len(rows) == 2
    assert any(str(B.id) in line for line in told.notices)


def test_a_table_that_a_response_put_behind_a_later_gap_is_read_where_its_rows_stand(
    tmp_path: Path, server: AskedServer
) -> None:
    """The server was away when the consumer met the table. At its restart the table counts from behind the next gap:
    nothing tells of an earlier one. An entry of the table does."""
    log = LogFolder(tmp_path / "cdc_raw")
    first = segment_of(FIRST, [[create_payload(A), create_payload(PLAIN), insert_payload(A, 1, "a", 10)]])
    log.put(first, completed(first))
    server.knows(A, PLAIN)
    assert keys(follow(log, "--server", "db")) == [1]
    # The CREATE of B was in the segment between: it held no captured change.
    second = segment_of(FIRST + 2, [[insert_payload(A, 2, "a", 20), insert_payload(B, 3, "b", 30)]])
    third = segment_of(FIRST + 4, [[insert_payload(A, 4, "a", 40)]])
    for each in (second, third):
        log.put(each, completed(each))
    server.goes_away_after(1)
    met = follow(log, "--server", "db")
    assert (met.code, keys(met)) == (8, [2])
    server.away = False
    server.knows(A, PLAIN, B)
    result = follow(log, "--server", "db")
    assert (result.code, keys(result), aside(log)) == (0, [3, 4], [])


@pytest.mark.parametrize("asks", [True, False])
def test_what_another_consumer_has_learnt_meanwhile_is_looked_up_before_an_entry_goes_aside(
    log: LogFolder, server: AskedServer, monkeypatch: pytest.MonkeyPatch, asks: bool
) -> None:
    """The table was dropped when the server was asked for it. Another consumer had asked while it was there."""
    learn, others = UnknownTables.learn, list[Result]()

    def meanwhile(self: UnknownTables, *args: Any) -> bool:
        if not others:
            others.append(Result(0, "", ""))
            server.knows(A, PLAIN, B)
            others[0] = follow(log, "--server", "db", consumer="other")
            server.knows(A, PLAIN)
        return learn(self, *args)

    server.knows(A, PLAIN)
    monkeypatch.setattr(UnknownTables, "learn", meanwhile)
    result = follow(log, *(["--server", "db"] if asks else []))
    assert (others[0].code, keys(others[0])) == (0, [1, 2, 3, 9])
    assert (result.code, keys(result), aside(log)) == (0, [1, 2, 3, 9], [])
