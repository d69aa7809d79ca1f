"""Entries that no definition fits: unknown tables and columns, wrong sizes; stopped at, kept, or skipped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    EntryPlace,
    LogFolder,
    Mutation,
    Row,
    Table,
    Update,
    add_column,
    completed,
    create_payload,
    create_table,
    encode_mutation,
    i32,
    insert,
    insert_payload,
    segment_of,
    simple_table,
)

pytestmark = pytest.mark.damage

ID = 1_700_000_000_001
KNOWN = simple_table("ks", "known")
STRANGE = simple_table("ks", "strange", 2)
BEFORE = insert_payload(KNOWN, 1, "a", 1)
AFTER = insert_payload(KNOWN, 2, "b", 2)


class Log:
    """A log whose third entry is the odd one, between two good ones."""

    def __init__(self, folder: Path, odd: bytes, *more: bytes) -> None:
        create = create_payload(KNOWN)
        writer = segment_of(ID, [[create, BEFORE], [odd, *more, AFTER]])
        self.odd: EntryPlace = writer.entries[2]
        self.folder = LogFolder(folder)
        self.folder.put(writer, completed(writer))

    def follow(self, *options: str) -> Result:
        return run_cli(["follow", self.folder.path, "--once", "--output", "json", *options])

    @property
    def kept(self) -> list[tuple[int, bytes, str]]:
        """Offset, bytes and reason of what is in quarantine."""
        file = self.folder.path.with_name("cdc_raw.cdc_tail") / "quarantine" / "none.jsonl"
        records = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
        return [(record["offset"], bytes.fromhex(record["bytes"]), record["reason"]) for record in records]


def values(result: Result) -> list[int]:
    return [json.loads(line)["columns"]["v"] for line in result.lines]


def unknown_table() -> Mutation:
    return insert(STRANGE, 7, "x", 7)


def unknown_column() -> Mutation:
    wider = replace(KNOWN, columns=(*KNOWN.columns, Column("w", "regular", "int")))
    return (Update(wider, i32(7), (Row((b"x",), cells=(("w", Cell(i32(7), TS)),)),)),)


def known_then_unknown() -> Mutation:
    return (*insert(KNOWN, 7, "x", 7), *insert(STRANGE, 7, "x", 7))


def unknown_then_known() -> Mutation:
    return (*insert(STRANGE, 7, "x", 7), *insert(KNOWN, 7, "x", 7))


ODD = {
    "table": encode_mutation(unknown_table()),
    "column": encode_mutation(unknown_column()),
    "second table": encode_mutation(known_then_unknown()),
    "first table": encode_mutation(unknown_then_known()),
}


@pytest.fixture(params=ODD)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    return Log(tmp_path / "cdc_raw", ODD[request.param])


def test_stops_and_names_both_remedies(log: Log) -> None:
    result = log.follow()
    assert result.code == 3
    assert values(result) == [1]
    assert f"{ID}:{log.odd.start}" in result.err
    assert "--schema" in result.err
    assert "--server" in result.err
    assert "Traceback" not in result.err
    assert log.kept == []


def test_is_kept_with_its_bytes_and_the_rest_goes_on(log: Log) -> None:
    result = log.follow("--on-error", "quarantine")
    assert result.code == 0, result.err
    assert values(result) == [1, 2], "an entry is delivered whole or not at all"
    (kept,) = log.kept
    assert kept[:2] == (log.odd.start, log.odd.bytes)
    assert f"{ID}:{log.odd.start}" in kept[2]
    assert "1 entries were put into quarantine" in result.err


def test_a_definition_given_later_makes_it_readable(tmp_path: Path) -> None:
    log = Log(tmp_path / "cdc_raw", ODD["table"])
    assert log.follow().code == 3
    file = tmp_path / "schema.cql"
    file.write_text(
        "CREATE TABLE ks.strange (pk int, ck text, v int, PRIMARY KEY (pk, ck)) "
        f"WITH ID = {STRANGE.id} AND cdc = true;\n"
    )
    result = log.follow("--schema", str(file))
    assert (result.code, values(result)) == (0, [1, 7, 2]), result.err


def test_the_logs_own_alter_before_it_makes_it_readable(tmp_path: Path) -> None:
    column = Column("w", "regular", "int")
    create, alter = create_table(KNOWN, TS), add_column(KNOWN, column, TS + 1)
    writer = segment_of(ID, [[encode_mutation(create), encode_mutation(alter), ODD["column"]]])
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(writer, completed(writer))
    result = run_cli(["follow", folder.path, "--once", "--output", "json"])
    assert result.code == 0, result.err
    assert json.loads(result.lines[0])["columns"] == {"w": 7}


class TestNamedTables:
    """With `--table` an unknown table may be the wanted one, created again: it is passed over by its id alone."""

    def test_an_unknown_table_stops(self, tmp_path: Path) -> None:
        log = Log(tmp_path / "cdc_raw", ODD["table"])
        result = log.follow("--table", "ks.known")
        assert (result.code, values(result)) == (3, [1])
        assert f"{ID}:{log.odd.start}" in result.err
        assert log.kept == []

    def test_it_goes_aside_by_its_id(self, tmp_path: Path) -> None:
        log = Log(tmp_path / "cdc_raw", ODD["table"], ODD["table"])
        result = log.follow("--table", "ks.known", "--quarantine-table", str(STRANGE.id))
        assert (result.code, values(result)) == (0, [1, 2]), result.err
        assert len(log.kept) == 2

    @pytest.mark.parametrize("form", ["first table", "second table"])
    def test_with_a_wanted_one_in_the_entry_it_is_not(self, form: str, tmp_path: Path) -> None:
        log = Log(tmp_path / "cdc_raw", ODD[form])
        result = log.follow("--table", "ks.known")
        assert (result.code, values(result)) == (3, [1])
        assert f"{ID}:{log.odd.start}" in result.err

    def test_an_unknown_column_of_a_wanted_table_is_not(self, tmp_path: Path) -> None:
        log = Log(tmp_path / "cdc_raw", ODD["column"])
        assert log.follow("--table", "ks.known").code == 3


SIZES = {
    "one byte less": BEFORE[:-1],
    "one byte more": BEFORE + b"\0",
    "two mutations": BEFORE + BEFORE,
    "half": BEFORE[: len(BEFORE) // 2],
    "head only": BEFORE[:20],
    "no update": b"\0" * 12,
    "more updates than there are": b"\x02" + BEFORE[1:],
    "ten bytes": BEFORE[:10],
    "endless count": b"\xff" * 9 + BEFORE[1:],
}


@pytest.mark.parametrize("payload", SIZES.values(), ids=SIZES)
def test_each_mutation_must_consume_exactly_its_size(payload: bytes, tmp_path: Path) -> None:
    log = Log(tmp_path / "cdc_raw", payload)
    stopped = log.follow()
    assert (stopped.code, values(stopped)) == (3, [1]), stopped.err
    assert f"{ID}:{log.odd.start}" in stopped.err
    result = log.follow("--on-error", "quarantine")
    assert (result.code, values(result)) == (0, [1, 2]), result.err
    assert [kept[:2] for kept in log.kept] == [(log.odd.start, log.odd.bytes)]


def test_a_type_of_another_length_is_found_by_the_size(tmp_path: Path) -> None:
    wrong: Table = replace(
        KNOWN, columns=tuple(replace(c, type="bigint") if c.name == "v" else c for c in KNOWN.columns)
    )
    row = Row((b"x",), cells=(("v", Cell(bytes(8), TS)),))
    log = Log(tmp_path / "cdc_raw", encode_mutation((Update(wrong, i32(7), (row,)),)))
    result = log.follow()
    assert (result.code, values(result)) == (3, [1])
    assert f"{ID}:{log.odd.start}" in result.err


def test_kept_once_however_often_it_is_read(tmp_path: Path) -> None:
    log = Log(tmp_path / "cdc_raw", ODD["table"], ODD["column"])
    for _ in range(3):
        assert log.follow("--on-error", "quarantine").code == 0
    assert len(log.kept) == 2
