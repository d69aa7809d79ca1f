"""What a query's progress tells of the source: how far the log is, how much of it waits, and what was given up.

Made from what the last look and the journal have in memory already: asked for in every micro-batch, it opens no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from tailer.planning.batch_tasks import place
from tailer.spark.offsets import Json
from tailer.state.journal import Journal
from tailer.state.journal_records import LossRecord, SkipRecord
from tailer.state.offset import NodeOffset

BACKLOG: Final = "backlog"
GIVEN_UP: Final = "givenUp"
LOST: Final = "lost"
"""Names beside the offset's own; a reader of offsets passes over them."""


class NodeProgress(NamedTuple):
    """Of one node. `newest`: behind everything durable. `waits`: what of it lies behind a batch. `given_up`: what was
    left out by choice."""

    newest: NodeOffset
    waits: Json
    given_up: dict[str, int]


def newest(at: NodeOffset, ends: Mapping[int, int]) -> NodeOffset:
    """The offset behind everything durable; `at` itself where nothing lies beyond it."""
    last = max((segment for segment, end in ends.items() if end), default=at.s)
    far = msgspec.structs.replace(at, s=last, o=ends.get(last, 0), done=False)
    return far if place(far) > place(at) else at


def backlog(at: NodeOffset, ends: Mapping[int, int]) -> Json:
    """Bytes of log between `at` and the durable ends, and the segments they are in, late ones too."""
    left = [size for segment, end in ends.items() if (size := at.left(segment, end))]
    return {"bytes": sum(left), "segments": len(left)}


class GivenUp:
    """What one consumer's journal says was left out by choice. Counted anew only when the journal has grown."""

    def __init__(self, journal: Journal, consumer: str | None) -> None:
        self._journal = journal
        self._consumer = consumer
        self._counted = 0
        self._counts = {"losses": 0, "quarantined": 0}

    def counts(self) -> dict[str, int]:
        """`losses`: ranges of the log that are gone; `quarantined`: entries that could not be decoded."""
        if self._journal.count != self._counted:
            own = [r for r in self._journal.read() if getattr(r, "consumer", None) == self._consumer]
            self._counts = {
                "losses": sum(isinstance(record, LossRecord) for record in own),
                "quarantined": sum(isinstance(record, SkipRecord) for record in own),
            }
            self._counted = self._journal.count
        return self._counts
