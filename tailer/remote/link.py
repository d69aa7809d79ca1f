"""The link to one node: its list kept up to date, requests in a consumer's name, and whether it is there at all.

One thread waits for the node's list (`listen`), so that a look costs no request. Knows no survey and no journal.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from tailer.errors import CdcError, NodeAwayError, RefusedError, SystemFailedError
from tailer.framing.name import SegmentName
from tailer.options.log_place import NodeUrl
from tailer.paced_answer import ANSWER_SECONDS
from tailer.remote.absence import Absence, Say
from tailer.remote.access import Access
from tailer.remote.ahead import Ahead, Piece
from tailer.remote.answers import odd
from tailer.remote.connection import Answer, Connections
from tailer.remote.problems import AnsweredError, problem_of
from tailer.remote.seen import Seen, decode_list
from tailer.wire import paths
from tailer.wire.listing import LogInfo
from tailer.wire.wishes import PARAMETER, write_wishes

OK: Final = 200
PARTIAL: Final = 206
NOT_MODIFIED: Final = 304
ERRORS: Final = 400
NOT_FOUND: Final = 404
PLAIN_SECONDS: Final = 0.5
"""How often a node is asked that answers at once, whatever there is."""

STOP_SECONDS: Final = 1.0
"""Who was told to stop waits so long for answers that are on their way."""

_SLICE_SECONDS: Final = 0.1
_LIST_TRIES: Final = 10
_BUSY: Final = 503
_RETRY_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_NAMELESS: Final[Mapping[str, str]] = {}

Stopping = Callable[[], bool]


class Link:
    """Of one node, for one reader. `patience`: how many seconds a request is tried again while the node is away.

    Every request renews the lease that this reader holds, if it holds one (`use`). `say`: who waits is told so.
    `stopping`: asked while it waits: from then on nothing is tried again, and what hangs is given up.
    """

    def __init__(
        self,
        url: NodeUrl,
        access: Access,
        patience: float = 0.0,
        say: Say | None = None,
        stopping: Stopping | None = None,
    ) -> None:
        self.url = url
        self.patience = patience
        self._name: Mapping[str, str] = _NAMELESS
        self._connections = Connections(url, access)
        self._absence = Absence(str(url), patience, say)
        self._stopping = stopping
        # Behind what may refuse its options: it is closed by hand.
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._forgotten = weakref.finalize(self, _close, self.descriptor, self._connections)
        self._lock = threading.Lock()
        self._seen = Seen()
        self._ahead = Ahead()
        self._listed = False
        self._listening: threading.Thread | None = None
        self._closing = threading.Event()
        self._error: CdcError | None = None
        self._away_since: float | None = None
        self._folder = ""
        self._cutting: threading.Thread | None = None
        if stopping is not None:
            self._cutting = threading.Thread(target=self._cut_when_stopped, name=f"stop of {self.where}", daemon=True)
            self._cutting.start()

    @property
    def where(self) -> str:
        return str(self.url)

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] = _NAMELESS,
        body: bytes | None = None,
        headers: Mapping[str, str] = _NAMELESS,
        seconds: float = ANSWER_SECONDS,
        *,
        patient: bool = True,
    ) -> Answer:
        """The answer to a request. AnsweredError for one of 400 and more; NodeAwayError once patience is over.

        A node that is busy (503) is waited for as long as one that is away, and at least as long as for an answer. Not
        `patient`: it is asked once.
        """
        target = f"{quote(path)}?{urlencode(query)}" if query else quote(path)
        began, attempt = time.monotonic(), 0
        while True:
            try:
                answer = self._once(method, target, {**self._name, **headers}, body, seconds)
            except (NodeAwayError, AnsweredError) as error:
                pause = self._pause_after(error, attempt, time.monotonic() - began, seconds) if patient else None
                if pause is None or not self.pause(pause):
                    raise
                attempt += 1
            else:
                self._absence.over()
                return answer

    def pause(self, seconds: float) -> bool:
        """Wait; False at once where nobody waits any more, because the run stops or the link was closed."""
        until = time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            if self.stopped or self._closing.wait(min(rest, _SLICE_SECONDS)):
                return False
        return not self.stopped

    @property
    def stopped(self) -> bool:
        """Whether the run was told to stop."""
        return self._stopping is not None and self._stopping()

    def list_now(self) -> None:
        """See that the list is as new as this call. Raises the errors of `ask`."""
        for _ in range(_LIST_TRIES):
            with self._lock:
                etag = self._seen.etag
            try:
                answer = self.ask("GET", paths.SEGMENTS, {"etag": etag} if etag else {})
            except AnsweredError as answered:
                raise answered.error() from None
            if self._take(answer) is not None:
                return
        raise SystemFailedError("a node's list is of what differs from another one", file=self.where)

    def listen(self) -> None:
        """From now on the list keeps itself up to date."""
        if self._listening is None:
            self._listening = threading.Thread(target=self._keep_listening, name=f"list of {self.where}", daemon=True)
            self._listening.start()

    def look(self, use: Callable[[Seen], Any]) -> Any:
        """What `use` makes of the newest list. Raises what keeps it from being the newest, once patience is over."""
        if self._listening is None or not self._listed:
            self.list_now()
        with self._lock:
            if self._error is not None and not self._is_patient():
                raise self._error
            return use(self._seen)

    @property
    def plain(self) -> bool:
        """Whether it is cassandra-sidecar that answers there."""
        plain: bool = self.look(lambda seen: seen.plain)
        return plain

    @property
    def away(self) -> CdcError | None:
        """Why the list is not the newest; None where it is."""
        return self._error

    def info(self, name: str) -> tuple[LogInfo | None, int]:
        """What the list says of a segment's file, and a number that rises with each change of the list."""
        with self._lock:
            return self._seen.info(name), self._seen.number

    def changed(self, segment: int) -> int:
        """A number that rises with each change of a segment."""
        with self._lock:
            return self._seen.changed(segment)

    def follow(self, name: SegmentName) -> None:
        """From now on the list brings a few bytes of a segment that it vouches for anew (`ahead`)."""
        with self._lock:
            self._ahead.follow(name)

    def leave(self, name: SegmentName) -> None:
        """Nobody wants them any more."""
        with self._lock:
            self._ahead.leave(name)

    def ahead(self, name: SegmentName, at: int, etag: str) -> Piece | None:
        """Bytes of that very file that came with the list, if they have the one at `at` and are still good."""
        with self._lock:
            return self._ahead.find(name, at, etag, self._seen.changed(name.segment))

    def use(self, name: Mapping[str, str]) -> None:
        """The headers of every request from now on."""
        self._name = name

    def take_hint(self) -> None:
        """Whoever waited for `descriptor` has been woken."""
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return

    def now(self) -> float:
        """Seconds since the epoch by the node's clock."""
        return time.time() + self._seen.skew

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._connections.close()
        for each in (self._listening, self._cutting):
            if each is not None:
                each.join()
        with self._lock:
            self._forgotten()
            self.descriptor = -1

    def _once(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, seconds: float) -> Answer:
        answer = self._connections.ask(method, target, headers, body, seconds)
        folder = answer.headers.get(paths.FOLDER_HEADER, "")
        if folder:
            self._check_folder(folder)
        if answer.status >= ERRORS:
            problem = problem_of(answer.status, answer.body)
            raise AnsweredError(answer.status, problem, self.where)
        if answer.status not in (OK, PARTIAL, NOT_MODIFIED):
            # Redirects among them: another address is another node.
            raise odd(self.where, f"HTTP status {answer.status}")
        return answer

    def _pause_after(
        self, error: NodeAwayError | AnsweredError, attempt: int, passed: float, seconds: float
    ) -> float | None:
        """How long to wait before the same is asked again; None where that is not worth it, or patience is over."""
        pause, limit = _RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)], self.patience
        if isinstance(error, AnsweredError):
            self._absence.over()
            if error.status != _BUSY:
                return None
            if (after := error.problem.after) is not None:
                pause, limit = max(pause, after), max(limit, seconds)
        if passed + pause > limit:
            return None
        if isinstance(error, NodeAwayError):
            self._absence.begun(error)
        return pause

    def _check_folder(self, folder: str) -> None:
        if self._folder and folder != self._folder:
            raise RefusedError(
                "another node's log is at this address now",
                file=self.where,
                expected=f"that with state {self._folder}",
                found=f"one with state {folder}",
                remedy="Give the address of the node that was read so far, or start with a new consumer or checkpoint.",
            )
        self._folder = folder

    def _take(self, answer: Answer) -> bool | None:
        """Whether the list differs now; None for an answer that was overtaken by a newer one."""
        found = decode_list(answer.body) if answer.status == OK else None
        with self._lock:
            if found is not None and self._seen.overtook(found):
                return None
            differs = found is not None and self._seen.take(found, time.time())
            if found is not None:
                self._ahead.take(found.ahead, self._seen)
            self._error, self._away_since = None, None
            self._listed = True
            return differs

    def _keep_listening(self) -> None:
        attempt = 0
        while not (self._closing.is_set() or self.stopped):
            try:
                # Of the list that is there now: another thread may take a newer one meanwhile.
                with self._lock:
                    etag, wishes = self._seen.etag, write_wishes(self._ahead.wishes(self._seen))
                query = {
                    "etag": etag,
                    "wait": f"{paths.LIST_WAIT_SECONDS:g}s",
                    **({PARAMETER: wishes} if wishes else {}),
                }
                target = f"{paths.SEGMENTS}?{urlencode(query, safe='@,')}"
                answer = self._once("GET", target, self._name, None, paths.LIST_WAIT_SECONDS + ANSWER_SECONDS)
                self._absence.over()
                was_away, attempt = self._error is not None, 0
                if self._take(answer) or was_away:
                    self._wake()
                if self._seen.plain:
                    # It knows no waiting.
                    self._closing.wait(PLAIN_SECONDS)
            except AnsweredError as answered:
                attempt = self._failed(answered.error(), attempt)
            except CdcError as error:
                attempt = self._failed(error, attempt)

    def _failed(self, error: CdcError, attempt: int) -> int:
        """Who looks is told; it is tried again meanwhile."""
        if self._closing.is_set() or self.stopped:
            return attempt
        with self._lock:
            fresh, self._error = self._error is None, error
            self._away_since = time.monotonic() if self._away_since is None else self._away_since
        if self._is_patient():
            self._absence.begun(error)
        if fresh or not self._is_patient():
            self._wake()
        self._closing.wait(_RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)])
        return attempt + 1

    def _cut_when_stopped(self) -> None:
        """A node that hangs keeps nobody who was told to stop; what is answered soon still is."""
        while not self._closing.wait(_SLICE_SECONDS * 2):
            if self.stopped:
                self._connections.cut(STOP_SECONDS)

    def _is_patient(self) -> bool:
        """Whether a node that is away is still waited for."""
        since = self._away_since
        waits = isinstance(self._error, NodeAwayError)
        return waits and since is not None and time.monotonic() - since < self.patience

    def _wake(self) -> None:
        with self._lock:
            if self.descriptor >= 0:
                os.eventfd_write(self.descriptor, 1)


def _close(descriptor: int, connections: Connections) -> None:
    """Also of a link that nobody closed, and that nobody listens to."""
    connections.close()
    os.close(descriptor)
