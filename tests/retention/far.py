"""Consumers that read over HTTP, each by a link of its own that a test can cut, or watch."""

from __future__ import annotations

from collections.abc import Callable

from tailer.errors import NodeAwayError
from tailer.options.log_place import log_place
from tailer.options.tail import TailOptions
from tailer.remote import consumer as consuming
from tailer.remote.access import Access
from tailer.remote.connection import Answer
from tailer.remote.home import RemoteHome
from tailer.remote.link import Link
from tailer.remote.source import RemoteSource
from tailer.state.node_log import NodeLog
from tailer.tail.open import tail_parts
from tailer.tail.tail import Tail
from tailer.wire import paths

Between = Callable[[], None]


class WatchedLink(Link):
    """`before_registering`: called once, when a consumer's first position is about to leave. `loses_answers`: what is
    put arrives, and nobody hears of it.
    """

    before_registering: Between | None = None
    loses_answers = False

    def ask(self, method: str, path: str, *more: object, **named: object) -> Answer:  # type: ignore[override]
        body = named.get("body")
        if isinstance(body, bytes) and b'"registers":true' in body and self.before_registering is not None:
            between, self.before_registering = self.before_registering, None
            between()
        answer = super().ask(method, path, *more, **named)  # type: ignore[arg-type]
        if self.loses_answers and method == "PUT" and path.startswith(paths.CONSUMERS):
            raise NodeAwayError("the answer was lost")
        return answer


class Far:
    """One process that reads as a consumer over HTTP. It does not wait for a name that another one has."""

    def __init__(self, url: str, name: str, start: str = "earliest", between: Between | None = None) -> None:
        self._name = name
        self.link = WatchedLink(log_place(url), Access())  # type: ignore[arg-type]
        self.link.before_registering = between
        log = NodeLog(RemoteSource(self.link), RemoteHome(self.link, "a test", wait_seconds=0.0))
        self.tail = Tail(tail_parts(log, TailOptions(consumer=name, start=start)))
        try:
            self.tail.open()
        except BaseException:
            self.tail.close()
            raise

    def kill(self) -> None:
        """It says nothing any more, and whoever comes in its place is another process."""
        self.link.close()
        self.tail.close()
        consuming.forget_own(self.link.where, self._name)
