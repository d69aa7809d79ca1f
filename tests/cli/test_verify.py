"""`verify`: nothing to say of what servers wrote, every damage named with its place; growing tails are no damage."""

from __future__ import annotations

import json
import os
import pty
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.amount import examples
from tests.helpers.cli import ROOT, Result, run_cli
from tests.helpers.logs.native import NativeTable, NativeWriter
from tests.helpers.sets import FRAMED, PLAIN, STAGES, Place, key_options, stages
from tests.native.logs import NOTES, ORDERS, folder_of, put

FreshFolder = Callable[..., Path]

SINGLE = [*(Place(name) for name in (*PLAIN, *FRAMED)), Place("50-killed-lz4", "killed")]
FIRST, LAST = 1795259993379, 1795259993384
"""Segments of 50-lz4: one finished, one still written."""


def verify(folder: Path, *options: str, env: dict[str, str] | None = None) -> tuple[Result, dict[int, dict[str, Any]]]:
    """The result, and what it says of each segment."""
    result = run_cli(["verify", folder, "--output", "json", "--settle", "0", *options], env)
    items = [json.loads(line) for line in result.lines]
    assert [item["is"] for item in items] == ["segment"] * (len(items) - 1) + ["sum"]
    return result, {item["segment"]: item for item in items[:-1]}


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 0x10
    file.write_bytes(data)


def log(folder: Path, segment: int) -> Path:
    return folder / f"CommitLog-7-{segment}.log"


def idx(folder: Path, segment: int) -> Path:
    return folder / f"CommitLog-7-{segment}_cdc.idx"


@pytest.mark.parametrize("place", SINGLE, ids=str)
def test_recorded_folders_are_sound(sets_root: Path, place: Place) -> None:
    options, env = key_options(sets_root / place.set)
    result, segments = verify(place.folder(sets_root), *options, env=env)
    assert (result.code, result.err) == (0, "")
    assert [item["errors"] for item in segments.values()] == [[] for _ in segments]
    if place.part == "cdc_raw":
        for segment, item in segments.items():
            view = next((sets_root / place.set / "expected").glob(f"*{segment}*.jsonl")).read_text("utf-8").splitlines()
            assert place.set == "50-torn" or item["entries"] >= len(view)


@pytest.mark.parametrize("name", STAGES)
def test_recorded_stages_are_sound(sets_root: Path, name: str) -> None:
    for place in stages(name):
        folder = place.folder(sets_root)
        if not any(folder.iterdir()):
            # Nothing says that this is a log's folder: it is empty, and has another name.
            assert run_cli(["verify", folder]).code == 2, place
            continue
        result, _ = verify(folder)
        assert (result.code, result.err) == (0, ""), place


def test_a_torn_marker_beyond_the_promised_end_is_told_and_is_no_damage(sets_root: Path) -> None:
    for options in ([], ["--stopped"]):
        result, segments = verify(sets_root / "50-torn" / "cdc_raw", *options)
        assert result.code == 0
        torn = segments[1795258981170]
        assert torn["log_end"] == 419981
        (notice,) = torn["notices"]
        assert "sync marker CRC does not check" in notice
        assert "419981" in notice


def sections(folder: Path, segment: int) -> list[dict[str, int]]:
    (item,) = [json.loads(line) for line in run_cli(["inspect", log(folder, segment)]).lines]
    return list(item["sections"])


DAMAGE: dict[str, tuple[str, Callable[[Path, list[dict[str, int]]], None], str]] = {
    "a bit of the header": ("50-lz4", lambda file, chain: flip(file, 16), "header CRC does not check"),
    "a bit of a marker's CRC": (
        "50-lz4",
        lambda file, chain: flip(file, chain[5]["offset"] + 4),
        "sync marker CRC does not check at {marker}",
    ),
    "a marker's pointer": (
        "50-lz4",
        lambda file, chain: flip(file, chain[5]["offset"]),
        "section reaches beyond the file at {marker}",
    ),
    "a compressed byte's length": (
        "50-lz4",
        lambda file, chain: flip(file, chain[5]["offset"] + 12),
        "LZ4Compressor section's length at {marker}",
    ),
    "an entry's size": ("50-cases", lambda file, chain: flip(file, chain[5]["offset"] + 10), "at {entry}"),
    "an entry's first CRC": (
        "50-cases",
        lambda file, chain: flip(file, chain[5]["offset"] + 12),
        "entry size CRC does not check at {entry}",
    ),
    "an entry's payload": (
        "50-cases",
        lambda file, chain: flip(file, chain[5]["offset"] + 20),
        "entry CRC does not check at {entry}",
    ),
    "zeros in the middle": (
        "50-cases",
        lambda file, chain: blank(file, chain[5]["offset"], 200),
        "zero marker at {marker}",
    ),
    "a file cut short": (
        "50-cases",
        lambda file, chain: os.truncate(file, chain[5]["offset"]),
        "end of file at {marker}",
    ),
}


def blank(file: Path, at: int, length: int) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:at] + bytes(length) + data[at + length :])


@pytest.mark.parametrize(("name", "damage", "words"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_4_with_its_place(
    fresh_folder: FreshFolder, name: str, damage: Callable[[Path, list[dict[str, int]]], None], words: str
) -> None:
    folder = fresh_folder(name)
    file = min(folder.glob("*.log"))
    segment = int(file.stem.rpartition("-")[2])
    chain = sections(folder, segment)
    damage(file, chain)
    result, segments = verify(folder)
    assert result.code == 4
    start = chain[5]["start"]
    assert words.format(marker=f"{segment}:{start}", entry=f"{segment}:{start + 8}") in result.err
    assert "expected" in result.err
    assert "found" in result.err
    assert [item["segment"] for item in segments.values() if item["damaged"]] == [segment]


def test_all_damage_is_listed_and_the_check_goes_on_behind_it(fresh_folder: FreshFolder, sets_root: Path) -> None:
    folder = fresh_folder("50-cases")
    file = min(folder.glob("*.log"))
    lines = (sets_root / "50-cases" / "expected" / f"{file.name}.jsonl").read_text("utf-8").splitlines()
    hits = [json.loads(lines[number]) for number in (3, 40, 41, 200)]
    for hit in hits:
        flip(file, hit["end"] - 6)
    whole, _ = verify(sets_root / "50-cases" / "cdc_raw")
    result, segments = verify(folder)
    assert result.code == 4
    item = segments[hits[0]["segment"]]
    places = [f"{hit['segment']}:{hit['end'] - hit['size'] - 12}" for hit in hits]
    assert [error["at"] for error in item["errors"]] == places
    sound = next(json.loads(line) for line in whole.lines)
    assert item["entries"] == sound["entries"] - 4
    assert item["log_end"] == sound["log_end"]


def test_beyond_the_promised_end_nothing_is_damage_yet(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-lz4")
    chain = sections(folder, LAST)
    idx(folder, LAST).write_text(str(chain[2]["end"]))
    flip(log(folder, LAST), chain[4]["offset"] + 12)
    result, segments = verify(folder)
    assert result.code == 0
    assert segments[LAST]["log_end"] == chain[3]["end"]
    assert segments[LAST]["unpromised"] == 1


def test_promised_bytes_of_a_growing_segment_must_show_in_the_end(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-lz4")
    chain = sections(folder, LAST)
    os.truncate(log(folder, LAST), chain[4]["offset"])
    result, segments = verify(folder, "--settle", "0.2")
    assert result.code == 4
    assert f"{LAST}:{chain[4]['start']}" in result.err
    assert segments[LAST]["damaged"]


def test_remains_of_a_crash_behind_the_published_end_are_a_notice(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-lz4")
    with log(folder, FIRST).open("ab") as file:
        file.write(b"\x00\x01\x02\x03torn")
    result, segments = verify(folder)
    assert result.code == 0
    assert any("a crash left what follows" in notice for notice in segments[FIRST]["notices"])


def test_without_the_key_nothing_is_checked_and_it_is_3(sets_root: Path) -> None:
    result, segments = verify(sets_root / "50-aes" / "cdc_raw")
    assert result.code == 3
    assert "--keystore" in result.err
    assert not any(item["damaged"] for item in segments.values())


def test_another_key_is_damage_that_names_the_key(sets_root: Path, tmp_path: Path) -> None:
    options, env = key_options(sets_root / "40-aes")
    result, _ = verify(sets_root / "50-aes" / "cdc_raw", *options, env=env)
    assert result.code == 4
    assert "key" in result.err


def test_an_unknown_descriptor_is_3(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    file = min(folder.glob("*.log"))
    data = bytearray(file.read_bytes())
    data[3] = 9
    segment = int.from_bytes(data[4:12], "big")
    crc = zlib.crc32(b"{}", zlib.crc32(struct.pack(">iIII", 9, segment & 0xFFFFFFFF, segment >> 32, 2)))
    data[16:20] = struct.pack(">I", crc)
    file.write_bytes(data)
    result, _ = verify(folder)
    assert result.code == 3
    assert "unknown commit-log descriptor" in result.err


def test_people_get_a_line_a_segment_and_a_sum(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-lz4")
    flip(log(folder, FIRST), 20_000)
    result = run_cli(["verify", folder, "--output", "pretty"])
    assert result.code == 4
    assert result.lines[0].startswith(f"{FIRST}  DAMAGED ")
    assert result.lines[1].startswith(f"    entry CRC does not check at {FIRST}:")
    assert result.lines[2].startswith(f"{FIRST + 1}  ok ")
    assert result.lines[-1].startswith("7 segments, ")
    assert result.lines[-1].endswith(": 1 damaged")


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32), count=st.integers(1, 5), cut=st.booleans())
def test_any_damage_is_a_documented_exit(
    sets_root: Path, tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, cut: bool
) -> None:
    chance, folder = random.Random(seed), tmp_path_factory.mktemp("damaged")
    source = sets_root / chance.choice(["50-lz4", "50-zstd", "50-deflate", "50-snappy", "50-direct"]) / "cdc_raw"
    file = chance.choice([file for file in sorted(source.glob("*.log")) if file.stat().st_size < 40_000])
    data = bytearray(file.read_bytes())
    for _ in range(count):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    (folder / file.name).write_bytes(data[: chance.randrange(len(data))] if cut else data)
    sidecar = file.with_name(file.name.replace(".log", "_cdc.idx"))
    if sidecar.exists():
        (folder / sidecar.name).write_bytes(sidecar.read_bytes())
    result, _ = verify(folder)
    assert result.code in (0, 3, 4)
    assert run_cli(["inspect", folder, "--entries"]).code in (0, 3)


def test_an_empty_folder_has_no_damage(tmp_path: Path) -> None:
    empty = tmp_path / "cdc_raw"
    empty.mkdir()
    result, segments = verify(empty)
    assert (result.code, segments) == (0, {})


def test_the_progress_bar_is_for_terminals_and_on_standard_error(sets_root: Path) -> None:
    folder = str(sets_root / "50-cases" / "cdc_raw")
    command = [sys.executable, "-c", "from tailer.cli.app import run; run()", "verify", folder, "--output", "json"]
    quiet = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert quiet.stderr == b""
    parent, child = pty.openpty()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=child) as process:
        os.close(child)
        assert process.stdout is not None
        out = process.stdout.read()
        shown = os.read(parent, 10_000)
    os.close(parent)
    assert [line.partition(b',"seconds"')[0] for line in out.splitlines()] == [
        line.partition(b',"seconds"')[0] for line in quiet.stdout.splitlines()
    ]
    assert b"checking" in shown


class TestMin:
    """A native log's sidecar promises that nothing captured stands before its first number."""

    def written(self, path: Path, early: NativeTable) -> tuple[Path, NativeWriter, list[int]]:
        """A section of a table, one of ORDERS, and the sidecar of who takes the second for the first captured one."""
        writer = NativeWriter(FIRST)
        edges = []
        for table in (early, ORDERS):
            edges.append(writer.frame.end)
            writer.section([table.definition, put(1, "a", table=table), put(2, "b", table=table)])
        writer.first = edges[1]
        return folder_of(path, writer), writer, edges

    def test_what_does_not_capture_may_stand_there(self, tmp_path: Path) -> None:
        result, found = verify(self.written(tmp_path, NOTES)[0])
        assert (result.code, found[FIRST]["errors"]) == (0, [])

    def test_what_captures_is_corruption_with_its_place(self, tmp_path: Path) -> None:
        folder, writer, edges = self.written(tmp_path, ORDERS)
        result, found = verify(folder)
        assert result.code == 4
        begins = [entry.start for entry in writer.frame.entries if entry.start < edges[1]][:3]
        assert [error["at"] for error in found[FIRST]["errors"]] == [f"{FIRST}:{start}" for start in begins]
        assert found[FIRST]["errors"][0]["expected"] == f"nothing captured before {FIRST}:{edges[1]}"
