"""The journal of another node's state: its records are read from there, and what is decided here is put there.

What the log says affects every consumer: the node reads its own log before it has it (`PostRecords`). Definitions that
this reader has from elsewhere affect its consumer alone, unless the node lets it give them for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

import msgspec

from tailer.errors import SystemFailedError
from tailer.remote.answers import decoded, odd
from tailer.remote.connection import Answer
from tailer.remote.link import Link
from tailer.remote.problems import AnsweredError
from tailer.state.journal import Journal
from tailer.state.journal_records import (
    LOG,
    AnyRecord,
    LearntRecord,
    OwnSchemaRecord,
    SchemaRecord,
    StateRecord,
    TimesRecord,
    content,
)
from tailer.wire import paths, words
from tailer.wire.state import Numbers, PostRecords, RecordsAnswer, encode

_Post = Callable[[], Answer]

_TRIES: Final = 20
_REQUEST_BYTES: Final = paths.BODY_BYTES_MAX // 2
DERIVE_SECONDS: Final = 600.0
"""How long the node may take to read what a definition stands in."""


class _MayNotError(Exception):
    """A run without a consumer cannot put this there: it may only read, or gives definitions."""


class RemoteJournal(Journal):
    """See `Journal`. `consumer`: in whose name decisions are put there, `under` its lease. `for_all`: whether the node
    takes this reader's definitions for every consumer."""

    def __init__(
        self,
        link: Link,
        *,
        writable: bool = True,
        consumer: str = "",
        under: Callable[[_Post], Answer] | None = None,
        for_all: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(f"{link.where}{paths.RECORDS}", writable=writable)
        self._link = link
        self._consumer = consumer
        self._under = under or (lambda post: post())
        self._for_all = for_all
        self._take_in()

    def refresh(self) -> None:
        """As far as the node's list tells that there is more: that is newer than any request."""
        if self._own == 0 and self._link.look(lambda seen: seen.records) > self.count:
            self._take_in()

    def catch_up(self) -> None:
        if self._own == 0:
            self._take_in()

    def _append(self, records: Sequence[AnyRecord]) -> list[int]:
        # What a segment was searched for spares this process nothing, and the node has searched it itself. When its
        # sections became durable only who looks at the files is to say.
        wanted = [record for record in records if not isinstance(record, LearntRecord | TimesRecord)]
        numbers: dict[int, int] = {}
        try:
            posted = [self._own_form(record) for record in wanted]
            found = [number for part in _by_request(posted) for number in self._post(part)]
            numbers = {id(record): number for record, number in zip(wanted, found, strict=True)}
        except _MayNotError:
            # A run that keeps nothing needs no journal: what it learns holds for itself.
            self._writable = False
            return self.append(records)
        if not wanted:
            self._take_in()
        return [numbers.get(id(record), 0) for record in records]

    def _own_form(self, record: AnyRecord) -> AnyRecord:
        """The record as it is put there: a definition from elsewhere than the log as one of this consumer."""
        if not isinstance(record, SchemaRecord) or record.source == LOG or self._for_all():
            return record
        if not self._consumer:
            raise _MayNotError
        return OwnSchemaRecord(**msgspec.structs.asdict(record), consumer=self._consumer)

    def _post(self, part: Sequence[AnyRecord]) -> list[int]:
        for _ in range(_TRIES):
            known = {place: n for place, each in enumerate(part) if each.once and (n := self._known.get(content(each)))}
            fresh = [each for place, each in enumerate(part) if place not in known]
            posted = self._ask(fresh) if fresh else []
            if posted is None:
                self._take_in()
                continue
            numbers = iter(posted)
            found = [known[place] if place in known else next(numbers) for place in range(len(part))]
            self._take_in(own=posted)
            return found
        raise SystemFailedError(
            "the node's journal grows faster than this reader can add to it",
            file=self.where,
            remedy="Start again when fewer readers begin there at once.",
        )

    def _ask(self, records: Sequence[AnyRecord]) -> list[int] | None:
        """The numbers that the records have there; None where it has others meanwhile."""
        body = encode(PostRecords(self.count, list(records), self._consumer))
        try:
            answer = self._under(lambda: self._link.ask("POST", paths.RECORDS, body=body, seconds=DERIVE_SECONDS))
        except AnsweredError as answered:
            if answered.word == words.BEHIND:
                return None
            if answered.word == words.NOT_ALLOWED and not self._consumer:
                raise _MayNotError from None
            raise answered.error() from None
        found: Numbers = decoded(answer.body, Numbers, self.where)
        if len(found.numbers) != len(records):
            raise odd(self.where, f"{len(found.numbers)} numbers for {len(records)} records")
        return found.numbers

    def _take_in(self, own: Collection[int] = ()) -> None:
        """What the node has behind what is known here. `own`: numbers of what this process put there."""
        while self._take_some(own):
            pass

    def _take_some(self, own: Collection[int]) -> bool:
        try:
            # Which base it goes on from: another one is told anew.
            answer = self._link.ask("GET", paths.RECORDS, {"from": self.count, "base": self._base.upto})
        except AnsweredError as answered:
            raise answered.error() from None
        found: RecordsAnswer = decoded(answer.body, RecordsAnswer, self.where)
        if found.anew:
            self._forget()
        self._base, self._id = found.base, found.id
        for record in found.records:
            if isinstance(record, StateRecord) or record.n <= self.count:
                continue
            self._take(record)
            self.foreign += record.n not in own
        if not found.more:
            # A compaction has taken a number for itself.
            self._count = max(self._count, found.count)
        return found.more


def _by_request(records: Sequence[AnyRecord]) -> Iterator[list[AnyRecord]]:
    """The records in parts that one request can hold."""
    part: list[AnyRecord] = []
    size = 0
    for record in records:
        more = len(encode(record))
        if part and size + more > _REQUEST_BYTES:
            yield part
            part, size = [], 0
        part.append(record)
        size += more
    if part:
        yield part
