"""A long log made of one recorded segment: the same sections and entries again and again, under new ids.

Entries are copied byte for byte; header and sync markers, whose CRCs cover the segment's id, are made anew.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tailer.framing.header import decode_header, encode_header
from tailer.framing.section import MARKER_BYTES, encode_marker
from tests.benchmarks.measured import unpacked
from tests.benchmarks.script import perf_parser


def copies(perf: Path, folder: Path, count: int) -> int:
    """Fill `folder` with `count` finished copies of the last segment in `perf`, a plain one; their bytes in all.

    What is before it, definitions say, is there once.
    """
    folder.mkdir(parents=True)
    *earlier, log = sorted(perf.glob("CommitLog-*.log"))
    for file in earlier:
        for part in (file, file.with_name(f"{file.stem}_cdc.idx")):
            shutil.copyfile(part, folder / part.name)
    data = log.read_bytes()
    sidecar = log.with_name(f"{log.stem}_cdc.idx").read_bytes()
    header = decode_header(data)
    assert header is not None
    assert not header.parameters, "only the segment of a plain log can be copied"
    head = len(encode_header(header.version, header.segment, {}))
    markers = list(_markers(data, head, int(sidecar.split(b"\n")[0])))
    for segment in range(header.segment, header.segment + count):
        made = bytearray(data)
        made[:head] = encode_header(header.version, segment, {})
        for at, following in markers:
            made[at : at + MARKER_BYTES] = encode_marker(segment, at, following)
        target = folder / f"CommitLog-{header.version}-{segment}.log"
        target.write_bytes(made)
        target.with_name(f"{target.stem}_cdc.idx").write_bytes(sidecar)
    return count * len(data)


class Backlog(NamedTuple):
    """A folder to work in; in there the recorded segment's, and that of the long log; the bytes of the latter."""

    parent: Path
    one: Path
    folder: Path
    size: int


@contextmanager
def backlog(perf: Path, count: int) -> Iterator[Backlog]:
    """So many copies of a recorded segment, for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as made:
        parent = Path(made)
        one, folder = unpacked(perf, parent), parent / "backlog" / "cdc_raw"
        yield Backlog(parent, one, folder, copies(one, folder, count))


def backlog_parser(name: str, question: str, repeat: int) -> argparse.ArgumentParser:
    """The options of a script that reads such a log of 1 GiB."""
    parser = perf_parser(name, question, repeat)
    told = "segments of the backlog (default: %(default)s)"
    parser.add_argument("--copies", type=int, default=32, dest="count", metavar="COPIES", help=told)
    return parser


def _markers(data: bytes, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each section begins, and where it ends."""
    while at < end and (following := int.from_bytes(data[at : at + 4], "big")):
        yield at, following
        at = following
