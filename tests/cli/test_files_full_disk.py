"""A disk that is full, a real one of a few megabytes, under a follower into data files and under their shipper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.cli import run_cli
from tests.helpers.data_files import lines_of
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.small_disk import SmallDisk, small_disk

TABLE = simple_table("ks", "t")
FIRST = 1_700_000_000_001
ROWS, SEGMENTS = 50, 4
ALL = list(range(ROWS * SEGMENTS))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 2) as made:
        yield made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = LogFolder(tmp_path / "cdc_raw")
    for number in range(SEGMENTS):
        rows = [insert_payload(TABLE, v, "a", v) for v in ALL[number * ROWS : (number + 1) * ROWS]]
        made = segment_of(FIRST + number, [[create_payload(TABLE)], rows])
        folder.put(made, completed(made))
    return folder.path


def values(folder: Path) -> list[int]:
    return [row["columns"]["v"] for row in lines_of(folder / "local")]


def test_under_a_follower(log: Path, disk: SmallDisk) -> None:
    words = ["follow", log, "--once", "--consumer", "c", "--to", f"files:{disk.folder / 'out'}", "--roll-bytes", "1"]
    assert run_cli([*words, "--until", f"{FIRST + 1}:0"]).code == 0
    disk.fill()
    ran = run_cli(words)
    assert ran.code == 8
    assert "No space left on device" in ran.err
    assert "Free space, and start again." in ran.err
    assert values(disk.folder / "out") == ALL[:ROWS]
    disk.make_room()
    assert run_cli(words).code == 0
    assert values(disk.folder / "out") == ALL


def test_under_a_shipper(log: Path, disk: SmallDisk, tmp_path: Path) -> None:
    out, two = tmp_path / "out", disk.folder / "two"
    words = ["follow", log, "--once", "--consumer", "c", "--to", f"files:{out}", "--roll-bytes", "1"]
    ship = ["ship", out, "--once", "--to", f"files:{two}"]
    assert run_cli([*words, "--until", f"{FIRST + 1}:0"]).code == 0
    assert run_cli(ship).code == 0
    assert run_cli(words).code == 0
    disk.fill()
    ran = run_cli(ship)
    assert ran.code == 8
    assert "No space left on device" in ran.err
    assert values(two) == ALL[:ROWS]
    disk.make_room()
    assert run_cli(ship).code == 0
    assert values(two) == ALL
