"""What one look at a folder shows of its segments. Values only: who looks is `planning/survey.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SegmentView:
    """One segment as a look shows it. `end` is the highest durable end read from its sidecar so far, 0 if none.

    `log`: its bytes can be read. `sidecar`: there is one now, or was one. `orphan`: a sidecar without log at two looks.
    `finished`: why it cannot grow any more, None while it can. `closed`: the log end on record, None before.
    `lone`: without sidecar, given up by the server and old: nothing will come of it. `cleaned`: `clean` took it away.
    """

    segment: int
    log: bool
    sidecar: bool
    end: int = 0
    orphan: bool = False
    finished: str | None = None
    closed: int | None = None
    lone: bool = False
    cleaned: bool = False

    @property
    def promised(self) -> bool:
        """A sidecar that could be read vouches for something in it."""
        return self.sidecar and self.end > 0


View = Mapping[int, SegmentView]
