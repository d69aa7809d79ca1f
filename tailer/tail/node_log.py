"""From where a log is, as users say it, to the log: a folder of this machine's, or one that a node serves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tailer.options.log_place import LogPlace, NodeUrl
from tailer.options.tail import TailOptions
from tailer.segments.source import FolderSource, Source
from tailer.state.home import FolderHome, Home
from tailer.state.log_folder import state_folder
from tailer.state.node_log import NodeLog, folder_log

Say = Callable[[str], None]

PATIENCE_SECONDS: Final = 600.0
"""How long a run that has one log waits for its node."""


def state_of(place: LogPlace, options: TailOptions) -> Path | None:
    """The state folder of a log folder; None where a node keeps it."""
    return state_folder(place, options.state) if isinstance(place, Path) else None


def source_at(place: LogPlace, options: TailOptions) -> Source:
    """Its segments alone, to be closed; asks nothing."""
    if isinstance(place, NodeUrl):
        from tailer.remote.node import remote_source

        return remote_source(place, options)
    return FolderSource(place)


def home_at(place: LogPlace, options: TailOptions) -> Home:
    """Its state alone, also where no log is there. Raises what keeps a node from being asked."""
    return node_log(place, options).home if isinstance(place, NodeUrl) else FolderHome(place, options.state)


def node_log(
    place: LogPlace,
    options: TailOptions,
    patience: float = 0.0,
    say: Say | None = None,
    stopping: Callable[[], bool] | None = None,
) -> NodeLog:
    """The log at a place, whose source is to be closed; a tail of it does so. UsageError where no log is kept.

    `patience`: for how many seconds a node that is away is waited for; `say` takes a line at once, each minute, and
    when it is there again, from any thread. `stopping`: asked meanwhile; once it says so nobody waits any more.
    """
    if isinstance(place, NodeUrl):
        # Who reads a folder needs no HTTP.
        from tailer.remote.node import remote_log

        return remote_log(place, options, patience, say, stopping)
    return folder_log(place, options.state)
