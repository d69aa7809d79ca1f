"""A log folder together with its state folder: looked at before anything is made beside it."""

from __future__ import annotations

from pathlib import Path

from tailer.segments.log_folder import check_log_folder
from tailer.state import cleaned, journal
from tailer.state.journal import state_folder


def log_state(folder: Path, override: Path | None = None) -> Path:
    """Where the state of a log folder lies (see `state_folder`). UsageError if no log is kept there; makes nothing."""
    state = state_folder(folder, override)
    check_log_folder(folder, lambda: _was_used(state) or _was_used(state_folder(folder)))
    return state


def _was_used(state: Path) -> bool:
    """Whether something was learnt of a log, or cleaned."""
    try:
        return any((state / name).exists() for name in (journal.FILE_NAME, cleaned.FILE_NAME))
    except PermissionError:
        # Somebody keeps a state there; who may not read it is told so where it is read.
        return True
