"""Requests about the journal: its records, and more of them.

What affects one consumer is written in its name under its lease: each kind of record states whom it affects
(`Affects`). What the log itself says is never taken from a reader: the node reads it, and answers the numbers. Sends
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final, cast

import msgspec

from tailer.errors import CdcError, SystemFailedError
from tailer.serve.asked import Claim
from tailer.serve.clients import Client
from tailer.serve.consumers import Consumers, check_writer
from tailer.serve.known_ends import KnownEnds
from tailer.serve.names import Names
from tailer.serve.node_journal import NodeJournal, Stands, size_of
from tailer.serve.own_reading import OwnReading
from tailer.serve.problems import ProblemError, again, conflict, not_allowed, of_error, refused
from tailer.serve.threads import Disk
from tailer.state.affected import affects_all, consumer_of
from tailer.state.ids_json import to_texts
from tailer.state.journal_records import (
    FILE,
    LOG,
    NODE,
    SERVER,
    UNNAMED,
    AnyRecord,
    AppearedRecord,
    DefinitionRecord,
    OwnAppearedRecord,
    SchemaRecord,
    SegmentEndRecord,
    content,
)
from tailer.wire import words
from tailer.wire.paths import RECORDS_BYTES_MAX
from tailer.wire.state import Numbers, PostRecords, Problem, RecordsAnswer, encode

RECORDS_MAX: Final = 10_000
"""Of one request, by far more than a step of a tail has."""

_ELSEWHERE: Final = (FILE, SERVER, NODE)
"""How the sources of definitions begin that a reader has from elsewhere than the log."""

_TAKE: Final = "Take the consumer's name first."


class Records:
    """Of one state folder. `names`: of consumers."""

    def __init__(
        self, journal: NodeJournal, consumers: Consumers, reading: OwnReading, disk: Disk, names: Names
    ) -> None:
        self._journal = journal
        self._consumers = consumers
        self._reading = reading
        self._disk = disk
        self._names = names
        self._known_ends = KnownEnds(journal)

    def get(self, client: Client, after: int, base: int | None) -> bytes:
        """`GET /records`: those behind a number, some of them where there are many. Of what affects one consumer alone
        a client gets its own consumers' records, and without a name what others saw appear; numbers have gaps anyhow.
        """
        stands, records = self._journal.read(after)
        anew = after > stands.count or (after < stands.base.upto and base != stands.base.upto)
        if anew:
            stands, records = self._journal.read(0)
        # Who does not say which base it reads cannot go on in the middle of one.
        whole = stands.base.upto if base is None else 0
        # Once for each name: that reads a lease, and thousands of segments may have appeared.
        decides = cache(self._consumers.decides_order)
        own = [shown for record in records if (shown := _shown(client, record, decides)) is not None]
        return _answer(stands, own, anew=anew, whole=whole)

    async def post(self, client: Client, asked: PostRecords, claim: Claim | None) -> Numbers:
        """`POST /records`: durable when this returns."""
        check_writer(client)
        if len(asked.records) > RECORDS_MAX:
            raise refused("too many records", status=413, expected=f"{RECORDS_MAX} at most")
        _check_kinds(client, asked)
        if not client.defines_for_all:
            asked = msgspec.structs.replace(asked, records=[_for_itself(record) for record in asked.records])
        said = [record for record in asked.records if is_of_log(record)]
        if said:
            await self._derive(asked.expected, said)
        if not asked.consumer:
            return await self._disk.run(self._append, client, asked)
        async with self._names.one(asked.consumer):
            await self._disk.run(self._consumers.check_claim, client, asked.consumer, claim)
            return await self._disk.run(self._append, client, asked)

    async def _derive(self, expected: int, said: Sequence[AnyRecord]) -> None:
        """What the log says is in the journal when this returns. ProblemError where it says something else."""
        if await self._disk.run(self._all_known, said):
            return
        found = await self._disk.read(self._reading.read, said, lambda: self._all_known(said))
        if found is True:
            return
        if found is False:
            raise again("the node still reads its log", 1.0)
        stands = await self._disk.run(self._journal.refresh)
        if stands.count != expected:
            # It may have found what says as much, from a lower position on.
            raise _behind(stands.count)
        assert isinstance(found, CdcError)
        raise of_error(found, words.NOT_DERIVED, 409)

    def _append(self, client: Client, asked: PostRecords) -> Numbers:
        """The numbers of all, of which the rest is journalled now, if it does not stand there."""
        said = self._numbers_said(asked.records)
        rest = [record for record, number in zip(asked.records, said, strict=True) if number is None]
        numbers = iter(self._append_rest(client, rest, asked.expected) if rest else ())
        return Numbers([number if number is not None else next(numbers) for number in said])

    def _append_rest(self, client: Client, records: Sequence[AnyRecord], expected: int) -> Sequence[int]:
        full = self._full(client, records)
        if full is not None and self._consumers.make_room(client):
            full = self._full(client, records)
        made = None if full is not None else self._journal.append_at(records, expected)
        if made is None:
            # What is there already takes no more room.
            made = self._stand_there(records, expected)
        if made is None and full is not None:
            raise full
        if made is None:
            raise _behind(self._journal.refresh().count)
        return made

    def _full(self, client: Client, records: Sequence[AnyRecord]) -> ProblemError | None:
        """Why the client may add no such records; None where it may."""
        more = sum(map(size_of, records))
        used = self._consumers.used(client, more)
        if used + more <= client.journal_bytes:
            return None
        problem = Problem(
            words.JOURNAL_FULL,
            f"the node's journal has no more room for {client.name}",
            code=SystemFailedError.code,
            expected=f"{client.journal_bytes} bytes of its consumers' records at most",
            found=f"{used}, and {more} more",
            remedy="Drop consumers that are not needed any more (`cdc-tail consumers DIR drop NAME` on the node), and "
            "their records go; `cdc-tail clean` leaves out what all others are past. Or raise `journal` where the node "
            "says who may ask.",
        )
        return ProblemError(507, problem)

    def _stand_there(self, records: Sequence[AnyRecord], expected: int) -> list[int] | None:
        """The numbers of records that were journalled behind `expected`, and whose answer was lost; else None."""
        known = self._journal.numbers_of(records)
        _, behind = self._journal.read(expected)
        numbers, fresh = [], iter(behind)
        for record, number in zip(records, known, strict=True):
            if number is not None and number <= expected:
                numbers.append(number)
                continue
            stood = next(fresh, None)
            if stood is None or content(stood) != content(record):
                return None
            numbers.append(stood.n)
        return numbers

    def _all_known(self, records: Sequence[AnyRecord]) -> bool:
        return None not in self._numbers_said(records)

    def _numbers_said(self, records: Sequence[AnyRecord]) -> list[int | None]:
        """The numbers of what the log says, as far as it is journalled; None of all others."""
        numbers = self._journal.numbers_of(records)
        ends = self._ends(record for record in records if isinstance(record, SegmentEndRecord))
        return [
            None if not is_of_log(record) else number or ends.get((getattr(record, "segment", 0), _end(record)))
            for record, number in zip(records, numbers, strict=True)
        ]

    def _ends(self, asked: Iterable[SegmentEndRecord]) -> dict[tuple[int, int], int]:
        """The newest end on record of segments, where it is the same: how it was seen makes no row another."""
        segments = {record.segment for record in asked if record.consumer is None}
        if not segments:
            return {}
        return {(each.segment, each.end): each.n for each in self._known_ends.newest(segments).values()}


def is_of_log(record: AnyRecord) -> bool:
    """Whether a record says what the log itself says."""
    if isinstance(record, SchemaRecord):
        return record.source == LOG and affects_all(record)
    return isinstance(record, DefinitionRecord) or (isinstance(record, SegmentEndRecord) and record.consumer is None)


def _end(record: AnyRecord) -> int:
    return record.end if isinstance(record, SegmentEndRecord) else -1


def _check_kinds(client: Client, asked: PostRecords) -> None:
    """ProblemError for a record that affects another consumer than the one that is asked for."""
    for record in asked.records:
        if is_of_log(record):
            continue
        if affects_all(record):
            _check_for_all(client, record)
        elif not asked.consumer or consumer_of(record) != asked.consumer:
            raise not_allowed(
                f"a record in the name of {consumer_of(record)!r}, asked for as consumer {asked.consumer!r}",
                "A consumer's decisions are written in its own name, under its lease.",
            )
        if isinstance(record, SchemaRecord) and not record.source.startswith(_ELSEWHERE):
            raise refused("the source of a definition", expected=" or ".join(_ELSEWHERE), found=repr(record.source))
        if not asked.consumer:
            raise conflict(words.NO_LEASE, "definitions are written under a consumer's lease", remedy=_TAKE)


def _check_for_all(client: Client, record: AnyRecord) -> None:
    if not isinstance(record, SchemaRecord):
        raise refused("a record of a kind that readers do not write", found=repr(record.__struct_config__.tag))
    if not client.defines_for_all:
        raise not_allowed(
            f"{client.name} may not give definitions for every consumer",
            "Give them in a consumer's name (a reader of this version does), or set `defines_for_all = true` where the "
            "node says who may ask.",
        )


def _for_itself(record: AnyRecord) -> AnyRecord:
    """A client could put the log into another order for everybody by what it says to have seen appear."""
    return OwnAppearedRecord(**msgspec.structs.asdict(record)) if type(record) is AppearedRecord else record


def _behind(count: int) -> ProblemError:
    return conflict(words.BEHIND, f"the journal has {count} records", remedy="Read them, and post again.")


def _answer(stands: Stands, records: Sequence[AnyRecord], *, anew: bool, whole: int) -> bytes:
    """Those up to number `whole` come in any case."""
    told: list[Any] = []
    room = RECORDS_BYTES_MAX
    for record in records:
        text = msgspec.json.encode(record, enc_hook=to_texts)
        if told and room < len(text) and record.n > whole:
            break
        room -= len(text)
        told.append(msgspec.Raw(text))
    more = len(told) < len(records)
    held = cast("list[AnyRecord]", told)
    return encode(RecordsAnswer(stands.id, stands.count, stands.base, held, anew=anew, more=more))


def _shown(client: Client, record: AnyRecord, decides_order: Callable[[str], bool]) -> AnyRecord | None:
    """A record as a client gets it; None where it is not told.

    A consumer that begins puts a node's segments in the order in which the state first saw them, and that stands in
    the records of whoever saw one appear (`tail/arrivals.py`). Without them a client's consumer would read in
    another order than those on the node.
    """
    name = consumer_of(record)
    if client.owns(name):
        return record
    if type(record) is AppearedRecord and decides_order(record.consumer or ""):
        return msgspec.structs.replace(record, consumer=UNNAMED)
    return None
