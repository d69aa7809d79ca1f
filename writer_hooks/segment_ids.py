"""Ids of segments: each above every one that was ever used, also when the clock steps back (`commitlog/HIGH`)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from writer_hooks.disk import Files, read_small, replace_durably, whole_number

AHEAD: Final = 64
"""HIGH is raised by so many at once: a fsync for every segment would be one too many."""


class Ids:
    """Gives ids in order. HIGH is durable before an id leaves."""

    def __init__(self, files: Files, path: Path, now_ms: int, used: list[int]) -> None:
        """`used`: the ids in file names. Raises RefusedError where the file says no number: lost files had ids too."""
        self._files = files
        self._path = path
        text = read_small(files, path)
        remedy = "Readers may know segments that are gone: write an id above all of theirs into this file."
        what = "the highest id that was used is not known"
        self._high = 0 if text is None else whole_number(text, path, what, remedy)
        self._last = max(now_ms, self._high, *used, 0)

    def take(self) -> int:
        new = self._last + 1
        if new > self._high:
            replace_durably(self._files, self._path, b"%d\n" % (new + AHEAD - 1))
            self._high = new + AHEAD - 1
        self._last = new
        return new
