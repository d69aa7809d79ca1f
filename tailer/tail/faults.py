"""What becomes of entries that cannot be delivered: the run stops, or they are put aside and that is decided for good.

Decisions are journalled before anything moves past them. Reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from tailer.definitions.outside import OutsideSources
from tailer.errors import (
    CdcError,
    DefinitionError,
    LossError,
    OddKeyError,
    QuarantineFullError,
    UnknownTableError,
)
from tailer.options.tail import TailOptions
from tailer.planning.absent import check_mounted
from tailer.planning.loss import lost
from tailer.planning.survey import Survey
from tailer.position import Position, Span
from tailer.reading.counted_notices import CountedNotices
from tailer.rows.choice import AnyBatch
from tailer.segments.group import OnFault
from tailer.segments.segment import SegmentFile
from tailer.state.home import KeepsAside
from tailer.state.journal import Journal
from tailer.tail.unknown_tables import UnknownTables


class Faults:
    """The decisions of one run."""

    def __init__(
        self, options: TailOptions, journal: Journal, quarantine: KeepsAside, survey: Survey, outside: OutsideSources
    ) -> None:
        self._options = options
        self._journal = journal
        self._quarantine = quarantine
        self._survey = survey
        self._outside = outside
        self._unknown = UnknownTables(options, outside, keeps=quarantine.keeps)
        self._notices: list[str] = []
        self._left_out = CountedNotices()
        self._keeps_known = False
        self._created_at: Callable[[str], Position | None] = lambda table: None

    def looks_ahead_by(self, created_at: Callable[[str], Position | None]) -> None:
        """What tells where the log shows the CREATE of a table, also ahead of what was read."""
        self._created_at = created_at

    def keep_known_rows(self) -> None:
        """From now on an entry of an unknown table that holds rows of wanted tables too ends the run: what makes row
        images of the rows somewhere else could not be told that these are missing."""
        self._keeps_known = True

    @property
    def quarantined(self) -> int:
        """How many entries this run put aside."""
        return self._quarantine.count

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return [*notices, *self._left_out.take(), *self._unknown.take_notices()]

    def last_notices(self) -> list[str]:
        """What is still to be reported when a run ends, and how much it left out in all."""
        notices = [*self.take_notices(), *self._unknown.take_notices(last=True)]
        if self.quarantined:
            notices.append(f"warning: {self.quarantined} entries were {self._aside}")
        return notices

    @property
    def _aside(self) -> str:
        return "put into quarantine" if self._quarantine.keeps else "left out"

    def reading(self, planned: Position) -> OnFault:
        """What a reader calls on a fault; the planner stands at `planned`.

        It raises NewDefinitionsError where a server that was asked again knows more, else what is not put aside.
        """

        def on_fault(at: Position, error: CdcError, data: bytes) -> None:
            if isinstance(error, OddKeyError):
                news = False
            elif isinstance(error, UnknownTableError):
                news = self._unknown.learn(error, at)
            else:
                news = isinstance(error, DefinitionError) and self._outside.ask_again(at)
            if news:
                raise NewDefinitionsError(at)
            self.put_aside(at, error, data)

        return on_fault

    def put_aside(self, at: Position, error: CdcError, data: bytes) -> None:
        """Leave out what cannot be delivered if the options say so, else raise what is wrong with it."""
        if isinstance(error, LossError) and self._options.accept_loss:
            self._lose(at, error, len(data))
        elif isinstance(error, UnknownTableError):
            self._keep_unknown(at, error, data)
        elif isinstance(error, OddKeyError) or (self._options.quarantine and not isinstance(error, LossError)):
            self._keep(at, error, data)
        else:
            raise error

    def refuse_row(self, batch: AnyBatch, row: int, error: CdcError) -> None:
        """A row that an outlet's target refuses: `error`, or the row is put aside if the options say so."""
        if not self._options.quarantine:
            raise error
        at = Position(*(int(batch.column(name)[row]) for name in ("segment", "offset")))
        line = batch.json_lines().split(b"\n")[row]
        self._quarantine.keep(at, self._survey.log_name(at.segment), error, line, int(batch.column("row")[row]))
        self._left_out.count(
            "rows",
            lambda number: f"warning: {error.fact()} The row was {self._aside}.",
            lambda number: f"warning: {number} rows that the target refuses were {self._aside} by now",
        )

    def file_of(self, span: Span) -> SegmentFile | None:
        """The segment of a span that was planned; None where it was deleted meanwhile, and that is an accepted loss."""
        try:
            return self._survey.file(span.segment)
        except FileNotFoundError:
            self._gone(span)
            return None

    def _gone(self, span: Span) -> None:
        at = Position(span.segment, span.lower)
        check_mounted(self._survey.source, span.segment)
        error = lost(at, f"segment {span.segment} was deleted before it was read")
        if not self._options.accept_loss:
            raise error
        self._journal.append_loss(self._options.consumer, at, Position(span.segment, span.upper))
        self._notices.append(f"warning: {error.sentence()} Accepted: reading goes on behind it.")

    def _lose(self, at: Position, error: LossError, size: int) -> None:
        """Accept that a transaction is lost, and decide for good that its commit gives no row."""
        consumer = self._options.consumer
        self._journal.append_loss(consumer, at, Position(at.segment, at.offset + size))
        self._journal.append_skip(consumer, at, error, size)
        self._notices.append(f"warning: {error.sentence()} Accepted: none of its rows come.")

    def _keep(self, at: Position, error: CdcError, data: bytes) -> None:
        """Put what cannot be delivered aside, and decide for good that it is left out."""
        self._quarantine.keep(at, self._survey.log_name(at.segment), error, data)
        self._journal.append_skip(self._options.consumer, at, error, len(data))
        self._left_out.count(
            "entries",
            lambda number: f"warning: {error.fact()} The entry was {self._aside}.",
            lambda number: f"warning: {number} entries that cannot be delivered were {self._aside} by now",
        )

    def _keep_unknown(self, at: Position, error: UnknownTableError, data: bytes) -> None:
        """Put an entry of an unknown table aside, where that is possible.

        Where nothing can keep it, as for a reader without a state folder, it is left out only if the user said so. An
        entry that holds rows of wanted tables too goes aside whole: a replay then gives each of its rows once.
        """
        if self._keeps_known and error.beside_known and not self._options.quarantine:
            raise error
        if not self._unknown.puts_aside(error.table):
            created = self._created_at(error.table)
            raise error if created is None or created < at else _out_of_order(error, created)
        if not (self._quarantine.keeps or self._unknown.wanted(error.table)):
            raise _nowhere(error)
        try:
            self._quarantine.keep(at, self._survey.log_name(at.segment), error, data)
        except QuarantineFullError as full:
            raise _no_room(error, full) from None
        of_all = error.beside_known
        self._journal.append_skip(self._options.consumer, at, error, len(data), "" if of_all else error.table)
        self._unknown.count(error.table, at)


def _out_of_order(error: UnknownTableError, created: Position) -> LossError:
    """The error of rows before the CREATE of their table: the segments were written the other way round."""
    return LossError(
        f"the definition of table {UUID(error.table)} stands at {created}, behind this row of it: the segments were "
        "not written in the order of their ids, as when a server's clock goes back",
        at=error.at,
        remedy="A state folder that was there then knows their order: read with it. Or give the definition with "
        "--schema FILE (DESCRIBE KEYSPACE … WITH INTERNALS).",
    )


def _nowhere(error: UnknownTableError) -> DefinitionError:
    """The error of an entry whose table the server does not know either, where there is no quarantine."""
    return DefinitionError(
        f"{error.what}, which the server does not know either",
        at=error.at,
        remedy="A follower with a consumer puts such entries into quarantine; here nothing keeps them. Give the "
        f"definition with --schema FILE, or leave these entries out with --quarantine-table {UUID(error.table)} "
        "(quarantineTables in Spark, quarantine_tables in Python).",
    )


def _no_room(error: UnknownTableError, full: QuarantineFullError) -> DefinitionError:
    """The error of an entry that can neither be read nor be put aside."""
    return DefinitionError(
        f"{error.what}, and {full.what}",
        at=error.at,
        file=full.file,
        remedy="Give its definition with --schema FILE (DESCRIBE KEYSPACE … WITH INTERNALS); or move the files of the "
        "quarantine away, and start again.",
    )


class NewDefinitionsError(Exception):
    """Not an error for anybody: reading starts again at an entry, because more is known now."""

    def __init__(self, at: Position) -> None:
        self.at = at
