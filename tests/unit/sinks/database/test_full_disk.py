"""A disk that is full, a real one of a few megabytes: exit 8, and it goes on where there is room again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.sinks.database.conftest import made
from tests.unit.sinks.database.followed import agreed, follow, log, values
from tests.unit.sinks.database.targets import Target


def mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not mount("-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)):
        pytest.skip("this user may not mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "delta"])
def test_a_full_disk(kind: str, disk: Path, tmp_path: Path) -> None:
    folder, target = log(tmp_path), made(kind, disk)
    assert follow(folder, target, "--until", "1700000000001:0").code == 0
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                break
    ran = follow(folder, target)
    assert ran.code == 8, ran.err
    filler.unlink()
    agreed(target, folder)
    done: Target = made(kind, disk)
    assert follow(folder, done).code == 0
    assert values(done) == list(range(1, 21))
