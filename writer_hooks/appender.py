"""Everything that happens under the append lock: entries get their place, segments follow one another.

Touches no disk itself but for a segment that nobody made ahead. Knows nothing of threads that wait.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Protocol
from zlib import crc32

from tailer.errors import CdcError, SystemFailedError
from tailer.framing.entry import entry_head
from tailer.framing.section import MARKER_BYTES
from tailer.limits import ENTRY_OVERHEAD
from tailer.position import Position
from writer_hooks.durable import DurableEnd, Group, key_of
from writer_hooks.log_options import Options
from writer_hooks.open_segment import SECTION_SPARE, Segment, entry_bytes
from writer_hooks.spares import Spares
from writer_hooks.syncer import Step
from writer_hooks.writer_errors import refused_dead, too_large


class AnyTable(Protocol):
    """What the log has to know of a table. `definition`: the payload of its definition record."""

    @property
    def fp(self) -> bytes: ...

    @property
    def cdc(self) -> bool: ...

    @property
    def definition(self) -> bytes: ...


class AnyChange(Protocol):
    """A change that can be appended. `encode` gives the payload of its record."""

    @property
    def table(self) -> AnyTable: ...

    @property
    def write_ts(self) -> int | None: ...

    def encode(self, txn: int | None, write_ts: int) -> bytes: ...


class OpenTransaction(Protocol):
    """What an open transaction holds back: the section of its first tracked change, and of its first of all."""

    id: int
    since: float

    @property
    def first(self) -> Position | None: ...

    @property
    def first_any(self) -> Position | None: ...

    def abort(self, why: str) -> None: ...


class Appender:
    """The segment that is written, and what is not yet handed to a sync.

    `last_ts`: the last time that a run before gave to a change. `permit` is asked before a segment takes its first
    change of a cdc table, and raises to refuse it.
    """

    def __init__(
        self,
        durable: DurableEnd,
        options: Options,
        segment: Segment,
        last_ts: int,
        permit: Callable[[Segment], None] | None = None,
    ) -> None:
        self._durable = durable
        # As much again may be on its way to the disk.
        self._fill = options.max_unsynced // 2
        self._room = self._fill
        self._most = options.segment_bytes // 2 - SECTION_SPARE
        self._small = self._most // 2
        self.clock = options.clock
        self._wall = options.wall
        self._last_ts = last_ts
        self._sealed_end = durable.end
        self._steps: list[Step] = []
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.segment = segment
        self.spares: Spares
        self._permit = permit
        self.transactions: dict[int, OpenTransaction] = {}
        self._forgotten: deque[OpenTransaction] = deque()
        self.rolled = False
        """A segment has ended that no sync has heard of."""
        self.entries = 0
        self.segments = 1
        self.sealed = 0
        """Bytes of all sections that were ever handed to a sync."""
        self.refusal: CdcError | None = None
        """Why nothing can be appended any more."""
        self.attention = False
        """A section or a segment has begun: somebody may want to sync."""
        self.full = False
        """Too much waits for a sync: the next append waits for it."""

    def supply(self, spares: Spares) -> None:
        """Where the next segments come from; said once, before anything is appended."""
        self.spares = spares

    def attended(self) -> None:
        """Whoever may want to sync has heard."""
        self.attention = False

    def append(self, change: AnyChange) -> int:
        """Appends an autocommitted change: the end of its entry, as a number."""
        table = change.table
        with self.lock:
            if self.refusal is not None:
                raise self.refusal
            # The timestamp is taken under the lock, so that of two changes the later one in the log wins.
            write_ts = change.write_ts
            if write_ts is None:
                write_ts = self._wall()
                if write_ts <= self._last_ts:
                    write_ts = self._last_ts + 1
                self._last_ts = write_ts
            payload = change.encode(None, write_ts)
            segment = self.segment
            plain = segment.plain
            at = len(plain)
            size = len(payload)
            room = min(segment.limit - at, self._small)
            if size + ENTRY_OVERHEAD > room or table.fp not in segment.defined:
                self.put(payload, table, table.cdc)
                return key_of(self.segment.place)
            # As `put`, without its calls: this is what a log does all day.
            head, crc = entry_head(size)
            plain += b"".join((head, payload, crc32(payload, crc).to_bytes(4, "big")))
            self.entries += 1
            if at == MARKER_BYTES:
                self.attention = True
            elif at > self._room:
                self.full = True
            return (segment.id << 32) + segment.start + len(plain)

    def append_run(self, changes: Sequence[AnyChange], start: int) -> tuple[int, int]:
        """Appends autocommitted changes from number `start` on, as long as each needs nothing but a little room: the
        number of the first that was not appended, and where the last entry ends.

        What stops it (a definition, a segment's end, a change that is refused, too much that waits for a sync) is
        `append`'s to see to. All of them are there at once, as Ctrl-C may come between two steps.
        """
        frames: list[bytes] = []
        with self.lock:
            segment, last_ts, number = self.segment, self._last_ts, start
            plain, defined = segment.plain, segment.defined
            begin = at = len(plain)
            next_ts = max(self._wall(), last_ts + 1)
            for change in islice(changes, start, None) if self.refusal is None else ():
                try:
                    write_ts = change.write_ts
                    if at > self._room or change.table.fp not in defined:
                        break
                    payload = change.encode(None, next_ts if write_ts is None else write_ts)
                except Exception:
                    # Also of what is no change: `append` raises it, when those before it are there.
                    break
                size = len(payload)
                if size + ENTRY_OVERHEAD > min(segment.limit - at, self._small):
                    break
                if write_ts is None:
                    last_ts, next_ts = next_ts, next_ts + 1
                head, crc = entry_head(size)
                frames += (head, payload, crc32(payload, crc).to_bytes(4, "big"))
                at += size + ENTRY_OVERHEAD
                number += 1
            self._last_ts = last_ts
            plain += b"".join(frames)
            self.entries += number - start
            self.attention |= begin == MARKER_BYTES < at
            self.full |= at > self._room
            return number, (segment.id << 32) + segment.start + at

    def now(self) -> int:
        """A timestamp for a change; no two changes have the same. Called under the lock."""
        write_ts = max(self._wall(), self._last_ts + 1)
        self._last_ts = write_ts
        return write_ts

    def put(self, payload: bytes, table: AnyTable | None, tracked: bool) -> Position:
        """Appends an entry, behind the table's definition where the segment has it not yet: the place of the entry.

        All or nothing: whatever is refused is refused before anything is written. Called under the lock.
        """
        definition = table.definition if table is not None else b""
        whole = entry_bytes(payload) + (entry_bytes(definition) if table is not None else 0)
        if whole > self._most:
            raise too_large(whole, self._most)
        waited = False
        while True:
            self.check()
            segment = self.segment
            define = table is not None and table.fp not in segment.defined
            if segment.fits(whole if define else entry_bytes(payload)):
                break
            waited = self._roll(waited)
        if table is not None and table.cdc and self._permit is not None and not segment.permitted:
            self._permit(segment)
            segment.allow()
        if tracked:
            segment.track(self.clock())
        if define and table is not None:
            segment.add(definition)
            segment.defined.add(table.fp)
        place = segment.place
        segment.add(payload)
        self.entries += 1
        self.attention = True
        self.full = len(segment.plain) > self._room
        return place

    def put_if_it_fits(self, payload: bytes, tracked: bool) -> bool:
        """The same for a record that may be left out: no other segment is begun for it."""
        fits = self.refusal is None and self.segment.fits(entry_bytes(payload))
        if fits:
            self.put(payload, None, tracked)
        return fits

    def abort_below(self, segment: int, why: str) -> None:
        """Ends the transactions that have tracked changes in segments up to that one."""
        with self.lock:
            for each in list(self.transactions.values()):
                if each.first is not None and each.first.segment <= segment:
                    each.abort(why)

    def forget_transaction(self, transaction: OpenTransaction) -> bool:
        """Nobody refers to it any more; whether it was open. Takes no lock."""
        here = self.refusal is None and self.transactions.get(transaction.id) is transaction
        if here:
            self._forgotten.append(transaction)
        return here

    def roll_back_forgotten(self) -> None:
        """Ends the transactions to which nobody refers any more. Called under the lock."""
        while self._forgotten:
            self._forgotten.popleft().abort("it was forgotten")

    def oldest(self) -> float:
        """For how many seconds the oldest open transaction has been open; 0 where none is. Called under the lock."""
        since = min((each.since for each in self.transactions.values()), default=None)
        return 0.0 if since is None else self.clock() - since

    def check(self) -> None:
        """Raises where nothing can be appended any more."""
        if self.refusal is not None:
            raise self.refusal

    def refuse(self, error: CdcError) -> None:
        """Nothing is appended from now on. The lock is not asked for: whoever holds it may be the caller."""
        self.refusal = refused_dead(error)

    def forget(self, error: CdcError) -> None:
        """`refuse` in a forked child, where whoever held the lock may be gone."""
        self.refusal = error
        self.rolled = False
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)

    def _roll(self, waited: bool) -> bool:
        """The next segment becomes this one; or, where it is still being made, waits for news of it."""
        spare = self.spares.take(waited)
        if spare is None:
            self.changed.wait()
            return True
        self._follow(spare)
        return False

    def _follow(self, spare: Segment) -> None:
        self._end_segment()
        self.segment = spare
        self.segments += 1

    def _end_segment(self) -> None:
        self._room -= self.segment.pending
        self._seal()
        self._steps.append(self.segment)
        self.rolled = True

    def roll_when_old(self, seconds: float) -> bool:
        """Ends the segment if its first tracked record is that old, and the next one is there."""
        with self.lock:
            since = self.segment.tracked_since
            if since is None or self.clock() - since < seconds or self.refusal is not None:
                return False
            try:
                spare = self.spares.take(waited=False)
            except SystemFailedError:
                # It may be older yet; whoever needs the next segment for a change will be told.
                return False
            if spare is not None:
                self._follow(spare)
            return spare is not None

    def end(self, error: CdcError) -> None:
        """Nothing more is appended: open transactions are rolled back, the segment ends."""
        with self.lock:
            for each in list(self.transactions.values()):
                each.abort("the log was closed")
            self.refusal = error
            if not self.segment.empty:
                self._end_segment()

    def firsts(self) -> list[Position]:
        """Where the tracked changes of open transactions begin."""
        return [each.first for each in self.transactions.values() if each.first is not None]

    def firsts_any(self) -> list[Position]:
        """The same for changes of all tables."""
        return [each.first_any for each in self.transactions.values() if each.first_any is not None]

    def last(self) -> int:
        """The end of the last entry, as a number."""
        with self.lock:
            return key_of(self.segment.place) if self.segment.pending else self._sealed_end

    def seal(self) -> tuple[list[Step], Group]:
        """What was appended since the last call, and those who wait for it."""
        with self.lock:
            self.roll_back_forgotten()
            self._seal()
            steps, self._steps = self._steps, []
            self._room = self._fill
            self.full = False
            self.rolled = False
            return steps, self._durable.turn(key_of(self.segment.section_start))

    def _seal(self) -> None:
        restart, restart_any = min(self.firsts(), default=None), min(self.firsts_any(), default=None)
        section = self.segment.seal(restart, restart_any, self._last_ts)
        if section is not None:
            self._steps.append(section)
            self._sealed_end = key_of(section.position)
            self.sealed += len(section.plain)
