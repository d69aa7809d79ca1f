"""Root runs a command that writes: it becomes the user whose folder it writes in, before anything is opened.

What root made there, the folder's owner could not go on with; and the owner, who may put links there, could lead root
to any file. Knows no command, and nothing of what is written.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Final

from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.system_errors import group_name, user_name

_ROOT: Final = 0
_OF_A_USER: Final = ("HOME", "USER", "LOGNAME", "XDG_CACHE_HOME")
"""Variables that name root's own places."""


def as_state_owner(folder: Path, state: Path) -> None:
    """Become the owner of a state folder, and its group; where there is none yet, the log folder's."""
    _become(state if state.exists() else folder, state)


def as_log_owner(folder: Path, state: Path) -> None:
    """Become the owner of a log folder, who may delete in it, and the state folder's group."""
    _become(folder, state)


def as_owner(folder: Path) -> None:
    """Become the owner of a folder, and its group; of the one above where it is not there yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    _become(folder, folder)


def lost_program(error: ImportError) -> UsageError | None:
    """What an import failed of, if it is that the user which root became cannot read the program."""
    import tailer

    if os.getuid() == _ROOT or (os.access(os.__file__, os.R_OK) and os.access(tailer.__file__, os.R_OK)):
        return None
    return UsageError(
        f"user {user_name(os.getuid())} cannot read this program ({error.name or error})",
        file=str(Path(os.__file__).parent),
        remedy="Install it where everybody may read it, as in /opt: as root it runs as the owner of the folder.",
    )


def _become(owned: Path, grouped: Path) -> None:
    if os.geteuid() != _ROOT or not owned.exists():
        return
    uid = owned.stat().st_uid
    if uid == _ROOT:
        return
    gid = (grouped if grouped.exists() else owned).stat().st_gid
    user = _account(uid)
    groups = [gid] if user is None else os.getgrouplist(user.pw_name, gid)
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    _forget_root(user)
    STANDARD_ERROR.info(f"started by root: runs as {user_name(uid)}:{group_name(gid)}, to whom {owned} belongs")


def _account(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def _forget_root(user: pwd.struct_passwd | None) -> None:
    for name in _OF_A_USER:
        os.environ.pop(name, None)
    if user is not None:
        os.environ.update(HOME=user.pw_dir, USER=user.pw_name, LOGNAME=user.pw_name)
