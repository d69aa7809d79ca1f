"""`commitlog/FAILED`: after a failed fsync, how far the log was durable, and in which run of the machine.

In the same run the page cache may still hold what never reached the disk; after another start of the machine there is
no such cache, and what can be read is on the disk.
"""

from __future__ import annotations

from pathlib import Path

from tailer.errors import RefusedError
from tailer.position import Position
from writer_hooks.disk import Files, read_small, replace_durably

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def machine_boot_id() -> str:
    """Which run of the machine this is; nothing where the system does not tell."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def write_failed(files: Files, path: Path, boot_id: str, end: Position) -> None:
    replace_durably(files, path, f"{boot_id} {end}\n".encode())


def read_failed(files: Files, path: Path, boot_id: str) -> Position | None:
    """The end past which nothing is believed; None where there is no such bound in this run of the machine.

    RefusedError for a file that says no end: what it would not believe may never have reached the disk.
    """
    text = read_small(files, path)
    if text is None:
        return None
    noted, _, end = text.decode("ascii", "replace").rstrip().rpartition(" ")
    found = Position.parse(end)
    if found is None:
        raise RefusedError(
            "how far the log was durable is not known",
            file=str(path),
            expected="the run of the machine, and SEGMENT:OFFSET",
            found=repr(text[:60]),
            remedy="Start the machine again, delete this file, and open the log: what can be read then is on the disk.",
        )
    return found if noted == boot_id else None
