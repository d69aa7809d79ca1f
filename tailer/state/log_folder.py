"""A log folder together with its state folder: looked at before anything is made beside it."""

from __future__ import annotations

import os
from pathlib import Path

from tailer.errors import UsageError
from tailer.segments.log_folder import STATE_SUFFIX, check_log_folder
from tailer.state import cleaned, folder_journal


def state_folder(cdc_raw: Path, override: Path | None = None) -> Path:
    """Where a log folder's state lies: `<real path of cdc_raw>.cdc_tail` beside it, or the private folder given."""
    if override is not None:
        return override
    real = Path(os.path.realpath(cdc_raw))
    return real.with_name(real.name + STATE_SUFFIX)


def log_state(folder: Path, override: Path | None = None) -> Path:
    """Where the state of a log folder lies (see `state_folder`). UsageError if no log is kept there, or the state would
    lie in the log folder; makes nothing."""
    state = state_folder(folder, override)
    check_log_folder(folder, lambda: _was_used(state) or _was_used(state_folder(folder)))
    if Path(os.path.realpath(state)).is_relative_to(os.path.realpath(folder)):
        raise UsageError(
            "a state folder in the log folder",
            file=str(state),
            expected="one beside it, or elsewhere",
            found=f"one in {folder}",
            remedy="The server counts every byte in its cdc_raw against the limit: name another with --state DIR.",
        )
    return state


def _was_used(state: Path) -> bool:
    """Whether something was learnt of a log, or cleaned."""
    try:
        return any((state / name).exists() for name in (folder_journal.FILE_NAME, cleaned.FILE_NAME))
    except PermissionError:
        # Somebody keeps a state there; who may not read it is told so where it is read.
        return True
