"""A connection to PostgreSQL that does not wait for ever: where a statement's answer is long in coming it asks the
server, on another connection, whether there is still something to wait for."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, Final

import psycopg

SILENT_SECONDS: Final = 60.0
"""Without a byte of an answer, until the server is asked, and between two times that it is."""

ASK_SECONDS: Final = 10.0
"""Within which the server says whether it is at work, besides libpq's time for a connection."""

_WORKS: Final = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND state IN ('idle', 'idle in transaction')"


class WatchedConnection(psycopg.Connection[Any]):
    """A statement may take hours, as an index of a large table does. A server that no longer answers may not."""

    alone = False
    """Asks nobody: silence is the end, and soon."""

    def wait(self, gen: Any, *args: Any, **named: Any) -> Any:
        return super().wait(self._watched(gen), *args, **named)

    def _watched(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    heard = time.monotonic()
                elif time.monotonic() - heard >= (ASK_SECONDS if self.alone else SILENT_SECONDS):
                    self._check_works()
                    heard = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value

    def _check_works(self) -> None:
        """OperationalError where nothing is to be expected."""
        if not self.alone and self._is_at_work():
            return
        self.close()
        raise psycopg.OperationalError(f"no answer for {SILENT_SECONDS:.0f} s")

    def _is_at_work(self) -> bool:
        """Of what stands between, and has numbers of its own, nothing is known but that it lets us in."""
        try:
            with WatchedConnection.connect(self._asks, autocommit=True) as other:
                other.alone = True
                found = other.execute(_WORKS, (self.info.backend_pid,)).fetchone()
        except psycopg.Error:
            return False
        return found == (0,)

    _asks = ""

    def asking(self, conninfo: str) -> WatchedConnection:
        """How the server is reached anew."""
        self._asks = conninfo
        return self
