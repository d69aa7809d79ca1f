"""What asks servers beside a run of images: snapshots, which it begins with or is asked for, and rows read again.

Chooses which of them run, and of which tables; each is in a thread of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tailer.errors import CdcError, UsageError
from tailer.image_state import asked, mend_requests
from tailer.image_state.asked import Asked, Reply
from tailer.image_state.one_transaction import Transaction
from tailer.images import Image
from tailer.images.merged_tables import SECOND
from tailer.images.questions import Question, Questions
from tailer.images.tables import Tables
from tailer.options.snapshot import SnapshotOptions
from tailer.rebuild import Table
from tailer.schema.selection import Selection
from tailer.schema.server import Server
from tailer.snapshot.progress import Show
from tailer.tail.follow import Say
from tailer.tail.images.merging import Merging
from tailer.tail.images.run import ImageRun
from tailer.tail.snapshot.in_state import InState
from tailer.tail.snapshot.nodes import Nodes
from tailer.tail.snapshot.rereading import MOST_SECONDS, Rereading
from tailer.tail.snapshot.run import SnapshotRun
from tailer.tail.snapshot.tables import chosen_tables
from tailer.tail.tail import Tail
from tailer.tail.turn_lock import TurnLock

SETTLED_SECONDS: Final = 3 * MOST_SECONDS
"""Rows that are never still are not waited for any longer."""
MEND_SECONDS: Final = 2 * SETTLED_SECONDS
"""With --once the rows of `compare --mend` are waited for so long at most."""

ASKED_SECONDS: Final = 1.0
TOLD_SECONDS: Final = 5.0
"""A snapshot that is asked for waits so long at most for logs to tell their tables: a node may be away."""


class _Told(NamedTuple):
    """The tables that a node's log told, and when it was asked."""

    at: float
    tables: Sequence[Table]


class Beside:
    """Of one run. `at_target`: held by whoever is where images go. `begins`: a snapshot is read; `anew`: another one
    where the last one is at its end."""

    def __init__(
        self,
        run: ImageRun,
        servers: Mapping[str, Server],
        options: SnapshotOptions,
        at_target: TurnLock,
        say: Say,
        *,
        begins: bool,
        anew: bool = False,
        show: Show | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.begins, self.at_target = begins, at_target
        self._run, self._options, self._say, self._show = run, options, say, show
        self._clock = clock
        self._folder = Path(run.stream.where)
        self._nodes = Nodes(servers)
        self._told: dict[str, _Told] = {}
        """By node whose log was opened."""
        self._wanted = clock()
        """Each log is to tell its tables once more that has not since then."""
        self._unknown: dict[Path, float] = {}
        """Requests of `compare --mend` whose table no log has told, and since when."""
        self._open_since: float | None = None
        """Since when a snapshot is asked for that is not taken yet."""
        self._ended: float | None = None
        self._asked_for: str | None = None
        """The id of the request that the snapshot is of, and its tables."""
        self._asked_tables: Sequence[Table] = ()
        self._looked = clock()
        self._waited: float | None = None
        """Since when rows of `compare --mend` are waited for."""
        if begins:
            self._nodes.check(self._run.stream.nodes)
        elif not servers:
            _check_guesses(run, options)
        self._into: InState | None = None
        self._snapshot = self._made(anew=anew) if begins else None
        self._rereading = Rereading(run.stream, self._nodes, options, self._guard, say) if servers else None

    def start(self) -> None:
        for each in (self._snapshot, self._rereading):
            if each is not None:
                each.start()

    def begin(self, tail: Tail) -> None:
        """A node's log is open."""
        told = _Told(self._clock(), chosen_tables(tail, unmasked=self.begins))
        self._told[tail.options.node] = told
        if self._snapshot is not None:
            self._snapshot.begin(told.tables)

    def note(self, tail: Tail) -> None:
        """A node's log was looked at, in its thread: tables may have been created since it was opened."""
        if self._into is not None:
            self._into.define(tail)
        if self._told[tail.options.node].at <= self._wanted:
            self._told[tail.options.node] = _Told(self._clock(), chosen_tables(tail, unmasked=False))

    def look(self) -> None:
        """Take what is asked for. Raises what ended one of them."""
        for each in (self._snapshot, self._rereading):
            if each is not None:
                each.check()
        if self._clock() - self._looked >= ASKED_SECONDS and (self._snapshot is None or self._snapshot.ended):
            self._looked = self._clock()
            self._take_asked()
            self._take_mends()
            self._say_refused()

    def is_done(self) -> bool:
        """Whether the snapshot is at its end, and what came of it as far as that comes to rest; and whether the rows of
        `compare --mend` were read again."""
        if self._snapshot is None:
            return bool(self._told) and self._is_mended()
        if not self._snapshot.ended:
            return False
        self._ended = self._ended or self._clock()
        assert self._rereading is not None, "a snapshot has its servers"
        return self._rereading.settled() or self._clock() - self._ended > SETTLED_SECONDS

    def waits(self) -> bool:
        """Whether a run with --once has more to do than the logs: a snapshot, or rows of `compare --mend`."""
        return self.begins or (self._rereading is not None and self._mends_open() > 0)

    def _mends_open(self) -> int:
        """Requests of `compare --mend` that are not taken, and rows of them that are still to be read again."""
        rows = self._run.stream.read(lambda seen: sum(each.question.mends for each in Questions(seen.store).open()))
        return rows + len(list(mend_requests.requests(self._folder)))

    def _is_mended(self) -> bool:
        now = self._clock()
        self._waited = now if self._waited is None else self._waited
        left = self._mends_open()
        if left and now - self._waited > MEND_SECONDS:
            self._say("rows of compare --mend are still to be read again: the next run with --server goes on with them")
        return not left or now - self._waited > MEND_SECONDS

    def report_end(self) -> None:
        """UsageError where the snapshot lacks a table that its server refused."""
        if self._snapshot is not None:
            self._snapshot.report_end()

    def close(self) -> None:
        for each in (self._snapshot, self._rereading):
            if each is not None:
                each.close()

    @property
    def _tables(self) -> list[Table]:
        """Those that any node's log has told."""
        return list({each.definition.id: each for told in list(self._told.values()) for each in told.tables}.values())

    def _tell_since(self, second: float) -> bool:
        """Have all logs tell their tables that have not since then; whether all have."""
        self._wanted = max(self._wanted, second)
        told = [self._told.get(node) for node in self._run.stream.nodes]
        return all(each is not None and each.at > second for each in told)

    def _take_asked(self) -> None:
        """Take a snapshot that is asked for, when the tables are known that there are by now."""
        if not asked.is_open(self._folder):
            self._open_since = None
            return
        now = self._clock()
        self._open_since = now if self._open_since is None else self._open_since
        if self._tell_since(self._open_since) or now - self._open_since > TOLD_SECONDS:
            request = asked.take(self._folder)
            if request is not None:
                self._take(request)

    def _take(self, request: Asked) -> None:
        """A snapshot that somebody asks for while the run goes on."""
        try:
            self._nodes.check(self._run.stream.nodes)
            tables = [each for each in self._tables if Selection(request.tables).names(each.definition)]
            if not tables:
                raise UsageError(
                    "nothing of that is followed",
                    expected=" or ".join(each.name for each in self._tables) or "a table with cdc = true",
                    found=", ".join(request.tables) or "all tables",
                )
        except CdcError as error:
            asked.reply(self._folder, Reply(request.id, reason=error.sentence()))
            return
        self._say(f"a snapshot is asked for: {', '.join(each.name for each in tables)}")
        self._snapshot = self._made(anew=True)
        self._snapshot.begin(tables)
        self._snapshot.start()
        self._asked_for, self._asked_tables = request.id, tables
        asked.reply(self._folder, Reply(request.id, tuple(each.definition.id for each in tables)))

    def _say_refused(self) -> None:
        """Whoever asked for a snapshot does not wait for a table that its server refuses, or does not have."""
        if self._asked_for is not None and self._snapshot is not None and self._snapshot.refused:
            try:
                self._snapshot.report_end()
            except UsageError as error:
                asked.reply(self._folder, Reply(self._asked_for, reason=error.sentence()))
            else:
                has = [each for each in self._asked_tables if each.name not in self._snapshot.gone]
                reason = "" if has else f"the server does not have the table any more: {self._snapshot.why_gone()}"
                ids = tuple(each.definition.id for each in has)
                asked.reply(self._folder, Reply(self._asked_for, ids, reason=reason))
            self._asked_for = None

    def _take_mends(self) -> None:
        """Rows that `compare --mend` left are read again. A file is removed when that is durable in the state."""
        if self._rereading is None or not self._told:
            return
        for path, request in mend_requests.requests(self._folder):
            table = next((each for each in self._tables if each.definition.id == request.table_id), None)
            if table is None:
                if not self._tell_since(self._unknown.setdefault(path, self._clock())):
                    # It may have been created since a log told its tables.
                    continue
                self._say(f"{path} is not mended: its table is not followed, or masked; a server's rows are not masked")
            else:
                questions = [
                    Question(request.table_id, row.partition, row.row, row.clustering, mends=True)
                    for row in request.rows
                ]
                self._run.stream.work(partial(_ask, questions))
                self._say(f"{table.name}: {len(questions)} rows are read again from the server (compare --mend)")
            mend_requests.remove(path)
            self._unknown.pop(path, None)

    def _made(self, *, anew: bool) -> SnapshotRun:
        tokens = self._run.images.tokens
        self._into, options = InState(self._run.stream, self._run.timers, self._guard), self._options
        return SnapshotRun(self._into, self._nodes, options, tokens, self._say, anew=anew, show=self._show)

    def _guard(self) -> TurnLock:
        return self.at_target


def _check_guesses(run: ImageRun, options: SnapshotOptions) -> None:
    """UsageError where only a server could tell what changes make of rows."""
    tables = run.stream.read(lambda seen: list(Tables(seen.store)))
    guessed = [each for each in tables if each.facts.floors and each.plan.guessed and not each.facts.dropped]
    if guessed and not options.incomplete:
        each = guessed[0]
        raise UsageError(
            f"{each.facts.table.name} has {', '.join(sorted(each.plan.guessed))}, of which a snapshot knows values "
            "alone: only its server can tell what a change makes of them",
            remedy="Name it: --server HOST; or go on without, and have such rows marked: --incomplete.",
        )


def _ask(questions: Sequence[Question], transaction: Transaction, merging: Merging) -> list[Image]:
    for each in questions:
        merging.merger.questions.ask(each, merging.now_us // SECOND - MOST_SECONDS)
    return []
