"""The list of cleaned segments as its readers elsewhere get it: its bytes, and a tag that changes with them.

Any thread may ask. Decides nothing.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final, NamedTuple

from tailer.state.cleaned import FILE_NAME, Cleaned, CleanedFile
from tailer.state.modes import open_to_read
from tailer.system_errors import told

NO_LIST: Final = "none"
"""The tag where there is no list yet: it is one too, for there may be one a moment later."""


class CleanedNow(NamedTuple):
    """`text`: the file's bytes, none where there is no file."""

    tag: str
    text: bytes
    content: CleanedFile


class CleanList:
    """Of one state folder."""

    def __init__(self, state: Path) -> None:
        self._path = state / FILE_NAME
        self._lock = threading.Lock()
        self._cleaned = Cleaned(state)
        self._now = CleanedNow(NO_LIST, b"", CleanedFile())

    def refresh(self) -> CleanedNow:
        """The list as it is now: one `stat` where nothing has changed."""
        with self._lock, told("cannot read the state", self._path):
            try:
                tag = _tag(self._path.stat())
                if tag != self._now.tag:
                    self._now = self._read()
            except FileNotFoundError:
                self._now = CleanedNow(NO_LIST, b"", CleanedFile())
            return self._now

    def tag(self) -> str:
        """The tag of the list as it is now."""
        return self.refresh().tag

    def has(self, segment: int) -> bool:
        """Whether a segment is on record as cleaned now."""
        return segment in self.refresh().content

    def _read(self) -> CleanedNow:
        with os.fdopen(open_to_read(self._path), "rb") as file:
            text = file.read()
            tag = _tag(os.fstat(file.fileno()))
        return CleanedNow(tag, text.strip(), self._cleaned.refresh())


def _tag(status: os.stat_result) -> str:
    # Replaced whole at each change: a file that looks like this is this one.
    return f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
