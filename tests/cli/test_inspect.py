"""`inspect` against the server's own view: entry ends, sizes and tables; sidecars and sections; damaged files too."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import ROOT, run_cli
from tests.helpers.sets import FRAMED, PLAIN, key_options

KINDS = {"50-cases": "plain", "50-lz4": "LZ4Compressor", "50-zstd": "ZstdCompressor", "50-aes": "AES/CBC/PKCS5Padding"}


def told(*arguments: str | Path, env: dict[str, str] | None = None) -> list[dict[str, Any]]:
    result = run_cli(["inspect", *arguments, "--output", "json"], env)
    assert (result.code, result.err) == (0, "")
    return [json.loads(line) for line in result.lines]


def tables(line: dict[str, Any]) -> set[str]:
    return {update["id"].replace("-", "") for update in line["updates"]}


@pytest.mark.parametrize("name", [*PLAIN, *FRAMED])
def test_entries_are_those_that_the_server_saw(sets_root: Path, name: str) -> None:
    options, env = key_options(sets_root / name)
    folder = sets_root / name / "cdc_raw"
    items = [item for item in told(folder, "--entries", *options, env=env) if item["is"] == "entry"]
    entries = {(item["segment"], item["end"]): item for item in items}
    lines = [
        json.loads(line)
        for view in sorted((sets_root / name / "expected").iterdir())
        for line in view.read_text("utf-8").splitlines()
    ]
    if name == "50-torn":  # its view goes on behind the torn marker, where the chain of sections ends
        lines = [line for line in lines if (line["segment"], line["end"]) <= (1795258981170, 419981)]
    assert len(lines) > 1000
    for line in lines:
        entry = entries[line["segment"], line["end"]]
        assert entry["size"] == line["size"]
        assert entry["start"] == line["end"] - line["size"] - 12
        assert entry["updates"] == len(line["updates"])
        assert set(entry["tables"]) == tables(line)


def test_tables_are_counted_and_named_without_definitions(sets_root: Path) -> None:
    folder = sets_root / "50-cases" / "cdc_raw"
    counted: Counter[tuple[int, str]] = Counter()
    for view in (sets_root / "50-cases" / "expected").iterdir():
        for line in map(json.loads, view.read_text("utf-8").splitlines()):
            for update in line["updates"]:
                counted[line["segment"], f"{update['keyspace']}.{update['table']}"] += 1
    items = [item for item in told(folder, "--tables") if item["is"] == "table"]
    shown: Counter[tuple[int, str]] = Counter()
    for item in items:
        if not re.match("system(_auth|_distributed|_traces)?[.]", item["name"]):
            shown[item["segment"], item["name"]] += item["entries"]
    assert shown == counted


@pytest.mark.parametrize("name", KINDS)
def test_heads_agree_with_the_recording(sets_root: Path, name: str) -> None:
    folder, meta = sets_root / name / "cdc_raw", json.loads((sets_root / name / "meta.json").read_text())
    segments = told(folder)
    assert [item["file"] for item in segments] == sorted(file.name for file in folder.glob("*.log"))
    for item in segments:
        assert (item["version"], item["kind"], item["payload"]) == (7, KINDS[name], "cassandra")
        text = meta["index_files"].get(item["file"].replace(".log", "_cdc.idx"))
        if text is None:
            assert item["sidecar"] is None
            continue
        number, _, word = text.partition("\n")
        assert item["sidecar"] == {"end": int(number), "completed": word == "COMPLETED", "first": None, "restart": None}
        ends = [section["end"] for section in item["sections"]]
        assert int(number) in ends
        if word:
            assert item["log_end"] == int(number) == ends[-1]
        assert item["sections"][0]["start"] == item["header_bytes"]
        plain = [section["end"] - section["start"] - 8 for section in item["sections"]]
        assert plain == [section["plain_bytes"] for section in item["sections"]]


def test_one_segment_for_people(sets_root: Path) -> None:
    file = sets_root / "50-torn" / "cdc_raw" / "CommitLog-7-1795258981170.log"
    result = run_cli(["inspect", file, "--output", "pretty"])
    assert result.code == 0
    lines = result.lines
    assert lines[0] == "CommitLog-7-1795258981170.log"
    assert "  sidecar    416146" in lines
    assert "  header     descriptor 7, plain, payload cassandra" in lines
    assert (
        "  log end    419981, then sync marker CRC does not check (byte 419981: expected 0x8bd95aee, found 0x00000000)"
        in lines
    )
    assert lines[-1].split() == ["416146", "419981", "416146", "3835", "3827"]


@pytest.mark.parametrize("name", ["50-cases", "50-aes", "50-batch-sync", "50-killed-lz4"])
def test_a_folder_for_people_fits_80_columns(sets_root: Path, name: str) -> None:
    result = run_cli(["inspect", sets_root / name / "cdc_raw", "--output", "pretty"])
    assert result.code == 0
    assert len(result.lines) == len(list((sets_root / name / "cdc_raw").glob("*.log"))) + 1
    assert max(map(len, result.lines)) <= 80


def test_entries_for_people_have_positions_and_names(sets_root: Path) -> None:
    file = sets_root / "50-lz4" / "cdc_raw" / "CommitLog-7-1795259993384.log"
    result = run_cli(["inspect", file, "--entries", "--output", "pretty"])
    assert re.search(r"^  1795259993384:\d+ +\d+  cdc\.filler$", result.out, re.MULTILINE)


def test_a_file_of_cql_names_what_the_log_does_not(fresh_folder: Callable[..., Path], sets_root: Path) -> None:
    folder = fresh_folder("50-lz4")
    min(folder.glob("*.log")).unlink()
    unnamed = {item["table"] for item in told(folder, "--tables") if item["is"] == "table" and item["name"] is None}
    named = told(folder, "--tables", "--schema", sets_root / "50-lz4" / "schema.cql")
    names = {item["table"]: item["name"] for item in named if item["is"] == "table"}
    assert "cdc.filler" in {names[table] for table in unnamed}


def test_heads_of_an_encrypted_log_need_no_key_and_its_entries_do(sets_root: Path) -> None:
    folder = sets_root / "50-aes" / "cdc_raw"
    assert {item["kind"] for item in told(folder)} == {"AES/CBC/PKCS5Padding"}
    result = run_cli(["inspect", folder, "--tables"])
    assert result.code == 3
    assert "--keystore" in result.err


def test_heads_load_neither_numpy_nor_a_codec(sets_root: Path) -> None:
    program = (
        "import sys; from tailer.cli.app import main; assert main(['inspect', sys.argv[1]]) == 0\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, str(sets_root / "50-lz4" / "cdc_raw")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"numpy", "pyarrow", "pyspark", "cramjam", "cryptography"} & set(done.stderr.split()) == set()


def test_what_cannot_be_read_is_said_and_the_rest_is_shown(fresh_folder: Callable[..., Path]) -> None:
    folder = fresh_folder("50-lz4")
    files = sorted(folder.glob("*.log"))
    files[0].write_bytes(b"\0" * 5)
    files[1].write_bytes(b"\0" * 4096)
    header = bytearray(files[2].read_bytes())
    header[16] ^= 1
    files[2].write_bytes(header)
    files[3].write_bytes(b"\0\0\0\x06" + files[3].read_bytes()[4:])
    (folder / files[4].name.replace(".log", "_cdc.idx")).write_text("12x")
    items = told(folder, "--entries")
    segments = [item for item in items if item["is"] == "segment"]
    assert [item["version"] for item in segments] == [None, None, None, None, 7, 7, 7]
    assert [item["error"] for item in segments[:2]] == [None, None]
    assert "header CRC does not check" in segments[2]["error"]
    assert "header CRC does not check" in segments[3]["error"]
    assert segments[4]["sidecar"] == {"end": None, "completed": False, "first": None, "restart": None}
    shown = run_cli(["inspect", folder, "--output", "pretty"])
    assert shown.code == 0
    assert "no header yet" in shown.out


def test_bad_entries_stand_among_the_good_ones(fresh_folder: Callable[..., Path], sets_root: Path) -> None:
    folder = fresh_folder("50-cases")
    file = min(folder.glob("*.log"))
    view = (sets_root / "50-cases" / "expected" / f"{file.name}.jsonl").read_text("utf-8").splitlines()
    hit = json.loads(view[5])
    data = bytearray(file.read_bytes())
    data[hit["end"] - 5] ^= 0x80
    file.write_bytes(data)
    items = told(file, "--entries")
    (fault,) = [item for item in items if item["is"] == "fault"]
    assert fault["start"] == hit["end"] - hit["size"] - 12
    assert fault["length"] == hit["size"] + 12
    assert "CRC" in fault["error"]
    ends = {item["end"] for item in items if item["is"] == "entry"}
    assert {json.loads(line)["end"] for line in view} - ends == {hit["end"]}


@pytest.mark.parametrize(
    ("name", "words"),
    [("nothing", "no such folder"), ("CommitLog-7-1.log", "no such segment"), ("README", "this is no segment")],
)
def test_wrong_paths_are_wrong_usage(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "README").write_text("")
    result = run_cli(["inspect", tmp_path / name])
    assert result.code == 2
    assert words in result.err


def test_an_empty_folder_has_no_segments(tmp_path: Path) -> None:
    empty = tmp_path / "cdc_raw"
    empty.mkdir()
    assert told(empty) == []
    assert run_cli(["inspect", empty, "--output", "pretty"]).out.startswith("SEGMENT")
