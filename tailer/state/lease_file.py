"""How often a consumer's name was taken by readers of other machines: one small file beside the consumer's own.

The number only rises, whatever becomes of the process that serves it: who took the name earlier is told by it. A name
without a consumer is forgotten when its reader gives it back, or later; readers are told apart by their own names then.
Knows no reader and no time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from tailer.state.consumers import consumer_path
from tailer.state.modes import make_folder, replace_file
from tailer.state.versions import read_versioned
from tailer.versions import decode_whole

VERSION: Final = 2


class LeaseFile(msgspec.Struct, frozen=True):
    """The file's content. `version`: of the last taking. `reader`: who took it then, empty once it let go. `client`:
    whose reader that was, by the name that the node knows it by; empty where an earlier version wrote the file."""

    version: int = 0
    reader: str = ""
    v: int = VERSION
    client: str = ""


def lease_path(state: Path, name: str) -> Path:
    return consumer_path(state, name).with_suffix(".lease")


def leased_names(state: Path) -> list[str]:
    """The names that were taken, and are not forgotten."""
    return sorted(path.stem for path in (state / "consumers").glob("*.lease"))


def read_lease(state: Path, name: str) -> LeaseFile:
    """What the file says; of a name that nobody ever took version 0. RefusedError for a file that is not understood."""
    remedy = "Restore it, or delete it once no reader of that name runs anywhere."
    found = read_versioned(lease_path(state, name), _decode, VERSION, "the lease of a consumer", remedy=remedy)
    return found if found is not None else LeaseFile()


def write_lease(state: Path, name: str, content: LeaseFile) -> None:
    """Replace the file: durable when this returns."""
    path = lease_path(state, name)
    make_folder(path.parent)
    replace_file(path, msgspec.json.encode(content) + b"\n")


def _decode(data: bytes, version: int) -> LeaseFile:
    # Without its number the name would count as never taken.
    found = decode_whole(data, LeaseFile, ("client",) if version < VERSION else ())
    return msgspec.structs.replace(found, v=VERSION)
