"""Whether a run of `clean` may do all that it will do, asked before it writes anything down.

A segment that is recorded as cleaned is read by nobody any more: who may not delete it must not record it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote

from tailer.errors import UsageError
from tailer.state.folder_journal import FILE_NAME
from tailer.system_errors import may, no_permission, user_name


def check_rights(folder: Path, state: Path) -> None:
    """UsageError unless this user may delete in the log folder, and write in the state folder, if there is one."""
    if not may(folder, "wx"):
        raise _not_deleted(folder)
    status = folder.stat()
    if status.st_mode & stat.S_ISVTX and os.geteuid() not in (0, status.st_uid):
        raise _not_deleted(folder)
    for place, rights in ((state, "rwx"), (state / FILE_NAME, "rw")):
        if place.exists() and not may(place, rights):
            raise no_permission("`clean` cannot write down what it deletes", place, writes=True)


def _not_deleted(folder: Path) -> UsageError:
    owner = user_name(folder.stat().st_uid)
    remedy = f"Run it as the folder's owner: sudo -u {quote(owner)} cdc-tail clean {quote(str(folder))}"
    return no_permission("`clean` cannot delete segments", folder, writes=True, remedy=remedy)
