"""Tails of log folders, opened by their paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailer.options.tail import TailOptions
from tailer.state.node_log import folder_log
from tailer.tail import open as opening
from tailer.tail.parts import TailParts
from tailer.tail.tail import Tail


def open_tail(folder: Path, options: TailOptions, **more: Any) -> Tail:
    """See `tailer.tail.open.open_tail`."""
    return opening.open_tail(folder_log(folder, options.state), options, **more)


def tail_parts(folder: Path, options: TailOptions, **more: Any) -> TailParts:
    """See `tailer.tail.open.tail_parts`."""
    return opening.tail_parts(folder_log(folder, options.state), options, **more)
