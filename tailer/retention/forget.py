"""Which records of a journal nobody needs any more (architecture section 5). Pure: records in, records out.

A record may go when every position that anybody holds is behind what it says, and no offset is left to which it was
news. Definitions are forgotten row by row of `system_schema`: a record goes when others have overwritten all that it
said, so that what is left gives the same definitions at every position that is still held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from tailer.definitions.history import DefinitionHistory
from tailer.position import Position
from tailer.schema.rows import SchemaDelta
from tailer.state.affected import affects_all, consumer_of
from tailer.state.consumers import ConsumerFile
from tailer.state.journal_records import (
    LOG,
    AnyRecord,
    AppearedRecord,
    DefinitionRecord,
    GenerationRecord,
    LearntRecord,
    LossRecord,
    MasksRecord,
    OptionsRecord,
    OwnSchemaRecord,
    RecountRecord,
    RetractRecord,
    RingRecord,
    SchemaRecord,
    SegmentEndRecord,
    SkipRecord,
    StartRecord,
    TimesRecord,
)
from tailer.state.offset import NodeOffset

_HEADINGS: Final = ("tables", "views")


class Floor(NamedTuple):
    """What everybody is behind: segments from `segment` on are needed, and every offset counts `j` records or more."""

    segment: int
    j: int


def floor_of(
    consumers: Iterable[ConsumerFile], present: Collection[int], count: int, held: Iterable[int] = ()
) -> Floor:
    """The floor of a folder with these consumers and segments, whose journal has `count` records.

    `held`: from which segments on batch reads hold; what decides their rows they have read already.
    """
    segment, j = min((*present, *held), default=None), count
    for consumer in consumers:
        if not consumer.nodes:
            # One without any position may begin anywhere.
            return Floor(0, 0)
        for state in consumer.nodes.values():
            # The initial offset counts only while the consumer stands there.
            given = [state.offset, *(mark.offset for mark in state.ahead)]
            begins = [state.restart, *(mark.restart for mark in state.ahead if mark.restart is not None)]
            lowest = min([*map(_lowest, given), *(at[0] for at in begins if at != (0, 0))])
            segment = lowest if segment is None else min(segment, lowest)
            j = min([j, *(offset.j for offset in given)])
    return Floor(segment or 0, j)


def wanted(records: Sequence[AnyRecord], floor: Floor) -> list[AnyRecord]:
    """The records that still count, in order."""
    old = [record for record in records if record.n <= floor.j]
    doubted = {record.of for record in records if isinstance(record, RetractRecord) and record.n > floor.j}
    gone = _said_again(old) | _overwritten(old, floor, doubted) | _taken_back(old, floor)
    gone |= {record.n for record in old if _behind(record, floor.segment)}
    return [record for record in records if record.n not in gone]


def without(records: Sequence[AnyRecord], dropped: Collection[str]) -> list[AnyRecord]:
    """The records without those that affect dropped consumers alone, whatever offsets there are: no other consumer goes
    by them.

    Of each of these names the last generation stays: a consumer of that name begins with it. So does the first
    record of a segment that appeared below others: later consumers read it at that position in the order.
    Of segments that the log itself says nothing of none stays, or a client of `serve` could fill the
    journal with names that it drops.
    """
    own = {r.n: r for r in records if not affects_all(r) and (name := consumer_of(r)) is not None and name in dropped}
    begins = {r.consumer: r.n for r in own.values() if isinstance(r, GenerationRecord)}
    gone = own.keys() - begins.values() - _deciding(records)
    gone |= {r.n for r in records if isinstance(r, RetractRecord) and r.of in own}
    return [record for record in records if record.n not in gone]


def _deciding(records: Sequence[AnyRecord]) -> set[int]:
    """The numbers of the records that give segments which appeared below others their position in the order."""
    of_log = {segment for record in records if affects_all(record) for segment in _segments_of(record)}
    first: dict[int, AppearedRecord] = {}
    stays = set()
    for record in records:
        if type(record) is AppearedRecord and record.segment in of_log:
            known = first.get(record.segment)
            if known is None or (known.end == 0 and record.end):
                first[record.segment] = record
                stays.add(record.n)
    return stays


def _segments_of(record: AnyRecord) -> tuple[int, ...]:
    """The segments that a record of the log is about."""
    match record:
        case SchemaRecord():
            return (record.at.segment, *(() if record.found is None else (record.found.segment,)))
        case DefinitionRecord():
            return (record.at.segment,)
        case SegmentEndRecord() | TimesRecord():
            return (record.segment,)
        case LearntRecord():
            return (record.of.segment,)
        case _:
            return ()


def _behind(record: AnyRecord, segment: int) -> bool:
    """Whether a record speaks of segments below one alone."""
    match record:
        case SegmentEndRecord():
            return record.segment < segment
        case AppearedRecord():
            return max(record.segment, record.behind) < segment
        case LearntRecord():
            return record.of.segment < segment
        case TimesRecord():
            return record.segment < segment
        case LossRecord():
            return record.end <= Position(segment, 0)
        case SkipRecord() | RecountRecord():
            return record.at.segment < segment
        case _:
            return False


def _said_again(records: Sequence[AnyRecord]) -> set[int]:
    """Of what each consumer said of itself only the last counts, and of each node's ring; so does what says most of a
    segment."""
    last: dict[tuple[type, str | None], int] = {}
    rings: dict[tuple[str, str], int] = {}
    times: dict[int, int] = {}
    learnt: dict[int, LearntRecord] = {}
    gone = set()
    for record in records:
        if isinstance(record, OptionsRecord | StartRecord | GenerationRecord | MasksRecord):
            if (before := last.get((type(record), record.consumer))) is not None:
                gone.add(before)
            last[type(record), record.consumer] = record.n
        elif isinstance(record, RingRecord):
            if (before := rings.get((record.consumer, record.node))) is not None:
                gone.add(before)
            rings[record.consumer, record.node] = record.n
        elif isinstance(record, TimesRecord):
            # Each has what those before it had.
            if (before := times.get(record.segment)) is not None:
                gone.add(before)
            times[record.segment] = record.n
        elif isinstance(record, LearntRecord):
            less = learnt.get(record.of.segment)
            if less is not None and not less.of.says_more(record.of):
                gone.add(less.n)
            learnt[record.of.segment] = record
    return gone


def _taken_back(old: Sequence[AnyRecord], floor: Floor) -> set[int]:
    """Definitions that were taken back, with who took them back.

    Not those that stand where somebody will read: who meets them there knows them by their record, else they would
    count again.
    """
    taken_back = {record.of for record in old if isinstance(record, RetractRecord)}
    told = [r for r in old if isinstance(r, SchemaRecord | DefinitionRecord) and r.n in taken_back]
    ahead = {r.n for r in told if r.at > Position(floor.segment, 0)}
    return (taken_back - ahead) | {r.n for r in old if isinstance(r, RetractRecord) and r.of not in ahead}


def _overwritten(old: Sequence[AnyRecord], floor: Floor, doubted: Collection[int]) -> set[int]:
    """Definitions that nobody can ask for any more: those of the log that hold before the floor, and are replaced.

    `doubted`: numbers of those that count for some offsets and not for others, which took them back.
    """
    at = Position(floor.segment, 0)
    taken_back = {record.of for record in old if isinstance(record, RetractRecord)}
    told = [r for r in old if isinstance(r, SchemaRecord | DefinitionRecord) and r.n not in taken_back]
    there = sorted((r for r in told if r.at <= at), key=lambda record: (record.at, record.n))
    given = [number for number, r in enumerate(there) if r.source != LOG or r.n in doubted]
    # What lies beneath what a file or a server said stays: the two are layers, not one after the other. So does what
    # lies beneath one that was taken back since: without it that counts again.
    followed = there[given[-1] + 1 if given else 0 :]
    gone = _replaced(r for r in followed if isinstance(r, DefinitionRecord))
    rows = [r for r in followed if isinstance(r, SchemaRecord) and (r.found is None or r.found.segment < floor.segment)]
    gone |= {r.n for r in rows} - _writers(rows)
    # The rules above are about rows, what counts are definitions: so these are compared, for each consumer that has
    # some of its own.
    left = [r for r in there if r.n not in gone]
    whose = {None, *(r.consumer for r in there if isinstance(r, OwnSchemaRecord))}
    same = all(
        _known(DefinitionHistory(there, each), at) == _known(DefinitionHistory(left, each), at) for each in whose
    )
    return gone if same else set()


def _known(history: DefinitionHistory, at: Position) -> tuple[object, object]:
    return dict(history.as_of(at)), dict(history.newest)


def _replaced(records: Iterable[DefinitionRecord]) -> set[int]:
    """Definitions of a service's own log that were told again. One that another replaced may be in use beside it."""
    last: dict[str, int] = {}
    gone = set()
    for record in records:
        if (before := last.get(record.key)) is not None:
            gone.add(before)
        last[record.key] = record.n
    return gone


def _writers(records: Sequence[SchemaRecord]) -> set[int]:
    """The records that say something which no other one overwrites.

    By row of `system_schema`, and by the table that a name stood for then: once it is dropped or made anew, what was
    said before is of another one, whose last definition stays. A type may be in any of its keyspace's tables.
    """
    last: dict[tuple[object, ...], tuple[int, set[int]]] = {}
    stays: set[int] = set()
    ended = _Ended()
    for record in records:
        for delta in record.deltas:
            ended.note(delta)
        for delta in record.deltas:
            if delta.partition_deletion is not None or delta.range is not None or not delta.clustering:
                stays.add(record.n)
            for what, ts in _said(delta):
                key = (delta.table, delta.keyspace, delta.clustering, ended.before(delta), what)
                newest, numbers = last.get(key, (ts, set()))
                if ts > newest:
                    last[key] = (ts, {record.n})
                elif ts == newest:
                    # Either may win.
                    last[key] = (ts, numbers | {record.n})
    return stays.union(*(numbers for _, numbers in last.values()))


class _Ended:
    """How many tables of a name, and of a keyspace, were dropped or replaced so far."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], object] = {}
        self._tables: Counter[tuple[str, str]] = Counter()
        self._keyspaces: Counter[str] = Counter()

    def note(self, delta: SchemaDelta) -> None:
        if delta.table not in _HEADINGS:
            return
        if not delta.clustering:
            # Of a whole keyspace, or a range of it.
            self._tables[delta.keyspace, ""] += 1
            self._keyspaces[delta.keyspace] += 1
            return
        place, id = (delta.keyspace, delta.clustering[0]), delta.cells.get("id", (0, None))[1]
        before = self._ids.get(place, id)
        if id is not None:
            self._ids[place] = id
        # An ALTER deletes the row that it writes anew; a DROP only deletes.
        if id != before or (id is None and delta.row_deletion is not None):
            self._tables[place] += 1
            self._keyspaces[delta.keyspace] += 1

    def before(self, delta: SchemaDelta) -> int:
        """Of what a change is about, a table of this name or any of the keyspace, how many."""
        if delta.table == "types" or not delta.clustering:
            return self._keyspaces[delta.keyspace]
        return self._tables[delta.keyspace, delta.clustering[0]] + self._tables[delta.keyspace, ""]


def _said(delta: SchemaDelta) -> Iterator[tuple[str, int]]:
    """Each thing that a change says of its row, with its timestamp."""
    for name, (ts, _) in delta.cells.items():
        yield f"cell {name}", ts
    if delta.liveness is not None:
        yield "liveness", delta.liveness
    if delta.row_deletion is not None:
        yield "deletion", delta.row_deletion


def _lowest(offset: NodeOffset) -> int:
    return min([offset.s, *(segment for segment, _ in offset.p)])
