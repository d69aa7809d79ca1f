"""The state of another node, as a home (`state/home.py`): it keeps the files, and `clean` there heeds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from tailer.errors import CdcError, NodeAwayError, SystemFailedError
from tailer.options.names import check_name
from tailer.position import Position
from tailer.remote.answers import decoded
from tailer.remote.consumer import CleanedMeanwhileError, RemoteConsumer
from tailer.remote.journal import RemoteJournal
from tailer.remote.link import NOT_FOUND, Link
from tailer.remote.problems import AnsweredError
from tailer.state.cleaned import Cleaned, CleanedFile, decode_cleaned
from tailer.state.consumers import ConsumerFile
from tailer.state.holds import HoldFile
from tailer.state.home import HeldConsumer, KeepsAside
from tailer.state.journal import Journal
from tailer.state.quarantine import kept_of
from tailer.wire import paths
from tailer.wire.state import LeaseAnswer, PostKept, PutHold, encode

_TRIES: Final = 20


class RemoteHome:
    """Of one node. `program`: who the node's state says is reading. `wait_seconds`: see `Lease`."""

    shared = True

    def __init__(self, link: Link, program: str, wait_seconds: float = paths.WAIT_SECONDS) -> None:
        self._link = link
        self._program = program
        self._wait_seconds = wait_seconds
        self._consumer: RemoteConsumer | None = None
        self._tag: str | None = None

    def make(self) -> None:
        """The node has it."""

    def journal(self, *, writable: bool) -> Journal:
        return RemoteJournal(self._link, writable=writable)

    def consumer(self, name: str, lock_seconds: float) -> HeldConsumer:
        self._consumer = RemoteConsumer(self._link, name, self._program, lambda: self._tag, self._wait_seconds)
        return self._consumer

    def stands(self, name: str) -> ConsumerFile:
        try:
            answer = self._link.ask("GET", f"{paths.CONSUMERS}/{check_name(name)}")
        except AnsweredError as answered:
            if answered.status == NOT_FOUND:
                return ConsumerFile(name, {})
            raise answered.error() from None
        return decoded(answer.body, LeaseAnswer, self._link.where).file or ConsumerFile(name, {})

    def cleaned(self) -> Cleaned:
        return RemoteCleaned(self._link)

    def quarantine(self, consumer: str | None, node: str, tables: tuple[str, ...], *, writes: bool) -> KeepsAside:
        return RemoteQuarantine(self._consumer if writes and consumer else None, node, tables)

    def holds(self) -> RemoteHolds:
        return RemoteHolds(self._link)

    def registering(self, begin: Callable[[], None]) -> None:
        """The node saves a first position only where nothing was cleaned since that was looked for."""
        for _ in range(_TRIES):
            self._link.list_now()
            if self._consumer is not None:
                self._consumer.catch_up()
            self._tag = self._link.look(lambda seen: seen.cleaned_tag)
            try:
                begin()
                return
            except CleanedMeanwhileError:
                continue
            finally:
                self._tag = None
        raise SystemFailedError(
            "`clean` took segments away at each look for the place to begin at",
            file=self._link.where,
            remedy="Start again; `clean` every few minutes is enough.",
        )

    def notices(self) -> Sequence[str]:
        return ()


class RemoteCleaned(Cleaned):
    """What the node's list says was cleaned."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._tag = ""
        self._content = CleanedFile()
        self.refresh()

    def refresh(self) -> CleanedFile:
        tag, text = self._link.look(lambda seen: (seen.cleaned_tag, seen.cleaned))
        if tag != self._tag:
            self._content = CleanedFile() if not text else decode_cleaned(text, self._link.where)
            self._tag = tag
        return self._content


class RemoteQuarantine:
    """See `Quarantine`. Without a consumer nothing is kept but the count."""

    def __init__(self, consumer: RemoteConsumer | None, node: str, tables: tuple[str, ...]) -> None:
        self._consumer = consumer
        self._node = node
        self._tables = tables
        self._kept: set[tuple[Position, int | None]] = set()
        self.count = 0

    @property
    def keeps(self) -> bool:
        """Whether the node keeps what it is given."""
        return self._consumer is not None

    def keep(self, at: Position, file: str, error: CdcError, data: bytes, row: int | None = None) -> None:
        """Keep one entry's bytes, or a refused row; durable on the node when this returns."""
        self.count += 1
        if self._consumer is None or (at, row) in self._kept:
            return
        kept = kept_of(self._node, self._tables, at, file, error, data, row)
        self._consumer.keep_aside(encode(PostKept([kept])))
        self._kept.add((at, row))


class RemoteHolds:
    """Holds that the node keeps; see `HoldStore`. Whether it may be asked for one is its own to say."""

    there = True

    def __init__(self, link: Link) -> None:
        self._link = link
        self.where = link.where

    def locked(self) -> AbstractContextManager[None]:
        """The node takes its lock for each request."""
        return nullcontext()

    def write(self, name: str, content: HoldFile) -> None:
        # How long is left, not when it ends: the clocks may differ.
        left = max(content.until - self._link.now(), 0.0)
        held = PutHold(content.node, content.segment, left, content.program, content.host)
        self._ask("PUT", name, encode(held))

    def drop(self, name: str) -> None:
        try:
            # It runs out by itself: who ends waits for no node.
            self._ask("DELETE", name, None, patient=False)
        except NodeAwayError as error:
            raise OSError(error.sentence()) from error

    def _ask(self, method: str, name: str, body: bytes | None, *, patient: bool = True) -> None:
        try:
            self._link.ask(method, f"{paths.HOLDS}/{name}", body=body, patient=patient)
        except AnsweredError as answered:
            raise answered.error() from None
