"""What the writer left, seen by the tailer's format functions alone: headers, sections, entries, sidecars."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tailer.framing.codec import open_codec
from tailer.framing.entry import scan_entries
from tailer.framing.header import Header, decode_header
from tailer.framing.name import parse_log_name
from tailer.framing.section import NoSection, Stop, body_offset, read_section
from tailer.framing.sidecar import Sidecar, decode_sidecar
from tailer.position import Position
from tailer.scan.record.record import Record, decode_record
from writer_hooks import Column, SegmentLog, Table
from writer_hooks.disk import RealFiles

ORDERS = Table("shop.orders", [Column("id", "bigint", "partition_key"), Column("note", "text")])
PLAIN = Table("shop.notes", [Column("id", "bigint", "partition_key"), Column("note", "text")], cdc=False)


class Segment(NamedTuple):
    """`edges`: logical section edges; `records`: each with the position of its entry; `stop`: why the log ends."""

    header: Header
    edges: list[int]
    records: list[tuple[Position, Record]]
    stop: Stop
    size: int


def read_segment(path: Path) -> Segment:
    data = path.read_bytes()
    header = decode_header(data, path.name)
    assert header is not None
    at = start = header.length
    edges, records = [start], []
    while not isinstance(section := read_section(data[at : at + 12], header, at, start, len(data)), NoSection):
        body = data[body_offset(header, section) : section.next_at]
        plain = bytes(open_codec(header).decode(body, section.plain_length, Position(header.segment, start)))
        entries = scan_entries(plain)
        assert entries.faults == []
        for begin, size in zip(entries.starts, entries.sizes, strict=True):
            record = decode_record(plain[begin : begin + size])
            assert record is not None
            records.append((Position(header.segment, start + int(begin)), record))
        at, start = section.next_at, section.end
        edges.append(start)
    return Segment(header, edges, records, section.why, len(data))


def segments(folder: Path) -> list[Segment]:
    """Every segment with an entry in a folder of segments, in order."""
    paths = [path for path in folder.iterdir() if parse_log_name(path.name)]
    found = [read_segment(path) for path in paths]
    return sorted((each for each in found if each.records), key=lambda each: each.header.segment)


def sidecars(folder: Path) -> dict[int, Sidecar | None]:
    return {
        int(path.name.split("-")[2].split("_")[0]): decode_sidecar(path.read_bytes())
        for path in folder.iterdir()
        if path.name.endswith("_cdc.idx")
    }


def kinds(segment: Segment) -> list[str]:
    """Names of a segment's records, in order."""
    return [type(record).__name__ for _, record in segment.records]


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Blocked(RealFiles):
    """The disk, whose fdatasync returns only while it is `free`. `entered`: one is under way."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.entered = threading.Event()

    def fdatasync(self, fd: int) -> None:
        self.entered.set()
        assert self.free.wait(60)
        super().fdatasync(fd)


def check_waits(thread: threading.Thread, log: SegmentLog, files: Blocked, max_unsynced: int) -> None:
    """That a thread which appends to a log waits while the disk does, and goes on with it."""
    thread.join(0.5)
    assert thread.is_alive()
    assert log.stats().unsynced_bytes < 2 * max_unsynced
    files.free.set()
    thread.join(20)
    assert not thread.is_alive()


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Waits for what a thread does soon."""
    import time

    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.005)
