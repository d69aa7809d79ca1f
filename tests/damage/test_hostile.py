"""Files that somebody made to do harm, their checksums right: headers, and sections that claim half a gigabyte."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tailer.errors import CorruptError
from tailer.framing.header import decode_header
from tests.helpers.cli import ROOT, run_cli
from tests.helpers.log_writer import FORMATS, LogFolder, SegmentWriter
from tests.helpers.logs.frame import encode_marker
from tests.unit.framing import bombs

SEGMENT = 1_700_000_000_001
LOG = f"CommitLog-7-{SEGMENT}.log"
RSS_MAX = 400 << 20

HEADERS = {
    "arrays without end": b"[" * 65_000,
    "arrays in arrays": b'{"a":' + b"[" * 32_000 + b"]" * 32_000 + b"}",
    "objects in objects": b'{"a":' * 9_000 + b"1" + b"}" * 9_000,
    "as deep as Python can still read": b'{"a":' + b"[" * 700 + b"]" * 700 + b"}",
    "a compressor as deep": b'{"compressionClass":' + b"[" * 700 + b"]" * 700 + b"}",
    "half a letter": b'{"payload":"\\ud800"}',
    "half a letter as a key": b'{"\\udfff":"x"}',
    "a number of thirty digits": b'{"a":' + b"9" * 30 + b"}",
    "a number of sixty thousand digits": b'{"a":' + b"9" * 60_000 + b"}",
    "no object": b'"text"',
    "no JSON": b"\xff\xfe\x00",
}


def header_of(text: bytes) -> bytes:
    """A header with these parameters, its CRC right (format page 2)."""
    low, high = SEGMENT & 0xFFFFFFFF, SEGMENT >> 32
    crc = zlib.crc32(struct.pack(">iIIi", 7, low, high, len(text)) + text)
    return struct.pack(">iqH", 7, SEGMENT, len(text)) + text + struct.pack(">I", crc)


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "cdc_raw")


@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS)
def test_a_hostile_header_is_the_headers_ordinary_error(folder: LogFolder, text: bytes) -> None:
    data = header_of(text)
    with pytest.raises(CorruptError, match="header parameters"):
        decode_header(data, LOG)
    (folder.path / LOG).write_bytes(data)
    (folder.path / LOG.replace(".log", "_cdc.idx")).write_text(str(len(data)))
    for command in ("follow", "verify", "schema", "inspect"):
        options = ["--once", "--settle", "0"] if command == "follow" else []
        found = run_cli([command, folder.path, "--output", "json", *options])
        assert found.code == (0 if command == "inspect" else 4), found.err
        assert "header parameters" in found.err + found.out
        assert "bug" not in found.err


def test_a_header_may_have_what_servers_write() -> None:
    """Options of a compressor in an object of their own, and what a later version may add."""
    text = b'{"compressionClass":"ZstdCompressor","compressionParameters":{"level":"3","x":[1,2.5,true,null]},"new":-1}'
    found = decode_header(header_of(text), LOG)
    assert found is not None
    assert found.parameters["compressionParameters"] == {"level": "3", "x": [1, 2.5, True, None]}


def follow_measured(folder: Path, *options: str) -> tuple[int, str, int]:
    """Exit code, what was said, and the most memory that a follower took, in bytes."""
    program = (
        "import resource, sys; from tailer.cli.app import main; code = main(sys.argv[1:])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "follow", str(folder), "--once", "--settle", "0", "--output", "json", *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr, int(done.stdout.splitlines()[-1]) << 10


def put_section(folder: LogFolder, body: bytes) -> SegmentWriter:
    """A promised segment with one compressed section, that claims half a gigabyte; its writer as it was before."""
    writer = SegmentWriter(SEGMENT, form=FORMATS["zstd"])
    body = struct.pack(">i", bombs.BYTES) + body
    assert len(body) < 17_000
    at = len(writer.data)
    data = writer.data + encode_marker(SEGMENT, at, at + 8 + len(body)) + body
    (folder.path / writer.name).write_bytes(data)
    (folder.path / writer.sidecar_name).write_text(str(writer.end + 8 + bombs.BYTES))
    return writer


@pytest.mark.parametrize("quarantine", [False, True])
def test_a_bomb_of_16_kib_is_corruption_and_takes_no_memory(folder: LogFolder, quarantine: bool) -> None:
    """With `--on-error quarantine` the little that was looked at is kept aside, not half a gigabyte of zeros."""
    writer = put_section(folder, bombs.zstd())
    code, said, memory = follow_measured(folder.path, *(["--on-error", "quarantine"] if quarantine else []))
    assert code == (0 if quarantine else 4), said
    assert "quarantine" in said if quarantine else f"entry of size zero at {SEGMENT}:{writer.end + 8}" in said
    assert memory < RSS_MAX


@pytest.mark.parametrize("quarantine", [False, True])
def test_a_bomb_that_begins_with_an_entry_takes_what_it_claims_and_no_more(folder: LogFolder, quarantine: bool) -> None:
    """One entry of half a gigabyte may be a mutation; that this one is none shows at its end. It is there once, and the
    quarantine, which has no room for it, does not make text of it first: that took four times as much."""
    size = struct.pack(">I", bombs.BYTES - 12)
    writer = put_section(folder, bombs.zstd(size + struct.pack(">I", zlib.crc32(size))))
    code, said, memory = follow_measured(folder.path, *(["--on-error", "quarantine"] if quarantine else []))
    assert code == (8 if quarantine else 4), said
    assert ("the quarantine is full" if quarantine else f"at {SEGMENT}:{writer.end + 8}") in said
    assert memory < bombs.BYTES + RSS_MAX
