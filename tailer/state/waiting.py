"""Which tables' images wait in a consumer's target for a person: a file beside the consumer's, which `status` reads.

It stays when the run ends, as the images do. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from tailer.state.consumers import consumer_path
from tailer.state.modes import replace_file
from tailer.state.versions import read_versioned
from tailer.versions import decode_whole

VERSION: Final = 1

_TABLES_MAX: Final = 100
_LETTERS: Final = 500
"""Of a reason."""


class WaitingTable(msgspec.Struct, frozen=True):
    """One table of the source. `images`: how many wait. `since`: in seconds since the epoch. `reason`: why."""

    table: str
    images: int
    since: float
    reason: str


class _File(msgspec.Struct, frozen=True):
    tables: list[WaitingTable]
    v: int = VERSION


def waiting_path(state: Path, name: str) -> Path:
    return consumer_path(state, name).with_suffix(".waiting")


def write_waiting(state: Path, name: str, tables: Sequence[WaitingTable]) -> None:
    """Replace what is said of a consumer; no file where nothing waits."""
    path = waiting_path(state, name)
    if not tables:
        path.unlink(missing_ok=True)
        return
    short = [msgspec.structs.replace(each, reason=each.reason[:_LETTERS]) for each in tables[:_TABLES_MAX]]
    replace_file(path, msgspec.json.encode(_File(short)) + b"\n")


def waiting_of(state: Path, name: str) -> list[WaitingTable]:
    """What waits. RefusedError for a file that is not understood."""
    found = read_versioned(
        waiting_path(state, name), lambda data, version: decode_whole(data, _File), VERSION,
        "the file of tables that wait for a person", remedy="Delete it: the next run of the consumer writes it.",
    )  # fmt: skip
    return [] if found is None else found.tables
