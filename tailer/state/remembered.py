"""What a consumer's planner remembers of segments, as records of the journal: each says what has changed.

The consumer's file names up to which record its memory counts, so it stays small however much is remembered. Records
and values only; what is forgotten of them is decided in `retention/forget_memory.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tailer.errors import RefusedError
from tailer.state.consumers import (
    ConsumerFile,
    Mark,
    NodeState,
    consumer_names,
    consumer_path,
    read_consumer,
)
from tailer.state.ids import NO_IDS, Ids
from tailer.state.journal import Journal
from tailer.state.journal_records import AnyRecord, MemoryRecord
from tailer.state.offset import Memory, NodeOffset


class Segments(NamedTuple):
    """What is remembered of segments; see `Memory`."""

    seen: Ids = NO_IDS
    bare: Ids = NO_IDS
    holes: Ids = NO_IDS
    explained: Ids = NO_IDS

    @property
    def size(self) -> int:
        return sum(ids.size for ids in self)

    def behind(self, at: int, late: Collection[int]) -> Segments:
        """As it is for a position in segment `at`, with these late ones: what it is past is of no interest any more."""
        ahead = self.seen.from_id(at + 1)
        past = [segment for segment in late if segment <= at and segment in self.seen]
        return Segments(ahead.with_ids(past), self.bare.from_id(at + 1), self.holes, self.explained)

    def after(self, record: MemoryRecord) -> Segments:
        """With what a record says."""
        before = Segments() if record.anew else self
        seen = before.seen.minus(record.not_seen).plus(record.seen)
        bare = before.bare.minus(record.not_bare).plus(record.bare)
        holes = before.holes.minus(record.not_holes).plus(record.holes)
        return Segments(seen, bare.minus(seen), holes, before.explained.plus(record.explained))

    def record(self, consumer: str, node: str, n: int = 0) -> MemoryRecord:
        """A record that says all of it, whatever was said before."""
        return MemoryRecord(n=n, consumer=consumer, node=node, anew=True, **self._asdict())


def segments_of(memory: Memory) -> Segments:
    return Segments(memory.seen, memory.bare, memory.holes, memory.explained)


def memory_records(records: Iterable[AnyRecord], consumer: str, node: str) -> list[MemoryRecord]:
    """One consumer's on one node, in order."""
    return [r for r in records if isinstance(r, MemoryRecord) and r.consumer == consumer and r.node == node]


def told_by(records: Iterable[MemoryRecord], upto: int) -> Segments:
    """What the records up to one say."""
    told = Segments()
    for record in records:
        if record.n <= upto:
            told = told.after(record)
    return told


def recalled(content: ConsumerFile, journal: Journal) -> ConsumerFile:
    """A consumer as its file has it, with what it remembers of segments. RefusedError if the journal is too short."""
    nodes = {node: _recalled(state, journal, content.name, node) for node, state in content.nodes.items()}
    return msgspec.structs.replace(content, nodes=nodes)


def registered(state: Path, journal: Journal) -> list[ConsumerFile]:
    """Every consumer of a state folder. RefusedError where one cannot be read: what it needs is not known."""
    contents = [read_consumer(consumer_path(state, name), name) for name in consumer_names(state)]
    return [recalled(content, journal) for content in contents]


def late_of(state: NodeState) -> set[int]:
    """The late segments of every offset that a consumer may stand at."""
    marks: Sequence[NodeState | Mark] = (state, *state.ahead)
    return {segment for held in marks for segment, _ in held.offset.p}


class Remembered:
    """One consumer's memory on one node. Nobody else writes of it: the consumer is held by this process."""

    def __init__(self, journal: Journal, consumer: str, node: str, state: NodeState | None) -> None:
        self._journal = journal
        self._consumer = consumer
        self._node = node
        # All there is counts for what comes next, also what was journalled right before a kill. Of a consumer that
        # has nothing there yet it is an earlier one's of that name.
        marks: Sequence[NodeState | Mark] = () if state is None else (state, *state.ahead)
        self._anew = not any(mark.memory.upto for mark in marks)
        records = [] if self._anew else memory_records(journal.read(), consumer, node)
        self._last = told_by(records, journal.count)
        self._number = records[-1].n if records else 0
        self._known = {mark.memory.upto: segments_of(mark.memory) for mark in marks if mark.memory.upto}

    def keep(self, state: NodeState) -> NodeState:
        """The state as its file has it; what it remembers of segments is in the journal, durably, when this returns."""
        marks: Sequence[NodeState | Mark] = (state, *state.ahead)
        late = late_of(state)
        records: list[MemoryRecord] = []
        numbers: list[int] = []
        last = self._last
        for mark in marks:
            held = segments_of(mark.memory)
            number = next((n for n, known in self._known.items() if known == held), None)
            if number is None and (change := self._change(last, held, mark.offset, first=not records)) is not None:
                records.append(change)
                last = last.after(change)
            # What is not journalled yet is counted from its end.
            numbers.append(number if number is not None else -len(records) or self._number)
        written = self._journal.append(records) if records else []
        if written:
            self._anew, self._number = False, written[-1]
        self._last = last.behind(state.offset.s, late)
        counted = [number if number >= 0 else written[-number - 1] for number in numbers]
        self._known = {n: segments_of(mark.memory) for n, mark in zip(counted, marks, strict=True) if n}
        first, *ahead = (_numbers(mark.memory, n) for n, mark in zip(counted, marks, strict=True))
        kept = (msgspec.structs.replace(mark, memory=memory) for mark, memory in zip(state.ahead, ahead, strict=True))
        return msgspec.structs.replace(state, memory=first, ahead=tuple(kept))

    def _change(self, last: Segments, held: Segments, offset: NodeOffset, *, first: bool) -> MemoryRecord | None:
        """What a record has to say, so that those up to it give `held` at an offset; None if they do already."""
        here = last.behind(offset.s, {segment for segment, _ in offset.p})
        seen, bare, holes, explained = (now.minus(before) for now, before in zip(held, last, strict=True))
        no_seen = here.seen.minus(held.seen)
        no_bare = here.bare.minus(held.bare).minus(held.seen)
        no_holes = here.holes.minus(held.holes)
        anew = self._anew and first
        if anew or Segments(no_seen, no_bare, no_holes).size > held.size:
            return held.record(self._consumer, self._node) if held.size or not anew else None
        if not (seen or bare or holes or explained or no_seen or no_bare or no_holes):
            return None
        return MemoryRecord(
            consumer=self._consumer,
            node=self._node,
            seen=seen,
            bare=bare,
            holes=holes,
            explained=explained,
            not_seen=no_seen,
            not_bare=no_bare,
            not_holes=no_holes,
        )


def _recalled(state: NodeState, journal: Journal, consumer: str, node: str) -> NodeState:
    marks: Sequence[NodeState | Mark] = (state, *state.ahead)
    newest = max(mark.memory.upto for mark in marks)
    if not newest:
        # Of an earlier version, which had all of it in the file, or there is nothing yet.
        return state
    journal.require(newest)
    records = memory_records(journal.read(upto=newest), consumer, node)
    _check_there(records, min(mark.memory.upto or newest for mark in marks), journal.where, consumer)
    first, *ahead = (_with(mark, records) for mark in marks)
    kept = (msgspec.structs.replace(mark, memory=memory) for mark, memory in zip(state.ahead, ahead, strict=True))
    return msgspec.structs.replace(state, memory=first, ahead=tuple(kept))


def _check_there(records: Sequence[MemoryRecord], upto: int, where: str, consumer: str) -> None:
    """RefusedError where a compaction has put together what counts up to a record with what came behind it."""
    if not records or records[0].n > upto:
        raise RefusedError(
            f"the file of consumer {consumer} is older than what the journal still knows of it",
            file=where,
            expected=f"one that counts its records up to {records[0].n if records else 'none'}",
            found=str(upto),
            remedy="Restore the whole state folder, not this file alone, or drop the consumer and start it anew.",
        )


def _with(mark: NodeState | Mark, records: Sequence[MemoryRecord]) -> Memory:
    late = {segment for segment, _ in mark.offset.p}
    held = told_by(records, mark.memory.upto).behind(mark.offset.s, late)
    return msgspec.structs.replace(mark.memory, **held._asdict())


def _numbers(memory: Memory, upto: int) -> Memory:
    return msgspec.structs.replace(memory, **Segments()._asdict(), upto=upto)
