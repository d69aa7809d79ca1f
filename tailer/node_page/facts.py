"""What only the process on the node knows: whom it served and what. Values, and who is asked for them.

Nothing here knows how they are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from tailer.metrics.health import Healthy


class Lease(msgspec.Struct, frozen=True):
    """A consumer that somebody moves from elsewhere. `since` and `ends`: seconds since the epoch.

    `holder`: who, in words for people, such as an address.
    """

    consumer: str
    holder: str
    since: float
    ends: float


class Served(msgspec.Struct, frozen=True):
    """What was served since the process began. `bytes`: of bodies; `requests`: how many ended with which status.

    `readers`: those that wait for news now, of `connections`; `errors`: how many of which kind, named by a word that is
    the same each time. `rate_max`: bytes a second that `--max-rate` lets out, None without a limit.
    """

    bytes: int = 0
    requests: Mapping[int, int] = {}
    readers: int = 0
    leases: Sequence[Lease] = ()
    errors: Mapping[str, int] = {}
    rate_max: int | None = None
    connections: int = 0


class NodeFacts(Healthy, Protocol):
    """Who serves a node's log. Asked by any thread, often: it answers at once."""

    def served(self) -> Served:
        """All of now."""
        ...


class NothingServed:
    """A page alone, beside which nothing is served."""

    def served(self) -> Served:
        return Served()

    def stuck(self) -> Sequence[str]:
        return ()

    def unready(self) -> Sequence[str]:
        return ()
