"""A replay of the quarantine: whose rows come, once whatever happens, what stays, what is kept of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tailer.errors import DefinitionError, RefusedError, SinkError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.retention.forget import Floor, wanted
from tailer.sinks.base import Rows
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import ReplayedRecord
from tailer.state.quarantine import Kept, Quarantine, quarantine_path, whole_records
from tailer.tail import quarantine_replay
from tailer.tail.quarantine_replay import Replayed, replay
from tailer.tail.quarantined import KnownNow
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    add_column,
    completed,
    create_payload,
    encode_mutation,
    insert,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.helpers.logs.model import Column
from tests.helpers.logs.native import NativeWriter
from tests.native.logs import ORDERS, folder_of, put

FIRST = 1_700_000_000_001
KNOWN = simple_table("ks", "known", 1)
LATER = simple_table("ks", "later", 2)
BOTH = encode_mutation((*insert(KNOWN, 7, "both", 70), *insert(LATER, 8, "both", 80)))


class Taken:
    """Takes rows until it has had `most`."""

    def __init__(self, most: int = 1000) -> None:
        self.keys: list[int] = []
        self._most = most

    def write(self, batch: Rows) -> None:
        if len(self.keys) >= self._most:
            raise SinkError("full")
        self.keys += [json.loads(line)["partition_key"]["pk"] for line in batch.json_lines().splitlines()]

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Two entries that nobody can read yet, and one of two tables."""
    folder = LogFolder(tmp_path / "cdc_raw")
    rows = [insert_payload(LATER, number, "x", number) for number in (1, 2)]
    writer = segment_of(FIRST, [[create_payload(KNOWN)], [*rows, BOTH, insert_payload(KNOWN, 9, "y", 9)]])
    folder.put(writer, completed(writer))
    assert aside(folder).code == 0
    return folder


def aside(log: LogFolder, *more: str) -> Result:
    words = ["follow", log.path, "--once", "--output", "json", "--consumer", "c", "--on-error", "quarantine"]
    return run_cli([*words, *more])


def learn(log: LogFolder) -> None:
    """Another consumer meets the table's CREATE."""
    writer = segment_of(FIRST + 2, [[create_payload(LATER, TS + 1)]])
    log.put(writer, completed(writer))
    assert run_cli(["follow", log.path, "--once", "--output", "json", "--consumer", "other", "--from",
                    f"{FIRST + 2}:0"]).code == 0  # fmt: skip


def state_of(log: LogFolder) -> Path:
    return log.path.with_name(log.path.name + ".cdc_tail")


def again(log: LogFolder, sink: Taken) -> Replayed:
    state = state_of(log)
    return replay(state, "c", KnownNow(FolderJournal(state, writable=False), TailOptions()), sink)


def test_nothing_comes_while_nothing_more_is_known(log: LogFolder) -> None:
    sink = Taken()
    done = again(log, sink)
    assert (sink.keys, done.entries, len(done.stays)) == ([], 0, 3)
    assert all("no definition for table" in each.reason for each in done.stays)


def test_what_another_consumer_found_serves(log: LogFolder) -> None:
    learn(log)
    sink = Taken()
    done = again(log, sink)
    assert (sink.keys, done.rows, done.entries, done.stays) == ([1, 2, 7, 8], 4, 3, [])
    assert again(log, sink) == Replayed(0, 0, [])


def test_who_is_killed_before_the_journal_knows_gets_them_again(
    log: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(log)
    sink = Taken()
    with monkeypatch.context() as killed:
        killed.setattr(quarantine_replay._Given, "tell", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            again(log, sink)
    again(log, sink)
    assert sink.keys == [1, 2, 7, 8] * 2


def test_what_a_sink_took_before_it_failed_does_not_come_again(log: LogFolder) -> None:
    learn(log)
    first, second = Taken(most=1), Taken()
    with pytest.raises(SinkError):
        again(log, first)
    again(log, second)
    assert (first.keys, second.keys) == ([1], [2, 7, 8])


def test_two_replays_of_one_consumer_exclude_another(log: LogFolder) -> None:
    learn(log)

    class Inside(Taken):
        def write(self, batch: Rows) -> None:
            with pytest.raises(RefusedError, match="another replay"):
                again(log, Taken())
            super().write(batch)

    sink = Inside()
    again(log, sink)
    assert sink.keys == [1, 2, 7, 8]


def test_only_tables_that_the_run_had_chosen_come(tmp_path: Path) -> None:
    """The column is unknown, so the entry was put aside although its table was named; the other table was not."""
    folder = LogFolder(tmp_path / "cdc_raw")
    wider = add_column(KNOWN, Column("w", "regular", "int"), TS + 1)
    both = encode_mutation((*insert(LATER, 1, "a", 1), *insert(KNOWN, 2, "a", 2)))
    broken = both.replace(b"\x01v", b"\x01w", 1)
    assert broken != both
    writer = segment_of(FIRST, [[create_payload(KNOWN), create_payload(LATER, TS)], [broken]])
    folder.put(writer, completed(writer))
    aside(folder, "--table", "ks.later")
    kept = list(whole_records(quarantine_path(state_of(folder), "c")))
    assert [each.tables for each in kept] == [("ks.later",)]
    more = add_column(LATER, Column("w", "regular", "int"), TS + 1)
    second = segment_of(FIRST + 2, [[encode_mutation(more)], [encode_mutation(wider)]])
    folder.put(second, completed(second))
    aside(folder, "--table", "ks.later")
    sink = Taken()
    again(folder, sink)
    assert sink.keys == [1]


def test_bytes_that_do_not_check_stay(log: LogFolder) -> None:
    learn(log)
    path = quarantine_path(state_of(log), "c")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["bytes"] = lines[0]["bytes"][:-2] + "00"
    lines[1]["code"] = 4
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    sink = Taken()
    done = again(log, sink)
    assert sink.keys == [7, 8]
    assert ["no whole entry" in each.reason for each in done.stays] == [True, True]


def test_a_row_that_a_target_refused_stays(log: LogFolder) -> None:
    learn(log)
    at = Position(FIRST, 60)
    Quarantine(state_of(log), "c", "local").keep(at, "f", SinkError("too large", at=at), b"{}", 4)
    sink = Taken()
    done = again(log, sink)
    assert sink.keys == [1, 2, 7, 8]
    assert [each.reason for each in done.stays if "row 4 of the entry was refused" in each.reason] != []


def described(log: LogFolder, cdc: str) -> list[str]:
    """A file that defines the table which nothing in the log does."""
    file = log.path.with_name("schema.cql")
    columns = "(pk int, ck text, v int, PRIMARY KEY (pk, ck))"
    file.write_text(f"CREATE TABLE ks.later {columns} WITH id = {LATER.id}{cdc};\n")
    return ["--schema", str(file)]


def replayed(log: LogFolder, *more: str) -> Result:
    return run_cli(["quarantine", log.path, "replay", "--consumer", "c", "--output", "json", *more])


def test_a_file_that_does_not_say_whether_a_table_captures_takes_nothing_away(log: LogFolder) -> None:
    result = replayed(log, *described(log, ""))
    assert (result.code, result.lines) == (0, []), result.err
    assert "0 entries were replayed, with 0 rows; 3 stay" in result.err
    assert result.err.count("the file of --schema does not say whether ks.later captures") == 3
    assert len(replayed(log, *described(log, " AND cdc = true")).lines) == 4


def test_a_file_by_which_a_table_does_not_capture_gives_no_rows_of_it(log: LogFolder) -> None:
    result = replayed(log, *described(log, " AND cdc = false"))
    assert "3 entries were replayed, with 1 rows; 0 stay" in result.err


def test_a_table_that_does_not_capture_by_the_log_gives_no_rows_of_its_entries(log: LogFolder) -> None:
    writer = segment_of(FIRST + 2, [[create_payload(replace(LATER, cdc=False), TS + 1)]])
    log.put(writer, completed(writer))
    assert run_cli(["follow", log.path, "--once", "--consumer", "other", "--from", f"{FIRST + 2}:0"]).code == 0
    result = replayed(log, *described(log, ""))
    assert "3 entries were replayed, with 1 rows; 0 stay" in result.err


def test_the_journal_keeps_what_was_given() -> None:
    given = ReplayedRecord(n=1, consumer="c", node="local", at=Position(FIRST, 100))
    assert wanted([given], Floor(FIRST + 10, 1)) == [given]


def test_words_that_do_not_fit_are_exit_2(log: LogFolder) -> None:
    for words in (["replay"], ["show"], ["show", "x"], ["list", "1:2"], ["list", "--output", "arrow"],
                  ["replay", "--consumer", "nobody"], ["show", "1:2"]):  # fmt: skip
        result = run_cli(["quarantine", log.path, *words])
        assert (result.code, "Traceback" in result.err) == (2, False), words


def test_one_is_shown_with_its_bytes(log: LogFolder) -> None:
    place = run_cli(["quarantine", log.path, "--output", "json"]).lines[0]
    at = "{segment}:{offset}".format(**json.loads(place))
    shown = json.loads(run_cli(["quarantine", log.path, "show", at, "--output", "json"]).out)
    assert insert_payload(LATER, 1, "x", 1).hex() in shown["bytes"]
    assert shown["size"] == len(insert_payload(LATER, 1, "x", 1)) + 12
    pretty = run_cli(["quarantine", log.path, "show", at, "--output", "pretty"])
    assert "no definition for table" in pretty.out


class TestOfAServicesOwnLog:
    """Its changes name their definition; those of a transaction are numbered where that was committed."""

    def kept(self, folder: Path, payload: bytes, offset: int) -> Kept:
        log = next(folder.glob("*.log"))
        data = log.read_bytes()
        start = data.index(payload) - 8
        entry = data[start : start + len(payload) + 12]
        return Kept("local", int(log.stem.rpartition("-")[2]), offset, log.name, 3, "unknown", entry.hex())

    def test_a_change_by_itself_comes_and_one_of_a_transaction_stays(self, tmp_path: Path) -> None:
        alone, inside = put(1, "a"), put(2, "b", txn=5)
        writer = NativeWriter(FIRST)
        writer.section([ORDERS.definition, alone, inside])
        folder = folder_of(tmp_path, writer)
        follow = ["follow", folder, "--once", "--output", "json", "--consumer", "c"]
        (row,) = map(json.loads, run_cli(follow).lines)
        state = folder.with_name("cdc_raw.cdc_tail")
        known = KnownNow(FolderJournal(state, writable=False), TailOptions())
        (late,) = known.rows(self.kept(folder, alone, row["offset"])).json_lines().splitlines()
        assert json.loads(late) == row
        with pytest.raises(DefinitionError, match="a change of a transaction"):
            known.rows(self.kept(folder, inside, row["offset"] + 1))
