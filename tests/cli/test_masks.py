"""`--mask` and `--exclude`: what rows have instead of a value, that no door shows it, and what is refused."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import cramjam
import deltalake
import duckdb
import pyarrow as pa
import pytest

from tests.helpers.cli import Result, run_cli
from tests.helpers.data_files import indexes
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    alter_payload,
    completed,
    create_payload,
    insert_payload,
    segment_of,
    simple_table,
)
from tests.helpers.logs.model import Column
from tests.helpers.masked_log import (
    CLEAR,
    ELEMENT,
    FIRST,
    MASKS,
    NAME,
    NUMBER,
    SECRET,
    hashed,
    key_file,
    mask_words,
    people_log,
)

PK, CK = hashed(b"clear-pk"), hashed(b"clear-ck")
SIMPLE = simple_table("ks", "t")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return key_file(tmp_path / "key")


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return people_log(tmp_path / "cdc_raw")


@pytest.fixture
def simple(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = segment_of(FIRST, [[create_payload(SIMPLE), insert_payload(SIMPLE, 1, "a", 10)]])
    folder.put(writer, completed(writer))
    return folder


def follow(log: LogFolder, *more: object) -> Result:
    words = ["follow", str(log.path), "--once", "--settle", "0.1", *map(str, more)]
    return run_cli(words, {"COLUMNS": "4000"})


def told(result: Result) -> list[dict[str, Any]]:
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.lines]


def test_rows_have_what_the_masks_say(log: LogFolder, key: Path) -> None:
    rows = told(follow(log, "--output", "json", *mask_words(key)))
    plain = told(follow(log, "--output", "json"))
    assert [row["op"] for row in rows] == [row["op"] for row in plain]
    assert [row["event_id"] for row in rows] == [row["event_id"] for row in plain]
    assert [(row["write_ts"], row["ttl"]) for row in rows] == [(row["write_ts"], row["ttl"]) for row in plain]
    assert all(row["partition_key"] == {"pk": PK, "part": 7} for row in rows)
    static, whole, later, told_range, untold, gone = rows
    assert static["columns"] == {"s": hashed(b"clear-static")}
    assert whole["clustering"] == {"ck": CK, "at": 1}
    name, value = hashed(b"clear-key"), hashed(b"clear-value")
    assert whole["columns"] == {
        "card": "****1234",
        "m": {"replaced": True, "put": {name: value}},
        "names": {"replaced": False, "put": [hashed(b"clear-name")]},
        "notes": {"replaced": False, "put": [["00010203-0405-0607-0809-0a0b0c0d0e0f", hashed(b"clear-note")]]},
        "null_m": None,
        "number": hashed(NUMBER.to_bytes(4, "big")),
        "plain": "seen",
    }
    assert bytes(range(16)) == ELEMENT
    assert whole["cells"] == {
        "m": {"elements": [[name, {"write_ts": TS + 1, "ttl": 60, "expires_at": 1_700_000_060}]]},
        "names": {"elements": [[hashed(b"clear-name"), {"write_ts": TS + 2}]]},
    }
    assert later["columns"] == {
        "m": {"replaced": False, "removed": [hashed(b"clear-removed")]},
        "names": {"replaced": False, "removed": [hashed(b"clear-removed")]},
    }
    assert told_range["range"] == {
        "start": {"ck": CK, "at": 3}, "start_inclusive": True, "end": {"ck": CK}, "end_inclusive": True,
    }  # fmt: skip
    assert untold["range"] == {
        "start": {"ck": CK}, "start_inclusive": False, "end": None, "end_inclusive": True, "masked": True,
    }  # fmt: skip
    assert gone["op"] == "delete_partition"
    assert len({row["token"] for row in rows}) == 1
    assert rows[0]["token"] != plain[0]["token"], "a token is a hash without a key: whoever guesses can check"


def test_typed_rows_have_the_same(log: LogFolder, key: Path) -> None:
    generic = told(follow(log, "--output", "json", *mask_words(key)))
    rows = told(follow(log, "--output", "json", "--typed", NAME, *mask_words(key)))
    assert [row["_range"] for row in rows] == [row["range"] for row in generic]
    assert [row["_cells"] for row in rows] == [row["cells"] for row in generic]
    assert [row["_token"] for row in rows] == [row["token"] for row in generic]
    whole = rows[1]
    assert "gone" not in whole
    assert (whole["pk"], whole["part"], whole["ck"], whole["at"]) == (PK, 7, CK, 1)
    assert (whole["number"], whole["card"], whole["plain"]) == (hashed(NUMBER.to_bytes(4, "big")), "****1234", "seen")
    assert whole["m"] == {hashed(b"clear-key"): hashed(b"clear-value")}
    assert whole["null_m"] is None
    assert whole["_set"] == ["card", "number", "plain", "m"]
    deltas = {name: generic[1]["columns"][name] for name in ("m", "names", "notes", "null_m")}
    assert whole["_deltas"] == deltas


def test_arrow_columns_have_the_type_of_what_is_in_them(log: LogFolder, key: Path, tmp_path: Path) -> None:
    words = ("--typed", NAME, *mask_words(key))
    out = tmp_path / "out"
    run = follow(log, "--consumer", "c", "--to", f"files:{out}", "--format", "arrow", *words)
    assert run.code == 0, run.err
    (index,) = indexes(out / "local")
    types = {field.name: str(field.type) for field in pa.ipc.open_file(out / "local" / index["data"]).schema}
    assert "gone" not in types
    assert {name: types[name] for name in MASKS} == {
        "pk": "string", "ck": "string", "s": "string", "number": "string", "m": "map<string, string>",
        "names": "list<item: string>", "notes": "list<item: string>", "card": "string",
        "null_m": "map<string, string>",
    }  # fmt: skip


@pytest.mark.parametrize("form", ["generic", "typed"])
@pytest.mark.parametrize(
    "words",
    [
        ("--output", "json"),
        ("--output", "pretty"),
        ("--to", "files:{out}", "--format", "rows"),
        ("--to", "files:{out}", "--format", "arrow"),
        ("--to", "files:{out}", "--format", "debezium"),
        ("--to", "files:{out}", "--format", "debezium", "--with-schema"),
        ("--to", "files:{out}", "--format", "debezium-cassandra"),
        ("--to", "sqlite:{out}.db", "--into", "people"),
        ("--to", "duckdb:{out}.duckdb", "--into", "people"),
        ("--to", "delta:{out}-delta"),
    ],
    ids=" ".join,
)
def test_no_door_shows_a_clear_value(
    log: LogFolder, key: Path, tmp_path: Path, words: tuple[str, ...], form: str
) -> None:
    out = tmp_path / "out"
    words = tuple(word.format(out=out) for word in words)
    typed = ("--typed", NAME) if form == "typed" else ()
    kept = ("--consumer", "c", "--node", "n") if "--to" in words else ()
    clear = shown(follow(log, *words, *typed, *kept), tmp_path, "clear")
    assert [each for each in CLEAR if each.encode() not in clear and each != "clear-nullvalue"] == [], "it finds them"
    masked = shown(follow(log, *words, *typed, *(kept and ("--consumer", "d", "--node", "n")), *mask_words(key)),
                   tmp_path, "masked")  # fmt: skip
    assert [each for each in CLEAR if each.encode() in masked] == []
    assert b"seen" in masked
    assert PK.encode() in masked


def shown(result: Result, folder: Path, kind: str) -> bytes:
    """All bytes that a run gave, to the terminal and into files, which are moved out of the next run's way."""
    assert result.code == 0, result.err
    found = [result.out.encode(), result.err.encode()]
    for file in sorted(folder.glob("out*")):
        there = file.rename(folder / f"{kind}-{file.name}")
        for each in sorted(there.rglob("*")) if there.is_dir() else [there]:
            if each.is_file():
                found.append(unpacked(each))
        found.append(values_in(there).encode())
    return b"\n".join(found)


def values_in(target: Path) -> str:
    """What a database or a Delta table has, whatever it packs."""
    if target.suffix == ".db":
        with sqlite3.connect(target) as database:
            return "\n".join(database.iterdump())
    if target.suffix == ".duckdb":
        with duckdb.connect(str(target)) as database:
            return str(database.sql("SELECT * FROM people").fetchall())
    if target.name.endswith("-delta"):
        return str(deltalake.DeltaTable(target).to_pyarrow_table().to_pylist())
    return ""


def unpacked(file: Path) -> bytes:
    if file.suffix == ".zst":
        return bytes(cramjam.zstd.decompress(file.read_bytes()))
    if file.suffix == ".arrow":
        return str(pa.ipc.open_file(file).read_all().to_pylist()).encode()
    return file.read_bytes()


def test_the_state_folder_holds_the_keys_fingerprint_alone(log: LogFolder, key: Path) -> None:
    assert follow(log, "--consumer", "c", *mask_words(key)).code == 0
    state = log.path.with_name(log.path.name + ".cdc_tail")
    kept = b"".join(file.read_bytes() for file in state.rglob("*") if file.is_file())
    assert SECRET not in kept
    assert hashed(b"cdc-tail mask key")[:16].encode() in kept


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--mask", "ks.t.v=hash"], "needs a key"),
        (["--mask", "ks.t.ck=null"], "primary key"),
        (["--mask", "ks.t.ck=last4"], "primary key"),
        (["--exclude", "ks.t.pk"], "primary key"),
        (["--mask", "ks.t.v=last4"], "column of type text"),
        (["--mask", "ks.t.w=null"], "no column 'w' in ks.t"),
        (["--exclude", "ks.t.w"], "no column 'w' in ks.t"),
        (["--mask", "ks.u.v=null"], "no definition for table ks.u"),
        (["--exclude", "ks.u"], "no definition for table ks.u"),
        (["--mask", "ks.t.v=md5"], "hash|null|last4"),
        (["--mask", "ks.t.v"], "hash|null|last4"),
        (["--exclude", "t"], "keyspace.table"),
        (["--mask", "ks.t.v=null", "--exclude", "ks.t.v"], "two masks"),
        (["--typed", "ks.t", "--exclude", "ks.t"], "left out"),
    ],
)
def test_what_cannot_be_is_refused(simple: LogFolder, words: list[str], says: str) -> None:
    ran = follow(simple, "--output", "json", *words)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert says in ran.err


def test_a_key_file_that_is_none(simple: LogFolder, tmp_path: Path) -> None:
    def refused(file: Path) -> str:
        ran = follow(simple, "--output", "json", "--mask", "ks.t.v=hash", "--mask-key", file)
        assert (ran.code, ran.out) == (2, "")
        return ran.err

    assert "no such file" in refused(tmp_path / "none")
    assert "expected 16 to 4096 bytes, found 3" in refused(key_file(tmp_path / "short", b"abc"))
    seen = key_file(tmp_path / "seen")
    seen.chmod(0o644)
    assert "no rights for others, found mode 644" in refused(seen)


def test_a_misspelt_table_that_comes_later(simple: LogFolder) -> None:
    words = ("--output", "json", "--mask-may-come", "--mask", "ks.later.v=null", "--mask", "ks.t.new=null")
    assert [row["columns"] for row in told(follow(simple, *words))] == [{"v": 10}]
    later = simple_table("ks", "later", 2)
    more = [create_payload(later), insert_payload(later, 1, "a", 10)]
    writer = segment_of(FIRST + 1, [[*more, alter_payload(SIMPLE, Column("new", "regular", "text"), TS + 1)]])
    simple.put(writer, completed(writer))
    assert [row["columns"] for row in told(follow(simple, *words))] == [{"v": 10}, {"v": None}]
    ran = follow(simple, "--output", "json", "--mask-may-come", "--mask", "ks.later.ck=null")
    assert (ran.code, ran.out) == (2, "")


def test_a_table_that_comes_later_is_held_to_its_masks_before_its_rows(simple: LogFolder) -> None:
    words = ("--consumer", "c", "--output", "json", "--mask-may-come", "--mask", "ks.later.ck=null")
    assert len(told(follow(simple, *words))) == 1
    later = simple_table("ks", "later", 2)
    writer = segment_of(FIRST + 1, [[create_payload(later), insert_payload(later, 1, "a", 10)]])
    simple.put(writer, completed(writer))
    ran = follow(simple, *words)
    assert (ran.code, ran.out) == (2, "")
    assert "primary key" in ran.err


def test_a_consumer_keeps_its_masks_and_its_key(simple: LogFolder, key: Path, tmp_path: Path) -> None:
    named = ("--consumer", "c", "--output", "json")
    hash_ck = ("--mask", "ks.t.ck=hash", "--mask-key", key)
    assert len(told(follow(simple, *named, *hash_ck))) == 1
    ran = follow(simple, *named)
    assert (ran.code, ran.out) == (6, "")
    assert "consumer c masks ks.t.ck=hash, and this run does not" in ran.err
    other = key_file(tmp_path / "other", b"another key of 16 bytes")
    ran = follow(simple, *named, "--mask", "ks.t.ck=hash", "--mask-key", other)
    assert (ran.code, ran.out) == (6, "")
    assert "with the key of fingerprint" in ran.err
    writer = segment_of(FIRST + 1, [[insert_payload(SIMPLE, 2, "a", 20)]])
    simple.put(writer, completed(writer))
    (row,) = told(follow(simple, *named, *hash_ck, "--mask", "ks.t.v=null"))
    assert (row["clustering"], row["columns"]) == ({"ck": hashed(b"a")}, {"v": None}), "more masks may come"
    assert follow(simple, *named, *hash_ck).code == 6, "and stay then"
    assert run_cli(["consumers", str(simple.path), "drop", "c"]).code == 0
    assert len(told(follow(simple, *named))) == 2, "another consumer of that name may show them"


def test_quarantine_comes_back_masked(tmp_path: Path, key: Path) -> None:
    log = LogFolder(tmp_path / "cdc_raw")
    rows = segment_of(FIRST, [[insert_payload(SIMPLE, 7, "clear-ck", NUMBER)]])
    log.put(rows, completed(rows))
    masks = ("--mask", "ks.t.ck=hash", "--mask", "ks.t.v=hash", "--mask-may-come", "--mask-key", key)
    assert follow(log, "--consumer", "c", "--on-error", "quarantine", "--output", "json", *masks).lines == []
    later = segment_of(FIRST + 1, [[create_payload(SIMPLE)]])
    log.put(later, completed(later))
    assert follow(log, "--consumer", "other", "--output", "json", "--from", f"{FIRST + 1}:0").code == 0
    replay = ["quarantine", str(log.path), "replay", "--consumer", "c", "--output", "json"]
    refused = run_cli(replay)
    assert (refused.code, refused.out) == (6, "")
    (row,) = told(run_cli([*replay, "--mask-key", str(key)]))
    assert row["clustering"] == {"ck": hashed(b"clear-ck")}
    assert row["columns"] == {"v": hashed(NUMBER.to_bytes(4, "big"))}
    assert row["late"] is True


def test_rows_of_excluded_tables_do_not_come(simple: LogFolder) -> None:
    other = simple_table("ks", "other", 2)
    writer = segment_of(FIRST + 1, [[create_payload(other), insert_payload(other, 1, "a", 11)]])
    simple.put(writer, completed(writer))
    rows = told(follow(simple, "--output", "json", "--exclude", "ks.t", "--schema-changes"))
    assert {row["table"] for row in rows} == {"other"}


@pytest.mark.parametrize("began", [True, False])
def test_masks_that_are_refused_do_not_bind_the_consumer(began: bool, simple: LogFolder, key: Path) -> None:
    """What was misspelt is corrected by the run after it."""
    named, hash_ck = ("--consumer", "c", "--output", "json"), ("--mask", "ks.t.ck=hash", "--mask-key", key)
    if began:
        assert len(told(follow(simple, *named, *hash_ck))) == 1
    for wrong in ("ks.t.vv=null", "ks.tt.v=null"):
        assert follow(simple, *named, *hash_ck, "--mask", wrong).code == 2
    writer = segment_of(FIRST + 1, [[insert_payload(SIMPLE, 2, "a", 20)]])
    simple.put(writer, completed(writer))
    *_, row = told(follow(simple, *named, *hash_ck, "--mask", "ks.t.v=null"))
    assert (row["clustering"], row["columns"]) == ({"ck": hashed(b"a")}, {"v": None})
    assert follow(simple, *named, *hash_ck).code == 6, "these masks gave rows"
