"""One node's log, as its readers ask for it: where its segments are, and where its state is kept. A value."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tailer.segments.source import FolderSource, Source
from tailer.state.home import FolderHome, Home
from tailer.state.log_folder import log_state


class NodeLog(NamedTuple):
    """`folder`: where both are on this machine, None where they are a node's that is asked for them."""

    source: Source
    home: Home
    folder: Path | None = None

    @property
    def where(self) -> str:
        """What errors and people call it."""
        return self.source.where


def folder_log(folder: Path, state: Path | None = None) -> NodeLog:
    """The log in a folder of this machine's. UsageError where none is kept (`log_state`); makes nothing."""
    log_state(folder, state)
    return NodeLog(FolderSource(folder), FolderHome(folder, state), folder)
