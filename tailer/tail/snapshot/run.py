"""The snapshot of a run: waits until every node stands, has the tables read, and goes on after whatever fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from tailer.errors import SystemFailedError, UsageError
from tailer.images.merged_tables import SECOND
from tailer.jit.ready import bring
from tailer.options.snapshot import SnapshotOptions
from tailer.options.token_range import TokenRange
from tailer.reading.counted_notices import CountedNotices
from tailer.reading.replaced_texts import count_replaced
from tailer.rebuild import Table
from tailer.schema.server import Server, Session, has_another, lacks_table, open_session
from tailer.schema.server_rows import raw
from tailer.sinks.text import size_text
from tailer.snapshot.pace import Pace
from tailer.snapshot.progress import Show, Snapshot, done_of
from tailer.snapshot.ranges import Range
from tailer.snapshot.raw_rows import COMPILED
from tailer.snapshot.reading import TableReading
from tailer.tail.follow import Say
from tailer.tail.snapshot.nodes import Nodes
from tailer.tail.snapshot.table import TableSnapshot, Target

RETRY_SECONDS: Final = 5.0
TOLD_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.1
_REFUSED_SECONDS: Final = 60.0
"""A table that its server refuses to read for so long is another one than the log tells of: it is left aside."""
_GONE_SECONDS: Final = 15.0
"""A table that no server has for so long was dropped, and the log does not show that yet."""

_REMEDY: Final = "It is read when the run begins again, if the server lets it by then; or leave the table out: {}."


class _Part(NamedTuple):
    """What one reader reads: a range of a table."""

    table: TableSnapshot
    number: int
    range: Range


class SnapshotRun:
    """Of one run. `nodes`: each with its server. `anew`: also where the last one is at its end. `show`: called behind
    each piece with how far that table is; None for a sentence now and then."""

    def __init__(
        self,
        target: Target,
        nodes: Nodes,
        options: SnapshotOptions,
        tokens: TokenRange | None,
        say: Say,
        *,
        anew: bool = False,
        show: Show | None = None,
    ) -> None:
        self._target, self._nodes, self._options, self._tokens = target, nodes, options, tokens
        self._say, self._anew = say, anew
        self._notices = CountedNotices()
        self._show = show or self._say_progress
        self._pace = Pace(options.rows_per_second)
        self._tables: Sequence[Table] = ()
        self._known, self._ending = threading.Event(), threading.Event()
        self._failed: BaseException | None = None
        self._lock = threading.Lock()
        self._parts: list[_Part] = []
        self._told = self._last = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="cdc-tail-snapshot", daemon=True)
        self._refused_since: dict[str, float] = {}
        self._read_whole: set[str] = set()
        """Tables, by name, whose snapshot came to its end in this run."""
        self.refused: dict[str, UsageError] = {}
        """Tables, by name, of which this run reads no more: what the server says of them."""
        self.gone: set[str] = set()
        """Those of them that the server does not have any more: without them the snapshot is complete."""
        self.ended = False

    def start(self) -> None:
        self._thread.start()

    def begin(self, tables: Sequence[Table]) -> None:
        """A node's log is open, which tells these tables; those of the first one count."""
        if not self._known.is_set():
            self._tables = tables
            self._known.set()

    def check(self) -> None:
        """Raises what ended it."""
        if self._failed is not None:
            raise self._failed

    def report_end(self) -> None:
        """UsageError where a table was left aside: what came of the snapshot is not all of it."""
        left = {name: error for name, error in self.refused.items() if name not in self.gone}
        for name, error in left.items():
            raise UsageError(
                f"the snapshot of {', '.join(left)} is not complete; {name}: {error.sentence()}".rstrip("."),
                remedy=_REMEDY.format(" ".join(f"--exclude {each}" for each in left)),
            )

    def why_gone(self) -> str:
        """The tables that the server does not have any more, each with what shows that."""
        return ", ".join(f"{name} ({self.refused[name].found})" for name in sorted(self.gone))

    def close(self) -> None:
        """Let go: what is at hand is merged, or read again by a later run."""
        self._ending.set()
        self._known.set()
        if self._thread.is_alive():
            self._thread.join()
        self._tell_due(last=True)

    def _run(self) -> None:
        try:
            self._known.wait()
            while not self._ending.is_set() and not self._target.stands():
                self._ending.wait(_LOOK_SECONDS)
            if self._anew or not all(map(self._target.has, self._tables)):
                bring(COMPILED, *self._target.twins)
                self._until_it_answers(self._nodes.ask)
                while not self._ending.is_set() and self._open():
                    self._read()
            self.ended = not self._ending.is_set()
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Raised by `check`: a thread has nobody to tell."""
        self._failed = self._failed or error
        self._ending.set()

    def _open(self) -> bool:
        """Plan what is to be read; whether there is anything."""
        self._await_keyspaces()
        self._await_definitions()
        settle = self._options.snapshot_settle
        chosen = [table for table in self._tables if table.name not in self.refused]
        planned = [(table, self._target.table(table, self._nodes, settle)) for table in chosen]
        tables = [each for table, each in planned if not self._is_gone(table, each)]
        for each in tables if not self._options.partial else ():
            each.check()
        begun = [(each, each.begin(self._tokens, anew=self._anew)) for each in tables]
        # The next look at them is at what this one leaves open.
        self._anew = False
        self._parts = [_Part(each, *part) for each, now in begun if not now.ended for part in each.left()]
        until = max((now.until for _, now in begun if not now.ended), default=0)
        if self._parts:
            self._settle(until / SECOND + settle / 2)
        self._parts.reverse()
        self._last = time.monotonic()
        return bool(self._parts)

    def _is_gone(self, table: Table, snapshot: TableSnapshot) -> bool:
        """Whether the log has shown the DROP of a table. One that was not read to its end before is left aside: the
        process that asked for its snapshot would wait for that end. Not where a later table has its name."""
        gone = snapshot.is_gone()
        again = any(each.name == table.name and each is not table for each in self._tables)
        if gone and not again and table.name not in self._read_whole:
            self._leave(table.name, "the log has shown that it was dropped")
        return gone

    def _await_keyspaces(self) -> None:
        """Wait for keyspaces that the servers do not have yet. A keyspace that they still lack after _GONE_SECONDS was
        dropped: its tables are left aside."""
        until = time.monotonic() + _GONE_SECONDS
        while not self._ending.is_set() and (lacking := [each for each in self._tables if self._lacks_keyspace(each)]):
            if time.monotonic() > until:
                for table in lacking:
                    self._leave(table.name, f"no keyspace {table.definition.keyspace}")
                return
            self._ending.wait(RETRY_SECONDS)
            self._until_it_answers(self._nodes.ask)

    def _leave(self, name: str, found: str) -> None:
        self.refused[name] = UsageError("the server does not have the table", found=found)
        self.gone.add(name)
        self._say_gone(name, self.refused[name])

    def _await_definitions(self) -> None:
        """Wait for tables that are to be known first as they were where rows of the logs are."""
        told = time.monotonic()
        while not self._ending.is_set():
            defined = {
                each.name: self._target.is_defined(each) for each in self._tables if each.name not in self.refused
            }
            for name in [name for name, is_defined in defined.items() if is_defined is False]:
                self._leave(name, "the log has told that it was dropped, or is not captured")
            lacking = [name for name, is_defined in defined.items() if is_defined is None]
            if not lacking:
                return
            if time.monotonic() - told >= TOLD_SECONDS:
                told = time.monotonic()
                self._say(f"the snapshot waits: the logs are not merged up to where they define {', '.join(lacking)}")
            self._ending.wait(_LOOK_SECONDS)

    def _lacks_keyspace(self, table: Table) -> bool:
        return table.name not in self.refused and not self._nodes.has(table.definition.keyspace)

    def _say_gone(self, name: str, error: UsageError) -> None:
        self._say(f"the snapshot leaves {name} aside: the server does not have it any more ({error.found})")

    def _settle(self, second: float) -> None:
        """Wait until all that was written before the nodes stood is where reads find it, and until what they had logged
        by then is merged: else a TRUNCATE or a column that is not known yet would take what was read."""
        while not self._ending.is_set() and (left := second - self._target.wall()) > 0:
            self._ending.wait(min(left, 1.0))
        told = time.monotonic()
        while not self._ending.is_set() and (behind := self._target.behind(second)):
            if time.monotonic() - told >= TOLD_SECONDS:
                told = time.monotonic()
                self._say(f"the snapshot waits: what {', '.join(behind)} logged before it is not merged yet")
            self._ending.wait(_LOOK_SECONDS)

    def _read(self) -> None:
        count = max(1, min(int(self._options.parallel), len(self._parts)))
        servers = list(self._nodes.servers.values())
        readers = [
            threading.Thread(target=self._reader, args=(servers[at % len(servers) :] + servers[: at % len(servers)],))
            for at in range(count)
        ]
        for each in readers:
            each.start()
        for each in readers:
            each.join()

    def _reader(self, servers: list[Server]) -> None:
        """In a thread of its own: one range after the other, of the first server that answers."""
        at_hand: list[_Part] = []

        def refused(error: UsageError) -> bool | None:
            # One that was created a moment ago another server may have.
            servers.append(servers.pop(0))
            return self._put_off(at_hand[0].table.now, error, servers[-1]) if at_hand else None

        def work() -> None:
            self._of_server(servers[0], at_hand)

        try:
            while not self._ending.is_set() and self._parts:
                self._until_it_answers(work, lambda: servers.append(servers.pop(0)), refused)
        except BaseException as error:
            self._fail(error)

    def _put_off(self, now: Snapshot, error: UsageError, server: Server) -> bool:
        """A server refuses to read a table. If the table was altered, the log shows that a moment later: read the other
        tables first, and give this one up after a while. Returns whether there is another table to read."""
        name = now.table
        gone = lacks_table(error) or has_another(server, name, now.table_id)
        with self._lock:
            since = self._refused_since.setdefault(name, time.monotonic())
            mine = [each for each in self._parts if each.table.now.table == name]
            others = [each for each in self._parts if each.table.now.table != name]
            gives_up = time.monotonic() - since > (_GONE_SECONDS if gone else _REFUSED_SECONDS)
            self._parts = others if gives_up else [*mine, *others]
            is_first = gives_up and name not in self.refused
            if is_first:
                self.refused[name] = error
                self.gone |= {name} if gone else set()
        if is_first and gone:
            self._say_gone(name, error)
        elif is_first:
            remedy = _REMEDY.format(f"--exclude {name}")
            self._say(f"the snapshot of {name} is not complete, the other tables go on: {error.sentence()} {remedy}")
        return gives_up or any(each.table.now.table not in self._refused_since for each in others)

    def _until_it_answers(
        self,
        work: Callable[[], None],
        otherwise: Callable[[], None] = lambda: None,
        put_off: Callable[[UsageError], bool | None] = lambda error: None,
    ) -> None:
        """`put_off`: called when the server refuses what it is asked; whether there is something else to go on with,
        None where that was not about one table."""
        refused = None
        while not self._ending.is_set():
            try:
                work()
                return
            except SystemFailedError as error:
                otherwise()
                self._say(f"the snapshot waits: {error.sentence()}")
            except UsageError as error:
                goes_on = put_off(error)
                if goes_on:
                    return
                refused = refused or time.monotonic()
                if goes_on is None and time.monotonic() - refused > _REFUSED_SECONDS:
                    raise
            self._ending.wait(RETRY_SECONDS)

    def _of_server(self, server: Server, at_hand: list[_Part]) -> None:
        """`at_hand`: in which the part is that is being read."""
        at_hand.clear()
        with open_session(server) as session:
            held = raw(session)
            while not self._ending.is_set() and (part := self._next()) is not None:
                at_hand[:] = [part]
                low, high = part.range
                try:
                    for read in self._pieces(part, held):
                        low = read
                except BaseException:
                    with self._lock:
                        if part.table.now.table not in self.refused:
                            self._parts.append(part._replace(range=(low, high)))
                    raise
                self._refused_since.pop(part.table.now.table, None)
                at_hand.clear()

    def _next(self) -> _Part | None:
        with self._lock:
            return self._parts.pop() if self._parts else None

    def _pieces(self, part: _Part, session: Session) -> Iterator[int]:
        """Read and merge a range; after each piece up to which token."""
        low, high = part.range
        while low < high:
            seen = part.table.known()
            if seen.facts.dropped or seen.facts.epoch != part.table.now.epoch:
                # Where changes were lost, what is read before that is worth nothing: it is begun anew.
                return
            release, level = self._nodes.release, self._options.consistency
            reading = TableReading(session, seen.plan, release, level, self._pace)
            for piece in reading.pieces(low, high, part.table.now.until, self._target.piece_rows):
                merged = not self._ending.is_set() and part.table.merge(part.number, piece, seen, self._since_last())
                self._tell_replaced(reading)
                if not merged:
                    break
                low = piece.high
                yield low
                self._tell(part.table.now)
            if self._ending.is_set():
                return

    def _since_last(self) -> float:
        """Seconds since the last piece of any reader."""
        with self._lock:
            now, before = time.monotonic(), self._last
            self._last = now
            return now - before

    def _tell_replaced(self, reading: TableReading) -> None:
        """Of texts that are no characters, as everywhere: at once, then once a minute."""
        with self._lock:
            count_replaced(reading.replaced, self._notices)
        self._tell_due()

    def _tell_due(self, *, last: bool = False) -> None:
        with self._lock:
            due = self._notices.take(last=last)
        for notice in due:
            self._say(notice)

    def _tell(self, now: Snapshot) -> None:
        self._show(now)
        if now.ended:
            self._read_whole.add(now.table)
            self._say(sentence_of(now))

    def _say_progress(self, now: Snapshot) -> None:
        if not now.ended and time.monotonic() - self._told >= TOLD_SECONDS:
            self._told = time.monotonic()
            self._say(f"snapshot of {now.table}: {now.rows} rows so far, {done_of(now):.0%} of its tokens")


def sentence_of(ended: Snapshot) -> str:
    """What a snapshot came to."""
    size, ranges = size_text(ended.bytes), len(ended.plan)
    return f"snapshot of {ended.table}: {ended.rows} rows, {size}, {ended.seconds:.1f} s, {ranges} ranges"
