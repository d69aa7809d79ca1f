"""Both ways to a CRC against zlib's: every length and alignment, any bytes, any register to begin with."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.cli import ROOT
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = compiled_only

WAYS = ("tables", "folding")
ALL = 0xFFFFFFFF


class Ways:
    """The process that knows them."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.unit.framing.compiled.crc_ways"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "CRC_WAYS": str(folder)},
            cwd=ROOT,
            text=True,
        )
        self.known: list[str] = json.loads(self._line())

    def crc(self, way: str, data: bytes, before: int, at: int, end: int) -> int:
        """The CRC of the bytes from one offset to another behind those with the CRC `before`."""
        if way not in self.known:
            pytest.skip("the processor multiplies only with carries")
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([way, data.hex(), before, at, end]) + "\n")
        self.process.stdin.flush()
        return int(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    made = Ways(tmp_path_factory.mktemp("code"))
    with made.process:
        yield made
        made.process.kill()


def _random(length: int) -> bytes:
    return random.Random(length).randbytes(length)


@pytest.mark.parametrize("way", WAYS)
def test_every_length_and_alignment(way: str, ways: Ways) -> None:
    data = _random(400)
    for length in range(301):
        for at in range(16):
            before = zlib.crc32(data[:at])
            assert ways.crc(way, data, before, at, at + length) == zlib.crc32(data[: at + length]), (length, at)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("length", [1000, 4095, 4096, 4097, 65536, 2**20 + 77])
def test_many_bytes(way: str, length: int, ways: Ways) -> None:
    data = _random(length + 64)
    for at in (0, 1, 7, 16, 33, 63):
        assert ways.crc(way, data, 0, at, at + length) == zlib.crc32(data[at : at + length])


@pytest.mark.parametrize("way", WAYS)
@given(st.binary(max_size=700), st.integers(0, ALL), st.integers(0, 40))
def test_any_bytes_behind_any(ways: Ways, way: str, data: bytes, before: int, at: int) -> None:
    at = min(at, len(data))
    # Nothing behind the end counts.
    assert ways.crc(way, data + b"behind", before, at, len(data)) == zlib.crc32(data[at:], before)


@pytest.mark.parametrize("way", WAYS)
@given(st.binary(min_size=4, max_size=20), st.integers(0, ALL))
def test_four_bytes(ways: Ways, way: str, data: bytes, before: int) -> None:
    assert ways.crc(f"four {way}", data, before, 0, 4) == zlib.crc32(data[:4], before)
    assert ways.crc(f"four {way}", data, before, len(data) - 4, 0) == zlib.crc32(data[-4:], before)
