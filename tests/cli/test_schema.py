"""`cdc-tail schema`: definitions as the server tells them, where they come from, and taking a wrong one back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import Result, run_cli
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.sets import CASES, key_options
from tests.oracle import Recording, expected, recording
from tests.oracle.recording import is_schema
from tests.oracle.schema import Definition, Follower
from tests.oracle.segments import segments

SOME = [*CASES, "50-lz4", "41-lz4", "50-aes"]
SYSTEM = ("system", "system_schema", "system_auth", "system_distributed", "system_traces")
Columns = dict[str, str]


def schema(folder: Path, set_dir: Path, *more: str | Path) -> Result:
    options, env = key_options(set_dir)
    return run_cli(["schema", folder, *options, *more], env)


def told(folder: Path, set_dir: Path, *more: str | Path) -> list[dict[str, Any]]:
    result = schema(folder, set_dir, "--output", "json", *more)
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.lines]


def follow(folder: Path, *more: str | Path) -> Result:
    return run_cli(["follow", folder, "--once", "--output", "json", *more])


def state_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.cdc_tail")


def journal_of(folder: Path) -> list[dict[str, Any]]:
    """By their numbers; the state's id, which has none, is left out."""
    records = [json.loads(line[9:]) for line in (state_of(folder) / "journal").read_bytes().splitlines()]
    return [record for record in records if record["n"]]


def without_the_creates(folder: Path) -> Path:
    first = segments(folder)[0].id
    for file in folder.glob(f"CommitLog-*-{first}*"):
        file.unlink()
    return folder


# What the server's DESCRIBE printed, read with two expressions: live columns of a table with their types.


def described(set_dir: Path) -> dict[str, tuple[str, Columns]]:
    """`keyspace.table` → id and live columns. Compact tables show less than they have, and are left out."""
    text = (set_dir / "schema.cql").read_text()
    found = {}
    for name, body, options in re.findall(r"^CREATE TABLE (\S+) \(\n(.*?)\n\) WITH (.*?);$", text, re.DOTALL | re.M):
        if "COMPACT STORAGE" in options:
            continue
        columns = dict(column(line) for line in body.split("\n") if "PRIMARY KEY (" not in line)
        for dropped in re.findall(rf"^ALTER TABLE {re.escape(name)} DROP (\S+)", text, re.M):
            del columns[dropped]
        for added in re.findall(rf"^ALTER TABLE {re.escape(name)} ADD (.*);$", text, re.M):
            columns |= [column(added)]
        table_id = re.search(r"ID = (\S+)", options)
        assert table_id is not None
        found[name.replace('"', "")] = (table_id[1], columns)
    return found


def column(line: str) -> tuple[str, str]:
    found = re.fullmatch(r'\s*("(?:[^"]|"")+"|\w+) (.*?)(?: static| PRIMARY KEY| MASKED WITH .*)?,?', line)
    assert found is not None, line
    return found[1].removeprefix('"').removesuffix('"').replace('""', '"'), found[2]


@pytest.mark.parametrize("name", SOME)
def test_tables_have_the_columns_and_types_that_the_server_describes(
    name: str, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder, set_dir = fresh_folder(name), sets_root / name
    want = described(set_dir)
    assert len(want) > 30
    live = {f"{each['keyspace']}.{each['table']}": each for each in told(folder, set_dir) if not each["dropped"]}
    for table, (table_id, columns) in want.items():
        assert live[table]["table_id"] == table_id
        assert {each["name"]: each["type"] for each in live[table]["columns"] if not each["dropped"]} == columns
    assert not [each for each in live if each.partition(".")[0] in SYSTEM]
    assert not state_of(folder).exists()


def bare(held: Definition | None) -> Definition | None:
    """Without types: these are all types of the keyspace there, used or not."""
    return None if held is None else replace(held, types=())


def at_every_change(known: Recording) -> list[tuple[str, dict[str, Definition]]]:
    """The server's definitions of user tables behind each line that changed one, with that line's end."""
    follower, found = Follower(), []
    for line in known.every_line():
        if is_schema(line):
            before = dict(follower.definitions)
            follower.apply(line["updates"])
            changed = [held for key, held in follower.definitions.items() if bare(before.get(key)) != bare(held)]
            if any(held.keyspace not in SYSTEM for held in changed):
                found.append((f"{line['segment']}:{line['end']}", dict(follower.definitions)))
    return found


def test_as_of_a_position_the_tables_are_what_the_server_had_then(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, set_dir = fresh_folder("50-cases"), sets_root / "50-cases"
    changes = at_every_change(recording(set_dir))
    for position, definitions in [*changes[::12], *changes[-9:]]:
        want = {held.id: held for held in definitions.values() if held.keyspace not in SYSTEM}
        shown = {each["table_id"]: each for each in told(folder, set_dir, "--at", position)}
        assert shown.keys() == want.keys()
        for table_id, held in want.items():
            data = {each["name"]: each for each in shown[table_id]["columns"] if each["kind"] in ("static", "regular")}
            live = {name: text for name, text in held.columns if not data[name]["dropped"]}
            assert {name: each["type"] for name, each in data.items() if not each["dropped"]} == live
            assert data.keys() == {name for name, _ in held.columns}
            assert shown[table_id]["cdc"] == held.cdc
    assert schema(folder, set_dir, "--at", "earliest").out == ""


def test_changes_stand_where_the_server_made_them(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, set_dir = fresh_folder("50-cases"), sets_root / "50-cases"
    known = recording(set_dir)
    lines = {f"{line['segment']}:{line['end']}" for line in known.every_line() if is_schema(line)}
    found = [each["position"] for each in told(folder, set_dir, "--changes")]
    assert {position for position, _ in at_every_change(known)} <= set(found) <= lines
    assert found == sorted(found, key=lambda text: tuple(map(int, text.split(":"))))
    altered = told(folder, set_dir, "--changes", "--table", "cdc.altered")
    assert [each["changes"] for each in altered] == [
        ["new: 6 columns, cdc = true"],
        ["column d is new: bigint"],
        ["column f is new: text", "column e is new: map<text, int>"],
        ["column b is dropped: text"],
        ["column s is dropped: int", "column c is dropped: list<int>"],
        ["column b is back: text"],
        ["column ck is called clus now"],
    ]
    until = altered[3]["position"]
    assert len(told(folder, set_dir, "--changes", "--table", "cdc.altered", "--at", until)) == 4


def test_the_source_is_a_place_in_the_log_and_a_record_once_there_is_one(
    sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder, set_dir = fresh_folder("50-cases"), sets_root / "50-cases"
    options = ("--table", "cdc.altered", "--source")
    (before,) = told(folder, set_dir, *options)
    assert {(each["source"], each["record"]) for each in before["sources"]} == {("log", None)}
    assert follow(folder).code == 0
    written = journal_of(folder)
    (after,) = told(folder, set_dir, *options)
    assert [each["position"] for each in after["sources"]] == [each["position"] for each in before["sources"]]
    for each in after["sources"]:
        record = written[each["record"] - 1]
        assert (record["kind"], "{}:{}".format(*record["at"])) == ("schema", each["position"])
    assert after["since"] == after["sources"][-1]["position"]
    assert journal_of(folder) == written


def test_a_file_is_named_as_the_source(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, set_dir = without_the_creates(fresh_folder("50-cases")), sets_root / "50-cases"
    given = ("--table", "cdc.scalars", "--source", "--schema", set_dir / "schema.cql")
    (table,) = told(folder, set_dir, *given)
    assert table["sources"] == [{"position": "0:0", "source": "file schema.cql", "record": None, "retracted": False}]
    assert (
        "-- the beginning: file schema.cql, not in the journal"
        in schema(folder, set_dir, *given, "--output", "pretty").lines
    )


def test_the_text_for_people_is_cql_that_serves_as_a_schema_file(
    sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    folder, set_dir = fresh_folder("50-cases"), sets_root / "50-cases"
    text = schema(folder, set_dir, "--output", "pretty", "--table", "*")
    given = tmp_path / "told.cql"
    given.write_text(text.out)
    without_the_creates(folder)
    want = expected(set_dir, folder, base=True, quarantine=True).rows
    result = follow(folder, "--schema", given, "--on-error", "quarantine")
    assert result.code == 0, result.err
    # Of these the server's DESCRIBE does not tell what the log did: other ids of a name, the type of a dropped column.
    known_better = ("dropped", "recreated", "with_plain", "altered_type")
    got = [line for line in without_truncates(result.lines) if json.loads(line)["table"] not in known_better]
    same_rows([row for row in want if row.data["table"] not in known_better], got)


def test_many_tables_take_a_line_each_and_named_ones_are_shown_in_full(
    sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder, set_dir = fresh_folder("50-cases"), sets_root / "50-cases"
    lines = schema(folder, set_dir, "--output", "pretty").lines
    assert lines[0].split() == ["TABLE", "CDC", "COLUMNS", "SINCE"]
    assert len(lines) - 1 == len(told(folder, set_dir))
    assert max(map(len, lines)) <= 80
    for table, (_, columns) in described(set_dir).items():
        assert (table, str(len(columns))) in {(line.split()[0], line.split()[2]) for line in lines}
    full = schema(folder, set_dir, "--output", "pretty", "--table", "cdc.ck_all_desc").out
    assert "CREATE TABLE cdc.ck_all_desc (" in full
    assert "DESC" in full
    built_in = schema(folder, set_dir, "--output", "pretty", "--table", "system_schema.columns").out
    assert "since built in" in built_in


def test_nothing_known_is_said(sets_root: Path, tmp_path: Path) -> None:
    empty = tmp_path / "cdc_raw"
    empty.mkdir()
    result = run_cli(["schema", empty])
    assert (result.code, result.out) == (0, "")
    assert "--schema" in result.err
    result = run_cli(["schema", empty, "--table", "shop.orders"])
    assert (result.code, result.out) == (3, "")
    assert "shop.orders" in result.err
    assert run_cli(["schema", tmp_path / "nowhere"]).code == 2
    assert run_cli(["schema", empty, "--at", "yesterday"]).code == 2


def test_what_cannot_be_read_is_an_error_behind_what_is_known(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-aes")
    result = run_cli(["schema", folder])
    assert (result.code, result.out) == (3, "")
    assert "keystore" in result.err
    given = run_cli(["schema", folder, "--schema", sets_root / "50-aes" / "schema.cql", "--output", "json"])
    assert (given.code, len(given.lines) > 30) == (3, True)


def test_damage_in_the_log_is_told(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, set_dir = fresh_folder("50-cases"), sets_root / "50-cases"
    first = segments(folder)[0]
    (log,) = folder.glob(f"CommitLog-*-{first.id}.log")
    edge = first.edges[len(first.edges) // 2]
    content = bytearray(log.read_bytes())
    content[edge + 5] ^= 1
    log.write_bytes(content)
    result = schema(folder, set_dir, "--output", "json")
    assert f"{first.id}:{edge}" in result.err
    assert result.code == 0


Q = ("--on-error", "quarantine")


@pytest.fixture
def misled(sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path) -> Path:
    """A folder whose journal has the right definitions and then a wrong file, of the same layout."""
    folder, set_dir = without_the_creates(fresh_folder("50-cases")), sets_root / "50-cases"
    assert follow(folder, *Q, "--schema", set_dir / "schema.cql").code == 0
    wrong = tmp_path / "wrong.cql"
    text = (set_dir / "schema.cql").read_text()
    wrong.write_text(re.sub(r"(?s)(CREATE TABLE cdc\.altered \(.*?\n    a )int", r"\1float", text, count=1))
    assert follow(folder, *Q, "--schema", wrong).code == 0
    return folder


def record_of(folder: Path, source: str) -> int:
    (number,) = [each["n"] for each in journal_of(folder) if each.get("source") == source]
    return int(number)


def test_rows_are_right_again_once_a_wrong_file_is_retracted(misled: Path, sets_root: Path) -> None:
    set_dir = sets_root / "50-cases"
    want = expected(set_dir, misled, base=True, quarantine=True).rows
    of_table = [row.text for row in want if row.data["table"] == "altered"]
    assert not set(of_table) <= set(follow(misled, *Q).lines)
    number = record_of(misled, "file wrong.cql")
    before = (state_of(misled) / "journal").read_bytes()
    result = run_cli(["schema", "retract", str(number), misled])
    assert result.code == 0, result.err
    assert result.lines[0] == f"the beginning: file wrong.cql, record {number}, retracted"
    assert "    cdc.altered: column a: float → int" in result.lines
    written = (state_of(misled) / "journal").read_bytes()
    assert written.startswith(before)
    assert {**journal_of(misled)[-1], "n": 0} == {"n": 0, "kind": "retract", "of": number}
    after = follow(misled, *Q)
    assert after.code == 0
    same_rows(want, without_truncates(after.lines))
    again = run_cli(["schema", "retract", str(number), misled])
    assert again.code == 0
    assert "nothing changes" in again.out
    assert (state_of(misled) / "journal").read_bytes() == written


def test_a_retracted_record_is_still_listed(misled: Path, sets_root: Path) -> None:
    number = record_of(misled, "file wrong.cql")
    assert run_cli(["schema", "retract", str(number), misled]).code == 0
    set_dir = sets_root / "50-cases"
    taken = {"position": "0:0", "source": "file wrong.cql", "record": number, "retracted": True}
    (table,) = told(misled, set_dir, "--table", "cdc.altered", "--source")
    assert taken in table["sources"]
    assert [each["type"] for each in table["columns"] if each["name"] == "a"] == ["int"]
    changes = told(misled, set_dir, "--table", "cdc.altered", "--changes")
    assert [{**taken, **each} for each in changes if each["retracted"]] == [
        {**taken, "keyspace": "cdc", "table": "altered", "changes": [], "definition": None}
    ]
    pretty = schema(misled, set_dir, "--table", "cdc.altered", "--source", "--output", "pretty").lines
    assert f"-- the beginning: file wrong.cql, record {number}, retracted" in pretty


def test_only_definitions_can_be_retracted(misled: Path, tmp_path: Path) -> None:
    before = (state_of(misled) / "journal").read_bytes()
    (end, *_) = [each["n"] for each in journal_of(misled) if each["kind"] == "segment_end"]
    for number in (str(end), "9999", "0", "-1", "one"):
        result = run_cli(["schema", "retract", number, misled])
        assert (result.code, result.out) == (2, ""), number
        assert result.err
    assert (state_of(misled) / "journal").read_bytes() == before
    nowhere = tmp_path / "elsewhere"
    assert run_cli(["schema", "retract", "1", nowhere]).code == 2
    assert not state_of(nowhere).exists()


def test_retracting_the_only_definition_makes_a_table_unknown(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder = without_the_creates(fresh_folder("50-cases"))
    given = ("--schema", sets_root / "50-cases" / "schema.cql")
    assert follow(folder, *Q, *given).code == 0
    result = run_cli(["schema", "retract", str(record_of(folder, "file schema.cql")), folder])
    assert "    cdc.scalars: not known any more" in result.lines
    assert follow(folder).code == 3
