"""Segments that appear below where this consumer began: kept in the journal, and told with all that is known of them.

What becomes of them is decided in `planning/appeared.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from tailer.definitions.learning import Definitions
from tailer.errors import CdcError, LossError
from tailer.planning.appeared import (
    Appeared,
    appeared_in,
    in_its_place,
    known_to,
    met_before,
    out_of_order,
    taken_over_all,
    unexplained_error,
)
from tailer.planning.plan import Plan
from tailer.planning.survey import Survey
from tailer.segments.view import View
from tailer.state.journal import Journal
from tailer.state.journal_records import AppearedRecord
from tailer.state.offset import NodeOffset


class Arrivals:
    """Of one tail."""

    def __init__(self, journal: Journal, consumer: str | None, survey: Survey, definitions: Definitions) -> None:
        self._definitions = definitions
        self._journal = journal
        self._consumer = consumer
        self._survey = survey
        self._loaded = 0
        self._own: list[AppearedRecord] = []
        self._known: dict[int, Appeared] = {}
        self._out_of_order: Mapping[int, Appeared] = {}
        self._unexplained: tuple[int, ...] = ()
        self._undecided: tuple[int, ...] = ()
        self._gone: tuple[int, ...] = ()
        self._told: set[int] = set()
        self._read: set[int] = set()

    def adopt(self, view: View) -> None:
        """A first start: take over what other consumers saw. The order of a node's segments is the one in which its
        state first saw them."""
        self._append(taken_over_all(view, self._journal.read(), self._consumer))

    def before(self, view: View) -> Mapping[int, Appeared]:
        """What is known of segments that appeared, where a consumer looks for its place: with what others saw."""
        records = self._journal.read()
        return known_to(records, taken_over_all(view, records, self._consumer), self._consumer)

    def known(self) -> Mapping[int, Appeared]:
        """What is known of segments that do not come in the order of their ids."""
        self._load()
        return self._out_of_order

    def all(self) -> Mapping[int, Appeared]:
        """What is known of each segment that appeared, also of one that keeps its place."""
        self._load()
        return self._known

    def note(self, made: Plan, offset: NodeOffset) -> list[str]:
        """Keep what a plan from `offset` has seen; what there is to say of that."""
        seen = [record for record in made.appeared if record.segment not in self._known or record.end]
        new = any(record.segment not in self._known for record in seen)
        met = met_before(offset, self._journal.read()) - self._known.keys() if new else frozenset[int]()
        self._append([_in_order(record) if record.segment in met else record for record in seen])
        self._unexplained, self._undecided, self._gone = made.unexplained, made.undecided, made.gone
        begun = made.memory.begun
        notices = []
        for segment in made.undecided:
            if segment not in self._told:
                self._told.add(segment)
                notices.append(
                    f"segment {segment} has appeared below where this consumer began ({begun}): it is read when its "
                    "durable end is seen to grow, for then it is new"
                )
        for segment, at in made.offset.p:
            if at == 0 and segment in self._known and segment not in self._read:
                self._read.add(segment)
                notices.append(
                    f"warning: segment {segment} has appeared below where this consumer began ({begun}): it is read "
                    "now, behind the others. Did the server's clock go back?"
                )
        return notices

    def undecided(self) -> CdcError | None:
        """The error about what the last plan found that may still grow, for a run that does not wait for that."""
        self._unexplained = self._unexplained or self._undecided
        return self.blame(unexplained_error(self._unexplained)) if self._unexplained else None

    def left_out(self, segment: int) -> tuple[int, ...]:
        """The segments of an error at this one, where the last plan found no explanation for it, or that it is gone."""
        return next((each for each in (self._gone, self._unexplained) if segment in each), ())

    def blame(self, error: CdcError | None) -> CdcError | None:
        """An error about such segments has what is known of the first, and what helps."""
        if not isinstance(error, LossError) or error.at is None or error.at.segment not in self._unexplained:
            return error
        first = error.at.segment
        told = unexplained_error(self._unexplained, self._facts(first))
        return LossError(told.what, at=error.at, file=self._survey.log_name(first), remedy=self._remedy())

    def _load(self) -> None:
        fresh = [
            record
            for record in self._journal.read(after=self._loaded)
            if isinstance(record, AppearedRecord) and record.consumer == self._consumer
        ]
        self._loaded = self._journal.count
        if fresh:
            self._own += fresh
            self._known = appeared_in(self._own)
            self._out_of_order = out_of_order(self._known)

    def _append(self, records: list[AppearedRecord]) -> None:
        if records:
            self._journal.append([
                AppearedRecord(consumer=self._consumer, segment=each.segment, behind=each.behind, end=each.end)
                for each in records
            ])  # fmt: skip
            self._definitions.sync()
            self._load()

    def _facts(self, segment: int) -> str:
        """What the folder shows of a segment: nothing of it tells what it is, but a person may know."""
        listing = self._survey.source.look()
        log, sidecar = listing.logs.get(segment), listing.sidecars.get(segment)
        if log is None:
            return ""
        content = None if sidecar is None else sidecar.content
        if content is None:
            says = "no idx file" if sidecar is None else "an idx file that promises nothing"
        else:
            says = f"an idx file that says {content.end}{', COMPLETED' if content.completed else ''}"
        names = f"{log.links} {'name' if log.links == 1 else 'names'}"
        known = self._known.get(segment)
        met = known is not None and known.behind == in_its_place(segment)
        read = "; this state had seen it before this consumer looked last: its changes are old" if met else ""
        return f" (written {_time(log.modified)}, linked or changed {_time(log.changed)}, {names}, {says}{read})"

    def _remedy(self) -> str:
        ids = " ".join(map(str, self._unexplained[:5]))
        if self._consumer is None:
            return "--accept-loss leaves out what has appeared; a run that begins anew at `earliest` reads it."
        return (
            f"If the changes are new: cdc-tail consumers DIR deliver {self._consumer} {ids}. If they are old: "
            f"cdc-tail consumers DIR accept {self._consumer} {ids}, or --accept-loss once. Until then `clean` keeps "
            "what there is."
        )


def _in_order(record: AppearedRecord) -> AppearedRecord:
    return msgspec.structs.replace(record, behind=in_its_place(record.segment))


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
