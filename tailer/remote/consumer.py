"""A consumer that another node keeps: this reader's for as long as it asks now and then. Decides nothing."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from tailer.errors import CdcError, RefusedError
from tailer.options.names import check_name
from tailer.remote.answers import decoded
from tailer.remote.journal import RemoteJournal
from tailer.remote.link import Link
from tailer.remote.problems import AnsweredError
from tailer.state.consumer import KeptConsumer
from tailer.state.consumers import ConsumerFile
from tailer.wire import paths, words
from tailer.wire.state import LeaseAnswer, PutConsumer, encode

_Result = TypeVar("_Result")

_SLICE_SECONDS: Final = 1.0
_RENEW_SECONDS: Final = paths.LEASE_SECONDS / 3

_given_back: dict[tuple[str, str], str] = {}
"""By address and name, as whom this process held a consumer that it has closed: it need not wait for itself."""


def forget_own(where: str, name: str) -> None:
    """Whoever takes the name in this process next is another reader, as in another process."""
    _given_back.pop((where, name), None)


class CleanedMeanwhileError(Exception):
    """Not an error for anybody: `clean` took segments away while a consumer looked for its place: it looks again."""


class Lease:
    """A consumer's name, taken. RefusedError where another reader keeps it; waits for one that may have been killed."""

    def __init__(self, link: Link, name: str, program: str, wait_seconds: float = paths.WAIT_SECONDS) -> None:
        self._link = link
        self._name = name
        self._path = f"{paths.CONSUMERS}/{check_name(name)}"
        self._key = (link.where, name)
        self._reader = _given_back.pop(self._key, "") or secrets.token_hex(8)
        self._program = program
        self._version = 0
        self.defines_for_all = False
        """Whether the node takes this reader's definitions for every consumer."""
        self._wait_seconds = wait_seconds
        self.file = self._take()
        self._stands = [self.file]
        self._done = threading.Event()
        self._renewing = threading.Thread(target=self._keep, name=f"lease of {name}", daemon=True)
        self._renewing.start()

    def under(self, work: Callable[[], _Result]) -> _Result:
        """Do something in the consumer's name. Where `serve` was started anew, and knows of no lease, the name is taken
        again: AnsweredError for anything else that it says.
        """
        while True:
            try:
                return work()
            except AnsweredError as answered:
                if answered.word != words.NO_LEASE:
                    raise
            self._take_again()

    def put(self, **what: Any) -> LeaseAnswer:
        """Say something in the consumer's name. Raises the documented errors, and CleanedMeanwhileError."""
        try:
            return self.under(lambda: self._put(self._version, **what))
        except AnsweredError as answered:
            if answered.word == words.CLEANED:
                raise CleanedMeanwhileError from None
            raise answered.error() from None

    def save(self, file: ConsumerFile, **what: Any) -> None:
        """Say where the consumer stands; see `put`."""
        # Should the answer be lost, it may stand at either.
        self._stands = [self._stands[0], file]
        self.put(file=file, **what)
        self._stands = [file]

    def post(self, path: str, body: bytes) -> None:
        """Post something to the consumer's own address."""
        try:
            self.under(lambda: self._link.ask("POST", f"{self._path}/{path}", body=body))
        except AnsweredError as answered:
            raise answered.error() from None

    def close(self) -> None:
        if self._done.is_set():
            return
        self._done.set()
        # So that the next reader of that name need not wait; where the node is away the lease ends by itself.
        _given_back[self._key] = self._reader
        with contextlib.suppress(CdcError, AnsweredError):
            self._put(self._version, patient=False, gives_back=True)
        self._link.use({})

    def _take(self) -> ConsumerFile:
        """What stands of the consumer. RefusedError where another reader keeps the name."""
        until = time.monotonic() + self._wait_seconds
        while True:
            try:
                found = self._put(0)
            except AnsweredError as answered:
                pause = min(answered.problem.after or _SLICE_SECONDS, _SLICE_SECONDS)
                late = time.monotonic() + pause > until
                if answered.word != words.LEASED or late or not self._link.pause(pause):
                    raise answered.error() from None
                continue
            self._version, self.defines_for_all = found.version, found.defines_for_all
            self._link.use({paths.LEASE_HEADER: str(found.version), paths.READER_HEADER: self._reader})
            return found.file or ConsumerFile(self._name, {})

    def _take_again(self) -> None:
        """Nobody elsewhere was given the name in between; a process on the node may have moved the consumer."""
        found = encode(self._take().nodes)
        if found not in (encode(each.nodes) for each in self._stands):
            raise RefusedError(
                f"consumer {self._name} was moved while its node was away",
                file=self._link.where,
                remedy="Start again: it goes on where the consumer stands now.",
            )

    def _put(self, version: int, *, patient: bool = True, **what: Any) -> LeaseAnswer:
        said = PutConsumer(self._reader, version, program=self._program, host=socket.gethostname(), **what)
        answer = self._link.ask("PUT", self._path, body=encode(said), patient=patient)
        return decoded(answer.body, LeaseAnswer, self._link.where)

    def _keep(self) -> None:
        """Renew the lease of who reads for long without a request."""
        while not self._done.wait(_RENEW_SECONDS):
            # The next save meets the same, and says what it is.
            with contextlib.suppress(CdcError, AnsweredError):
                self._put(self._version, patient=False)


class RemoteConsumer(KeptConsumer):
    """See `Consumer`. `cleaned_tag`: of the list of cleaned segments that its place is found by, while it begins;
    None otherwise.
    """

    def __init__(
        self, link: Link, name: str, program: str, cleaned_tag: Callable[[], str | None], wait_seconds: float
    ) -> None:
        self._lease = Lease(link, name, program, wait_seconds)
        self._cleaned_tag = cleaned_tag
        try:
            lease = self._lease
            journal = RemoteJournal(link, consumer=name, under=lease.under, for_all=lambda: lease.defines_for_all)
            super().__init__(name, self._lease.file, journal)
        except BaseException:
            self._lease.close()
            raise
        self.away = RemoteAway(self._lease)
        # A place that is found now is stamped with what the journal has now, behind what `clean` forgot of it.
        self.catch_up = journal.catch_up

    def keep_aside(self, body: bytes) -> None:
        """Put entries into the consumer's quarantine."""
        self._lease.post(paths.QUARANTINE, body)

    def _write(self, kept: ConsumerFile) -> None:
        if (tag := self._cleaned_tag()) is not None:
            self._lease.save(kept, registers=True, cleaned_tag=tag)
        else:
            self._lease.save(kept)

    def close(self) -> None:
        self._lease.close()


class RemoteAway:
    """Tells the node that the consumer's target is away; see `AwayNote`."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def tell(self, error: CdcError | None) -> None:
        self._lease.put(away="" if error is None else error.sentence())
