"""What the node's page is told of serving: the counts, in the page's own form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailer.node_page.facts import Lease, Served
from tailer.serve.counts import ServedNow


class Facts:
    """A `NodeFacts`. `now`: all that is counted; asked by any thread."""

    def __init__(self, now: Callable[[], ServedNow]) -> None:
        self._now = now

    def served(self) -> Served:
        now = self._now()
        leases = [Lease(each.consumer, each.holder, each.since, each.ends) for each in now.leases]
        return Served(now.bytes, now.requests, now.waiting, leases, now.errors, now.rate, now.connections)

    def stuck(self) -> Sequence[str]:
        """Nothing: a loop that does not turn does not answer either."""
        return ()

    def unready(self) -> Sequence[str]:
        """Nothing beside what the page sees of the folder and the state itself."""
        return ()
