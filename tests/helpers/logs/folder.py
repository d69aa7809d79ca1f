"""Segments and sidecars as files of a log folder."""

from __future__ import annotations

import os
from pathlib import Path

from tests.helpers.logs.frame import SegmentWriter


class LogFolder:
    """A `cdc_raw` made by hand. `commitlog` beside it holds the second names of logs that a server still has."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def put(self, writer: SegmentWriter, sidecar: str | None = None) -> Path:
        """Write the segment, and its sidecar where one is given; the log's path."""
        log = self.path / writer.name
        log.write_bytes(bytes(writer.data))
        if sidecar is not None:
            self.sidecar(writer, sidecar)
        return log

    def sidecar(self, writer: SegmentWriter, text: str | None) -> None:
        """Replace a sidecar's text in place; None takes it away."""
        file = self.path / writer.sidecar_name
        if text is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(text)

    def hold(self, writer: SegmentWriter) -> None:
        """Give the log its second name: the server still has it."""
        beside = self.path.with_name("commitlog")
        beside.mkdir(exist_ok=True)
        os.link(self.path / writer.name, beside / writer.name)

    def let_go(self, writer: SegmentWriter) -> None:
        (self.path.with_name("commitlog") / writer.name).unlink()

    def remove(self, writer: SegmentWriter) -> None:
        """What the space limit does: log and sidecar vanish."""
        (self.path / writer.name).unlink(missing_ok=True)
        (self.path / writer.sidecar_name).unlink(missing_ok=True)


def live(writer: SegmentWriter) -> str:
    """The sidecar of an unfinished segment whose last section was synced."""
    return str(writer.end)


def completed(writer: SegmentWriter) -> str:
    """The sidecar of a segment that was closed in order."""
    return f"{writer.end}\nCOMPLETED"


def restarted(writer: SegmentWriter) -> str:
    """What a restart makes of it: the file's length, no logical end."""
    return f"{len(writer.data)}\nCOMPLETED"
