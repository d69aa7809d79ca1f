"""Replays a recorded log as a server writes it: bytes, fsync, sidecar, roll-over, COMPLETED. Knows no reader.

    FOLDER/commitlog/   the server's own folder
    FOLDER/cdc_raw/     hard links of the same files, and the sidecars

`python -m tailer.demo.replay FOLDER` does it in a process of its own and prints a JSON line for each sidecar that it
published; after the first one it waits for a line with the seconds that the rest may take, or takes `--seconds`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, Self

from tailer.demo.recording import RecordedSegment, Recording, load_recording
from tailer.framing.name import parse_log_name
from tailer.framing.sidecar import Sidecar, encode_sidecar

MARKER_BYTES: Final = 8
"""A sync marker: where its section ends, and a CRC."""


class Publication(NamedTuple):
    """One writing of a sidecar: everything before `end` (a logical offset, bytes) of this segment is durable."""

    segment: int
    end: int
    completed: bool


class _Writer:
    """One segment while it is written: created in `commitlog/` at its full size, linked into `cdc_raw/`."""

    def __init__(self, recorded: RecordedSegment, folder: Path) -> None:
        name = parse_log_name(recorded.name)
        if name is None:
            raise ValueError(f"{recorded.name} is not the name of a segment")
        self.recorded = recorded
        self._segment = name.segment
        self._sidecar = folder / "cdc_raw" / name.sidecar
        log = folder / "commitlog" / name.log
        self._descriptor = os.open(log, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        os.ftruncate(self._descriptor, recorded.size)
        self._put(0, recorded.edges[0])
        os.fsync(self._descriptor)
        (folder / "cdc_raw" / name.log).hardlink_to(log)

    def write_entries(self, start: int, end: int) -> None:
        """The section's entries, not yet readable: its marker is still zero."""
        self._put(start + MARKER_BYTES, end)

    def write_marker(self, start: int) -> None:
        """Makes the section readable, then durable."""
        self._put(start, start + MARKER_BYTES)
        os.fsync(self._descriptor)

    def publish(self, end: int, *, completed: bool) -> Publication:
        """Truncates and rewrites the sidecar, as the server does: a reader can meet it empty."""
        self._sidecar.write_bytes(encode_sidecar(Sidecar(end, completed)))
        return Publication(self._segment, end, completed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def _put(self, start: int, end: int) -> None:
        if os.pwrite(self._descriptor, self.recorded.data[start:end], start) != end - start:
            raise OSError(f"{self.recorded.name}: a write was cut short")


def write_recording(recording: Recording, folder: Path) -> Iterator[Publication]:
    """Writes the recorded log into `folder`, one step for each sidecar it publishes.

    A spare segment always stands ahead. At a roll-over the new segment takes entries before the old one is COMPLETED,
    and shows its first section after that. Raises OSError, FileExistsError for a folder that already has the segments.
    """
    for name in ("commitlog", "cdc_raw"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with ExitStack() as opened:
        finished: _Writer | None = None
        writer = opened.enter_context(_Writer(recording.segments[0], folder))
        for following in (*recording.segments[1:], recording.spare):
            spare = opened.enter_context(_Writer(following, folder))
            writer.write_entries(*writer.recorded.edges[:2])
            if finished is not None:
                yield finished.publish(finished.recorded.end, completed=True)
            yield from _write_sections(writer)
            finished, writer = writer, spare
        if finished is not None:
            yield finished.publish(finished.recorded.end, completed=True)


def _write_sections(writer: _Writer) -> Iterator[Publication]:
    """All sections of a segment; the last one is published by its COMPLETED."""
    recorded = writer.recorded
    for start, end in pairwise(recorded.edges):
        writer.write_entries(start, end)
        writer.write_marker(start)
        if recorded.first_published is not None and recorded.first_published <= end < recorded.end:
            yield writer.publish(end, completed=False)


def count_publications(recording: Recording) -> int:
    """How many sidecars `write_recording` publishes."""
    return sum(edge >= (segment.first_published or 0) for segment in recording.segments for edge in segment.edges[1:])


def replay(
    recording: Recording,
    folder: Path,
    seconds: float,
    *,
    published: Callable[[Publication], None] = lambda publication: None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Writes the recorded log into `folder` at a steady pace over `seconds`; calls `published` after each sidecar."""
    between = seconds / count_publications(recording)
    for publication in write_recording(recording, folder):
        published(publication)
        pause(between)


def _print(publication: Publication) -> None:
    sys.stdout.write(json.dumps({**publication._asdict(), "at": time.time()}) + "\n")
    sys.stdout.flush()


def _holding(following: int) -> Callable[[float], None]:
    """A pause that first waits for a line on standard input: the seconds over which `following` sidecars are spread."""
    between: list[float] = []

    def pause(_: float) -> None:
        if between:
            time.sleep(between[0])
        else:
            between.append(float(sys.stdin.readline() or 0) / following)

    return pause


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tailer.demo.replay", description="Replays a recorded log.")
    parser.add_argument("folder", type=Path, help="where commitlog/ and cdc_raw/ are made")
    parser.add_argument(
        "--seconds", type=float, help="how long it takes (default: a line says it, waited for after the first sidecar)"
    )
    options = parser.parse_args(arguments)
    recording = load_recording()
    hold = options.seconds is None
    pause = _holding(count_publications(recording) - 1) if hold else time.sleep
    try:
        replay(recording, options.folder, options.seconds or 0.0, published=_print, pause=pause)
    except OSError as error:
        sys.stderr.write(f"The recorded log could not be written: {error}\n")
        return 8
    return 0


if __name__ == "__main__":
    sys.exit(main())
