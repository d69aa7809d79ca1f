"""What a node's lists have told of its segments, kept up to date by what differs. Sends nothing and judges nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from tailer.errors import SystemFailedError
from tailer.framing.name import parse_log_name, parse_sidecar_name
from tailer.limits import whole_number
from tailer.segments.folder import LogFile, SidecarFile
from tailer.typed_decode import decode_json
from tailer.wire.listing import SECOND, ListAnswer, LogInfo, SidecarInfo, log_of, plain_sidecar, sidecar_of

NEWS_MAX: Final = 4096
"""Changes that are remembered one by one; who asks less often is told of everything."""


class Seen:
    """Of one node. Not thread-safe."""

    def __init__(self) -> None:
        self.logs: dict[int, LogFile] = {}
        self.sidecars: dict[int, SidecarFile] = {}
        self.others: dict[str, str] = {}
        self.dropped: int | None = None
        self.cleaned = b""
        self.cleaned_tag = ""
        self.linked = False
        self.etag = ""
        self.records = 0
        self.plain = False
        """It is cassandra-sidecar: its list has the first members alone, and it keeps no state for readers."""
        self.skew = 0.0
        """The node's clock is so far ahead of ours."""
        self._log_infos: dict[str, LogInfo] = {}
        self._sidecar_infos: dict[str, SidecarInfo] = {}
        self._changed: dict[int, int] = {}
        self._news: deque[tuple[int, int]] = deque(maxlen=NEWS_MAX)
        self.number = 0
        """Of the last change."""

    def overtook(self, answer: ListAnswer) -> bool:
        """Whether an answer is older than what is known, or is of what differs from another list."""
        if answer.since:
            return answer.since != self.etag
        (boot, _, version), (known, _, newest) = answer.etag.rpartition("-"), self.etag.rpartition("-")
        found, held = whole_number(version), whole_number(newest)
        return boot == known and found is not None and held is not None and found < held

    def take(self, answer: ListAnswer, now: float) -> bool:
        """Take in an answer that came at `now`; whether anything differs. Raises the errors of its form."""
        self.plain = not answer.boot
        before = (self.number, self.cleaned_tag, self.records, self.dropped, self.linked)
        self._take_names(answer)
        self.others, self.dropped, self.linked = answer.others, answer.dropped, answer.linked
        if (cleaned := bytes(answer.cleaned)) or not answer.since:
            self.cleaned = cleaned
        self.cleaned_tag, self.etag, self.records = answer.cleaned_tag, answer.etag, answer.records
        self.skew = answer.now_ns / SECOND - now if answer.now_ns else 0.0
        return before != (self.number, self.cleaned_tag, self.records, self.dropped, self.linked)

    def changed(self, segment: int) -> int:
        """The number of the last change of a segment, 0 before the first."""
        return self._changed.get(segment, 0)

    def news(self, after: int) -> set[int] | None:
        """The segments that changed behind a change's number; None where that is not remembered."""
        if after >= self.number:
            return set()
        if not self._news or self._news[0][0] > after + 1:
            return None
        return {segment for number, segment in self._news if number > after}

    def info(self, name: str) -> LogInfo | None:
        """What the list says of a segment's file."""
        return self._log_infos.get(name)

    def _take_names(self, answer: ListAnswer) -> None:
        logs = {info.name: info for info in answer.segments_info}
        sidecars = {info.name: info for info in self._sidecars_of(answer)}
        if answer.since:
            gone = set(answer.gone)
        else:
            gone = (self._log_infos.keys() - logs.keys()) | (self._sidecar_infos.keys() - sidecars.keys())
        for name in gone:
            self._drop(name)
        for name, sidecar in sidecars.items():
            if self._sidecar_infos.get(name) != sidecar:
                found = sidecar_of(sidecar)
                self._sidecar_infos[name] = sidecar
                self.sidecars[found.name.segment] = found
                self._note(found.name.segment)
        for name, log in logs.items():
            if self._log_infos.get(name) != log:
                held = log_of(log)
                self._log_infos[name] = log
                self.logs[held.name.segment] = held
                self._note(held.name.segment)

    def _sidecars_of(self, answer: ListAnswer) -> Iterable[SidecarInfo]:
        if not self.plain:
            return answer.sidecars
        return [found for info in answer.segments_info if (found := plain_sidecar(info)) is not None]

    def _drop(self, name: str) -> None:
        if self._log_infos.pop(name, None) is not None and (log := parse_log_name(name)) is not None:
            del self.logs[log.segment]
            self._note(log.segment)
        if self._sidecar_infos.pop(name, None) is not None and (sidecar := parse_sidecar_name(name)) is not None:
            del self.sidecars[sidecar.segment]
            self._note(sidecar.segment)

    def _note(self, segment: int) -> None:
        self.number += 1
        self._changed[segment] = self.number
        self._news.append((self.number, segment))
        if segment not in self.logs and segment not in self.sidecars:
            # Ids rise: what is gone is asked for no more, and would be kept for ever.
            del self._changed[segment]


def decode_list(body: bytes) -> ListAnswer:
    """A list's answer. SystemFailedError for what is none."""
    try:
        return decode_json(body, ListAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SystemFailedError(
            "the node's list of segments is of a form that is not understood",
            found=str(error),
            remedy="Is this the address of `cdc-tail serve`, of this version or an older one?",
        ) from None
