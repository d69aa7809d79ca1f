"""What one batch says of one bucket, in the order in which it counts, each thing once. Knows no state.

Several replicas log the same write: what is told again within a batch leaves the place where it stood, and goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from tailer.rebuild.facts import Place

Change = dict[str, Any]

_ENTRY: Final = itemgetter("node", "segment", "offset")
_ORDER: Final = itemgetter("node", "segment", "offset", "row")
_PARTITION: Final = itemgetter("token", "partition_key")
_SAYS: Final = itemgetter(
    "token", "partition_key", "op", "clustering", "is_static", "columns", "cells", "range", "write_ts", "ttl",
    "expires_at",
)  # fmt: skip


@dataclass(slots=True)
class Told:
    """The rows of one log entry for one partition, and where else the very same was told."""

    rows: list[Change]
    copies: list[tuple[str, Place]] = field(default_factory=list)


def told_once(changes: Iterable[Change]) -> list[Told]:
    """What the rows of one table say, by node, segment, offset and row."""
    found: list[Told] = []
    known: dict[tuple[Any, ...], Told] = {}
    for (node, *place), entry in groupby(sorted(changes, key=_ORDER), key=_ENTRY):
        for rows in _by_partition(entry):
            # A truncate or a definition has no partition, and is never one with another node's.
            says = tuple(map(_SAYS, rows)) if rows[0]["token"] is not None else None
            first = None if says is None else known.get(says)
            if first is not None:
                first.copies.append((node, (place[0], place[1])))
                continue
            found.append(Told(rows))
            if says is not None:
                known[says] = found[-1]
    return found


def _by_partition(entry: Iterable[Change]) -> Iterable[list[Change]]:
    parts: dict[Any, list[Change]] = {}
    for row in entry:
        parts.setdefault(_PARTITION(row), []).append(row)
    return parts.values()
