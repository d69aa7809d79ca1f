"""Whose room a consumer takes: that of the client whose reader took its name last. Where several clients may have the
same consumers each has its own budgets. Changes nothing.
"""

from __future__ import annotations

from tailer.errors import CdcError
from tailer.retention.forget_dropped import dropped_names
from tailer.serve.clients import Client
from tailer.serve.leases import Leases


class Shares:
    """Of one state folder; any thread may ask."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases

    def has(self, client: Client, name: str) -> bool:
        """Whether a consumer is in a client's room: what it has in quarantine, and its name.

        One that an earlier version leased, which did not note whose reader that was, is in the room of each client that
        may have it. Consumers of the node are in nobody's.
        """
        try:
            last = self._leases.last(name)
        except CdcError:
            # A lease that cannot be read.
            return client.owns(name)
        return last.client == client.name if last.client else bool(last.version) and client.owns(name)

    def client_of(self, name: str) -> str | None:
        """Whose reader took a consumer's name last; empty for a consumer of the node, None where nothing tells."""
        try:
            last = self._leases.last(name)
        except CdcError:
            # A lease that cannot be read.
            return None
        if last.version:
            return last.client or None
        # What took the name may be forgotten where nothing but records is left of it.
        return None if dropped_names(self._leases.state, [name]) else ""

    def counts(self, client: Client, name: str) -> bool:
        """The same for its records. Where nothing but these is left they are in the way of whoever may have the
        consumer, until they are left out of the journal."""
        return self.has(client, name) or (client.owns(name) and bool(dropped_names(self._leases.state, [name])))
