"""The one maker of read tasks: for a follower's step, for a micro-batch, and for either of them read again.

The tasks between two offsets are a function of the offsets, the first `j` journal records of the end, the decisions of
its consumer, and the files: the extents, sidecars and options of today play no part, so a batch that is planned again
has the same rows (architecture section 7). Reads section heads only. Knows no planner and no pyspark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from tailer.definitions.at_spans import DefinitionsAtSpans, SpanDefinitions
from tailer.definitions.bound_masks import BoundMasks
from tailer.definitions.history import DefinitionHistory
from tailer.definitions.placement import Rings
from tailer.errors import ACCEPT, LossError, RefusedError
from tailer.planning.spans import cut, section_span
from tailer.planning.untold import ReadPart, untold
from tailer.position import Position, Span
from tailer.reading.task import ReadTask
from tailer.rows.batch import ChangeBatch
from tailer.schema.extras import NO_EXTRAS, Extras
from tailer.schema.masks import NO_MASKS, Masks
from tailer.schema.ring import Primaries
from tailer.schema.selection import Selection
from tailer.schema.typed import TypedTable
from tailer.segments.captured_edge import HEAD_BYTES_MIN, captured_edge, sidecar_first
from tailer.segments.segment import SegmentFile
from tailer.state.journal import Journal
from tailer.state.journal_records import (
    AnyRecord,
    LossRecord,
    OptionsRecord,
    RecountRecord,
    SegmentEndRecord,
    SkipRecord,
    StartRecord,
)
from tailer.state.offset import NodeOffset
from tailer.typed_decode import convert
from tailer.types.texts import OddKeys

OpenSegment = Callable[[int], SegmentFile]
"""The segment's file; FileNotFoundError when it is gone."""


class RowOptions(msgspec.Struct, frozen=True):
    """The options that shape rows; an offset holds those that were journalled before it left.

    `several`: whether rows of other nodes come too (see `ReadPart`); None where an earlier version journalled them, or
    where they come from no query.
    """

    tables: tuple[str, ...] = ()
    schema_changes: bool = False
    typed: TypedTable | None = None
    masks: Masks = NO_MASKS
    extras: Extras = NO_EXTRAS
    odd_keys: OddKeys = "escape"
    several: bool | None = None

    def record(self, consumer: str | None) -> OptionsRecord:
        held = msgspec.to_builtins(self)
        if self.typed is None:
            del held["typed"]
        if not self.masks:
            del held["masks"]
        if not self.extras:
            del held["extras"]
        if self.odd_keys == _DEFAULTS.odd_keys:
            del held["odd_keys"]
        if self.several is None:
            del held["several"]
        return OptionsRecord(consumer=consumer, options=held)

    @classmethod
    def of(cls, record: OptionsRecord) -> RowOptions:
        return convert(record.options, cls)


_DEFAULTS: Final = RowOptions()


class Shape(NamedTuple):
    """What decides the rows of spans beside their bytes and the decisions about them.

    Of a native log, transactions that began below segment `history_begins` are of an unknown history. `ring`: what the
    node is the first replica of, where that is on record.
    """

    options: RowOptions
    history_begins: int
    definitions: Callable[[Span], SpanDefinitions]
    ring: Primaries | None = None


class FileTask(NamedTuple):
    """A read task and the name of its segment's file."""

    task: ReadTask
    file: str


class _Part(NamedTuple):
    """From logical offset `start` to `end` of a segment."""

    segment: int
    start: int
    end: int


class BatchTasks:
    """Makes the tasks of one node for one consumer. What it keeps between calls saves work and changes no answer.

    `accept_loss`: journal what is gone as lost and go on, instead of raising LossError. `today`: the options that shape
    rows where the journal has none.
    """

    def __init__(
        self,
        node: str,
        journal: Journal,
        consumer: str | None,
        open_segment: OpenSegment,
        *,
        accept_loss: bool = False,
        today: RowOptions = _DEFAULTS,
    ) -> None:
        self._node = node
        self._journal = journal
        self._consumer = consumer
        self._open_segment = open_segment
        self._accept_loss = accept_loss
        self._today = today
        self._pinned = _Pinned(node, consumer, today)
        self._decisions = _Decisions(consumer)

    def tasks(
        self, start: NodeOffset, end: NodeOffset, *, pieces: int = 1, piece_bytes: int | None = None
    ) -> list[FileTask]:
        """The tasks of the batch, in the order of its rows: late segments first, then the log's order.

        `pieces`: into how many tasks the batch is cut at least, `piece_bytes`: and about how long one may be, as far as
        sections allow. How a batch is cut changes no row.

        Raises RefusedError for a `j` beyond the journal and an end before its start, LossError where a file is gone,
        CorruptError where planned sections do not check any more.
        """
        if start == end:
            return []
        for offset in (start, end):
            self._journal.check(offset)
        # By the records that counted when the end left, not by those that there are: a definition or an option that
        # came since would change rows that somebody has already.
        pinned = self._pin(self.counted(end))
        found = parts(start, end, {**pinned.log_ends, **self._decided().log_ends})
        most = max(-(-sum(part.end - part.start for part in found) // pieces), 1)
        most = min(most, piece_bytes or most)
        made: list[FileTask] = []
        for part in found:
            made.extend(self._part(part, pinned.shape, -(-(part.end - part.start) // most)))
        return made

    def of(self, spans: Sequence[Span], shape: Shape, piece_bytes: int | None = None) -> list[FileTask]:
        """The tasks of spans that were walked just now, cut where they are longer than `piece_bytes`.

        What `tasks` finds between the offsets around them, without a second look at the section heads.
        """
        made: list[FileTask] = []
        for span in spans:
            file = self._open_segment(span.segment)
            pieces = 1 if piece_bytes is None else -(-span.bytes // piece_bytes)
            made.extend(self._task(file, piece, shape) for piece in cut(file, span, pieces))
        return made

    def untold(self, start: NodeOffset, end: NodeOffset, spans: Sequence[Span], begun: Position) -> list[ChangeBatch]:
        """The rows of definitions of the batch that no entry in these spans has. `begun`: see `ReadPart`."""
        pinned, known = self._pin(self.counted(end)), self.counted(start)
        options = pinned.shape.options
        if not options.schema_changes or options.typed is not None:
            return []
        selection = Selection(options.tables, options.masks.tables)
        several = bool(self._today.several if options.several is None else options.several)
        part = ReadPart(
            self._node, start.position, end.position, spans, begun, known, selection, options.masks, several
        )
        return untold(pinned.history, part)

    def options(self, end: NodeOffset) -> RowOptions:
        """The options that shape the rows of a batch that ends there."""
        return self._pin(self.counted(end)).options

    def counted(self, end: NodeOffset) -> int:
        """How many journal records count for a batch that ends there.

        More than its end says where the batch could not be read by those: it never succeeded, so nobody has its rows.
        """
        self._journal.require(end.j)
        return self._decided().recounts.get((end.position, end.j), end.j)

    def recount(self, end: NodeOffset) -> None:
        """A batch that ends there never succeeded: from now on it counts every record there is."""
        upto = self._journal.count
        if upto > self.counted(end):
            self._journal.append([RecountRecord(consumer=self._consumer, at=end.position, j=end.j, upto=upto)])

    def _pin(self, count: int) -> _Pinned:
        if self._pinned.count > count:
            self._pinned = _Pinned(self._node, self._consumer, self._today)
        self._pinned.extend(self._journal.read(upto=count, after=self._pinned.count), count)
        return self._pinned

    def _part(self, part: _Part, shape: Shape, pieces: int) -> Iterator[FileTask]:
        try:
            file = self._open_segment(part.segment)
        except FileNotFoundError:
            self._missing(part)
            return
        whole = section_span(file, part.segment, _begin(file, part, shape.options), part.end)
        if whole is not None:
            yield from (self._task(file, span, shape) for span in cut(file, whole, pieces))

    def _task(self, file: SegmentFile, span: Span, shape: Shape) -> FileTask:
        """Where every read task is put together."""
        known, options = shape.definitions(span), shape.options
        task = ReadTask(
            node=self._node,
            span=span,
            definitions=known.valid,
            changes=known.changes,
            selection=Selection(options.tables, options.masks.tables),
            schema_changes=options.schema_changes,
            skips=self._skips(span),
            typed=options.typed,
            history_begins=shape.history_begins,
            walk_skips=self._walk_skips(file, span),
            masks=options.masks,
            extras=options.extras,
            ring=shape.ring if options.extras.by_ring else None,
            odd_keys=options.odd_keys,
            lacks_some=known.lacks_some,
        )
        return FileTask(task, file.path.name)

    def _missing(self, part: _Part) -> None:
        # What was accepted stays accepted, or a batch that is read again would fail where it did not the first time.
        lost = Position(part.segment, part.start)
        if any(start <= lost < end for start, end in self._decided().losses):
            return
        if not self._accept_loss:
            raise LossError(
                f"Changes are lost: a segment that was planned is gone; the first position not read is {lost}",
                at=lost,
                remedy=ACCEPT,
            )
        self._journal.append_loss(self._consumer, lost, Position(part.segment, part.end))

    def _skips(self, span: Span) -> tuple[tuple[int, int], ...]:
        decided = self._decided().skips.get(span.segment, ())
        return tuple((at, size) for at, size in decided if span.start <= at < span.end)

    def _walk_skips(self, file: SegmentFile, span: Span) -> tuple[tuple[int, int, int], ...]:
        """Changes that are left out of transactions which may be committed in the span."""
        decided = self._decided().skips
        if not decided or not file.known_header().native:
            return ()
        below = [(segment, skips) for segment, skips in decided.items() if segment <= span.segment]
        return tuple((segment, at, size) for segment, skips in sorted(below) for at, size in skips)

    def _decided(self) -> _Decisions:
        decisions = self._decisions
        if decisions.count != (count := self._journal.count):
            decisions.extend(self._journal.read(upto=count, after=decisions.count), count)
        decisions.take_kept(self._journal.kept)
        return decisions


class _Decisions:
    """A consumer's decisions, which count whatever their number; `log_ends` are those of a run without consumer."""

    def __init__(self, consumer: str | None) -> None:
        self.count = 0
        self.log_ends: dict[int, int] = {}
        self.skips: dict[int, list[tuple[int, int]]] = {}
        self.losses: list[tuple[Position, Position]] = []
        self.recounts: dict[tuple[Position, int], int] = {}
        self._consumer = consumer
        self._kept = 0

    def take_kept(self, records: Sequence[AnyRecord]) -> None:
        """What the run keeps in memory; a list that only grows."""
        for record in records[self._kept :]:
            self._take(record)
            if isinstance(record, SegmentEndRecord):
                self.log_ends[record.segment] = record.end
        self._kept = len(records)

    def extend(self, records: Sequence[AnyRecord], count: int) -> None:
        """Take in the records up to number `count`."""
        self.count = count
        for record in records:
            self._take(record)

    def _take(self, record: AnyRecord) -> None:
        match record:
            case SkipRecord(consumer=self._consumer):
                self.skips.setdefault(record.at.segment, []).append((record.at.offset, record.lost))
            case LossRecord(consumer=self._consumer):
                self.losses.append((record.start, record.end))
            case RecountRecord(consumer=self._consumer):
                # A later one means that the earlier did not help.
                self.recounts[record.at, record.j] = record.upto


class _Pinned:
    """What the first `count` records of a journal say to one consumer."""

    def __init__(self, node: str, consumer: str | None, today: RowOptions) -> None:
        self.count = 0
        self.log_ends: dict[int, int] = {}
        self.options = today
        self._rings = Rings(node, consumer)
        self.history_begins = 0
        self._consumer = consumer
        self.history = DefinitionHistory(consumer=consumer)
        self._at_spans = DefinitionsAtSpans(self.history)
        self._bound = BoundMasks(self.history)

    def extend(self, records: Sequence[AnyRecord], count: int) -> None:
        self.count = count
        self.history.extend(records)
        self._rings.extend(records)
        for record in records:
            if isinstance(record, SegmentEndRecord) and record.consumer in (None, self._consumer):
                self.log_ends[record.segment] = record.end
            elif isinstance(record, StartRecord) and record.consumer == self._consumer:
                self.history_begins = record.segment
            elif isinstance(record, OptionsRecord) and record.consumer == self._consumer:
                self.options = RowOptions.of(record)

    @property
    def shape(self) -> Shape:
        options = self.options
        if options.masks:
            options = msgspec.structs.replace(options, masks=self._bound.of(options.masks))
        return Shape(options, self.history_begins, self._at_spans.of, self._rings.newest)


def _begin(file: SegmentFile, part: _Part, options: RowOptions) -> int:
    """Where a part's rows begin at the earliest: who planned it may have left a head out that nobody wanted."""
    if part.end - part.start < HEAD_BYTES_MIN or not Selection(options.tables).only_captured(options.schema_changes):
        return part.start
    edge = captured_edge(file, sidecar_first(file))
    return part.start if edge is None else max(part.start, edge.start)


def pin_start(journal: Journal, consumer: str | None, segment: int) -> None:
    """Journal, once, that what a consumer knows of a native log begins at a segment."""
    held = [r for r in journal.read() if isinstance(r, StartRecord) and r.consumer == consumer]
    if not held or held[-1].segment != segment:
        journal.append([StartRecord(consumer=consumer, segment=segment)])


def parts(start: NodeOffset, end: NodeOffset, ends: dict[int, int]) -> list[_Part]:
    """Which part of which segment lies between two offsets. `ends`: the log ends on record.

    Raises RefusedError for an end before its start.
    """
    if place(end) < place(start):
        raise RefusedError(
            "the batch ends before it starts",
            expected=f"an end at or behind {start.position}",
            found=str(end.position),
            remedy="The checkpoint's offsets were changed by hand: restore them.",
        )
    # Between the two offsets nothing but records tells what was there: a segment that was passed without a sidecar
    # had no end on record then, and stands in `p` as far as it was read; one that turned up since stands nowhere.
    read = dict(start.p)
    late = [_Part(segment, read.get(segment, 0), at) for segment, at in end.p]
    apart = read.keys() | dict(end.p).keys()
    if start.s == end.s:
        return _filled([*late, _Part(end.s, start.o, end.o)])
    first = [] if start.done else [_Part(start.s, start.o, ends.get(start.s, start.o))]
    middle = [segment for segment in sorted(ends) if start.s < segment < end.s and segment not in apart]
    whole = [_Part(segment, 0, ends[segment]) for segment in middle]
    return _filled([*late, *first, *whole, _Part(end.s, 0, end.o)])


def place(offset: NodeOffset) -> tuple[int, int, bool]:
    """Offsets of one node in their order, segments in `p` left aside."""
    return offset.s, offset.o, offset.done


def _filled(found: list[_Part]) -> list[_Part]:
    return [part for part in found if part.end > part.start]
