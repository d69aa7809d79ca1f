"""What file system a folder is on, as far as that is worth a word: a state needs locks and fsync that do what they say.

Reads the kernel's list of mounts; where there is none nothing is said.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MOUNTS: Final = Path("/proc/self/mountinfo")
NETWORK: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gfs2", "ocfs2"})
NETWORK_FUSE: Final = ("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse")


def network_notices(folder: Path, mounts: Path | None = None) -> list[str]:
    """What is worth saying of a state folder that other machines may have too; nothing where it is this one's alone."""
    kind = network_kind(folder, mounts)
    if not kind:
        return []
    return [
        f"the state folder {folder} is on a network file system ({kind}): locks and fsync are as that system has them; "
        "no two machines may use it at once"
    ]


def network_kind(folder: Path, mounts: Path | None = None) -> str:
    """The type of a folder's file system where other machines may have it too, empty where it is this one's alone."""
    kind = _kind(folder, mounts or MOUNTS)
    return kind if kind in NETWORK or kind in NETWORK_FUSE else ""


def _kind(folder: Path, mounts: Path) -> str:
    """The type of the file system, empty if the list does not tell."""
    try:
        device = folder.stat().st_dev
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        # Fields of a fixed number, then any number of optional ones, a hyphen, and the type.
        fields, _, rest = line.partition(" - ")
        if fields.split(" ")[2:3] == [wanted] and rest:
            return rest.split(" ")[0]
    return ""
