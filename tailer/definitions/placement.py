"""Where a node stands, and what it is the first replica of: asked of a live server, and journalled before it counts.

The server is asked again every minute, as for definitions. Each answer that differs is a record, so that a batch which
is planned again goes by the one that its offset's `j` counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from tailer.definitions.outside import ASK_SECONDS, server_of
from tailer.errors import SystemFailedError, UsageError
from tailer.options.tail import TailOptions
from tailer.schema.extras import ORIGIN, Extras, Origin
from tailer.schema.ring import Primaries
from tailer.schema.server_place import ServerPlace, read_place
from tailer.state.journal import Journal
from tailer.state.journal_records import AnyRecord, RingRecord


class Rings:
    """What records say to a consumer of one node's ring; `newest` None before any does."""

    def __init__(self, node: str, consumer: str | None) -> None:
        self._whose = node, consumer
        self.newest: Primaries | None = None

    def take(self, primaries: Primaries) -> None:
        """What counts from now on, on record or not."""
        self.newest = primaries

    def extend(self, records: Iterable[AnyRecord]) -> None:
        """Take in what follows."""
        for record in records:
            if isinstance(record, RingRecord) and (record.node, record.consumer) == self._whose:
                self.take(record.primaries)


class Placement:
    """Of one tail. Asks the server when it is made, if the options want to know. `clock` in seconds, monotonic.

    `extras`: what its rows are told besides. Raises as `read_server` does, UsageError for options that cannot be met.
    """

    def __init__(self, options: TailOptions, journal: Journal, clock: Callable[[], float] = time.monotonic) -> None:
        self._node, self._consumer = options.node, options.consumer
        self._journal = journal
        self._clock = clock
        self._by_ring = options.with_primary or options.replicas == "primary"
        self._server = server_of(options)
        self._asked = clock()
        self._rings = Rings(options.node, options.consumer)
        self._taken = 0
        given = {name: getattr(options, name) for name in ORIGIN}
        lacks = options.with_origin and None in given.values()
        self._answer = read_place(self._server) if self._server is not None and (lacks or self._by_ring) else None
        origin = _origin(given, self._answer) if options.with_origin else None
        self.extras = Extras(origin, options.with_primary, options.replicas)

    def give(self) -> None:
        """What the server said first counts from here on: before anything is planned."""
        if self._answer is not None and self._by_ring:
            self._record(self._answer)
        self._answer = None

    def refresh(self) -> str | None:
        """Ask again when it is time; a notice where that failed, or where rows are judged otherwise from now on."""
        if not self._by_ring or self._server is None or self._clock() - self._asked < ASK_SECONDS:
            return None
        self._asked = self._clock()
        try:
            news = self._record(read_place(self._server))
        except SystemFailedError as error:
            return f"the server could not be asked for its ring, what it said last counts: {error.sentence()}"
        return f"server {self._server} is the first replica of other rows from here on" if news else None

    def ring(self) -> Primaries | None:
        """By all that is on record now."""
        if self._journal.count != self._taken:
            self._rings.extend(self._journal.read(after=self._taken))
            self._taken = self._journal.count
        return self._rings.newest

    def _record(self, answer: ServerPlace) -> bool:
        """Journal what differs; whether that was anything."""
        found = answer.primaries(self._server)
        if found == self.ring():
            return False
        if self._consumer is None:
            # Nobody comes back to where this run stood.
            self._rings.take(found)
        else:
            told = f"server {self._server}"
            record = RingRecord(consumer=self._consumer, node=self._node, source=told, primaries=found)
            self._journal.append([record])
        return True


def _origin(given: dict[str, str | None], answer: ServerPlace | None) -> Origin:
    """What the options say; the server's where they say nothing."""
    said = given if answer is None else {name: given[name] or getattr(answer.origin, name) for name in ORIGIN}
    missing = [name for name in ORIGIN if said[name] is None]
    if missing:
        raise UsageError(
            f"nothing tells the {' and the '.join(missing)} of this node",
            expected="a server to ask, or cluster, dc and rack",
            found="neither",
            remedy="Give --server HOST, or --cluster, --dc and --rack (options of these names in Spark and Python).",
        )
    return Origin(**{name: said[name] or "" for name in ORIGIN})
