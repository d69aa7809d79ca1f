"""Every crash of a workload: the disk before each call, what it may lose, recovery, and what must hold then.

What must hold: whatever was acknowledged is there; what is there is a beginning of what was appended; a reader that
looked before the crash has lost nothing and got nothing late; every dead segment with changes is DONE; and all of that
again after a second crash, in recovery or behind it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tailer.errors import RefusedError
from tailer.position import Position
from tests.writer.crash.ahead import Ahead
from tests.writer.crash.disk import Disk, everything_kept, nothing_kept, some_kept
from tests.writer.crash.files import Call, FakeFiles
from tests.writer.crash.log import LOG_NAME, Violation
from tests.writer.crash.reader import Delivered, Sidecar, read_folder
from tests.writer.crash.session import FOLDER, RAW, Clock, Commit, Session, open_log
from tests.writer.crash.tables import PLAIN, A
from writer_hooks import SegmentLog

Script = Callable[["Recorder"], None]


@dataclass(frozen=True, repr=False)
class Follower:
    """A reader that goes on where it was. It remembers what every sidecar said."""

    delivered: tuple[Delivered, ...] = ()
    sidecars: Mapping[int, Sidecar] = field(default_factory=dict)
    unfinished: tuple[int, ...] = ()
    dropped: frozenset[Position] = frozenset()

    def look(self, disk: Disk, *, strict: bool, kept: bool = True) -> Follower:
        """`strict`: no power loss since the last recovery, so that no sidecar may say less than before. `kept`: no
        power loss took one away, so that recovery did not have to guess where the first tracked section is."""
        reading = read_folder(raw_files(disk), strict=strict, delivered_to=self.at)
        for segment, sidecar in reading.sidecars.items():
            self._held_against(segment, sidecar, strict, kept)
        last = self.delivered[-1][:2] if self.delivered else (Position(0, 0), -1)
        old = {row[:2]: row for row in self.delivered}
        for row in reading.rows:
            if row[:2] <= last and old.get(row[:2]) != row:
                raise Violation(f"{row} came late: delivered up to {last}")
        new = tuple(row for row in reading.rows if row[:2] > last)
        sidecars = {**self.sidecars, **reading.sidecars}
        dropped = self.dropped | frozenset(reading.dropped)
        return Follower(self.delivered + new, sidecars, tuple(reading.unfinished), dropped)

    def has(self, commits: list[Commit], dropped: int) -> bool:
        """Whether these commits were delivered and nothing else, but for those that the cap took: all of a commit or
        nothing, and only what stands in a segment up to `dropped` or a transaction that began there."""
        numbers = [row.number for row in self.delivered]
        found = set(numbers)
        kept = [commit for commit in commits if found & set(commit.cdc)]
        lost = [commit for commit in commits if commit.cdc and not found & set(commit.cdc)]
        begun_before = [commit for commit in lost if commit.ticket and commit.ticket.position.segment > dropped]
        return flat(commit.cdc for commit in kept) == numbers and len(begun_before) <= len(self.dropped)

    @property
    def at(self) -> Position:
        return self.delivered[-1].at if self.delivered else Position(0, 0)

    def _held_against(self, segment: int, sidecar: Sidecar, strict: bool, kept: bool) -> None:
        known = self.sidecars.get(segment)
        if known is None:
            return
        if kept and known.first != sidecar.first:
            raise Violation(f"{segment}: the first tracked section was {known.first}, is {sidecar.first}")
        if (strict and sidecar.end < known.end) or (known.done and sidecar.end > known.end):
            raise Violation(f"{segment} ended at {known}, ends at {sidecar}")
        if known.done and strict and not sidecar.done:
            raise Violation(f"{segment} is no longer DONE")


class Moment(NamedTuple):
    """The world before a call: what a crash leaves, and what must be true of it then.

    `machine`: the machine's run (its boot id); `lossy`: a power loss has not been recovered from yet.
    """

    call: str
    disk: Disk
    acknowledged: int
    appended: int
    follower: Follower
    discarded: int
    discarded_at: Position
    highest: int
    machine: str = "run 0"
    lossy: bool = False

    def __repr__(self) -> str:
        return f"<{self.call}>"

    def same(self, disk: Disk, acknowledged: int, appended: int) -> bool:
        return (self.acknowledged, self.appended) == (acknowledged, appended) and self.disk.inodes == disk.inodes


class Recorder(Session):
    """A session whose every call leaves a moment behind, but for those that find the world as the last one did.

    `ahead`: a seed of when segments are made ahead of their use; None: each is made when it is needed."""

    def __init__(self, disk: Disk | None = None, ahead: int | None = None, **options: Any) -> None:
        if disk is None:
            disk = Disk()
            disk.make_folders(FOLDER)
        self.moments: list[Moment] = []
        self.calls = 0
        self.follower = Follower()
        self.highest = 0
        self.commits: list[Commit] = []
        self.discarded, self.discarded_at = 0, Position(0, 0)
        self._looked: dict[str, bytes] | None = None
        self._ahead: Ahead | None = None
        self.files = FakeFiles(disk, self._before)
        self.clock = Clock()
        options = {"clock": self.clock, **options}
        super().__init__(lambda: open_log(self.files, **options), self.commits)
        if ahead is not None:
            self._ahead = Ahead(self.log, ahead)

    def clean(self) -> None:
        """A reader deletes what it is done with: every segment below the one it stands in and below its restart."""
        self._look()
        done = {segment: sidecar for segment, sidecar in self.follower.sidecars.items() if sidecar.done}
        kept = min((sidecar.restart.segment for sidecar in [self._newest()] if sidecar), default=0)
        files = raw_files(self.files.disk)
        reader = FakeFiles(self.files.disk, self._before)
        for segment in sorted(done):
            if segment < kept and log_name(segment) in files and sidecar_name(segment) in files:
                reader.unlink(RAW / log_name(segment))
                reader.unlink(RAW / sidecar_name(segment))

    def _newest(self) -> Sidecar | None:
        sidecars = self.follower.sidecars
        return sidecars[max(sidecars)] if sidecars else None

    def _before(self, call: Call) -> None:
        if self._ahead is not None:
            self._ahead.between()
        self.calls += 1
        self._look()
        disk, acknowledged, appended = self.files.disk, self.acknowledged, len(self.commits)
        if self.moments and self.moments[-1].same(disk, acknowledged, appended):
            return
        self.highest = max(self.highest, highest_id(disk))
        self.moments.append(
            Moment(
                str(call),
                disk.snapshot(),
                acknowledged,
                appended,
                self.follower,
                self.discarded,
                self.discarded_at,
                self.highest,
            )
        )

    def _look(self) -> None:
        """A reader looks whenever something that it sees of the folder changed."""
        if (seen := published(self.files.disk)) != self._looked:
            self._looked = seen
            self.follower = self.follower.look(self.files.disk, strict=True)


def raw_files(disk: Disk) -> dict[str, bytes]:
    return disk.files_in(RAW)


def published(disk: Disk) -> dict[str, bytes]:
    """What a reader sees change: everything but the logs, which say nothing new before their sidecar does."""
    return {name: data for name, data in raw_files(disk).items() if not name.endswith(".log")}


def log_ids(disk: Disk) -> list[int]:
    """The segments that readers see."""
    return [int(found[1]) for name in raw_files(disk) if (found := LOG_NAME.fullmatch(name))]


def log_name(segment: int) -> str:
    return f"CommitLog-7-{segment}.log"


def sidecar_name(segment: int) -> str:
    return f"CommitLog-7-{segment}_cdc.idx"


def highest_id(disk: Disk) -> int:
    names = (*disk.files_in(FOLDER / "commitlog"), *raw_files(disk))
    return max((int(found[1]) for name in names if (found := re.match(r"CommitLog-7-(\d+)", name))), default=0)


class Crash(NamedTuple):
    """A moment and what is left of its disk; `killed`: only the process died, the machine's run goes on."""

    moment: Moment
    loss: str
    disk: Disk
    killed: bool

    @property
    def machine(self) -> str:
        return self.moment.machine if self.killed else f"{self.moment.machine}, then another"

    @property
    def lossy(self) -> bool:
        return self.moment.lossy or not self.killed

    @property
    def strict(self) -> bool:
        return not self.lossy


def crashes(moment: Moment, seeds: Iterable[int]) -> Iterator[Crash]:
    """Every kind of crash before a call."""
    yield Crash(moment, "kill", moment.disk.snapshot(), True)
    yield Crash(moment, "nothing kept", moment.disk.after_power_loss(nothing_kept), False)
    yield Crash(moment, "everything kept", moment.disk.after_power_loss(everything_kept), False)
    for seed in seeds:
        yield Crash(moment, f"seed {seed}", moment.disk.after_power_loss(some_kept(seed)), False)


@dataclass(repr=False)
class Recovery:
    """Recoveries of one workload's crashes. `options`: as the workload opened its log."""

    commits: list[Commit]
    options: Mapping[str, Any]
    runs: int = 0

    def check(self, crash: Crash, *, again: bool = False, onwards: bool = False, watched: bool = False) -> list[Moment]:
        """Recovers and checks; the moment after it. `again`: once more; `onwards`: the log goes on after; `watched`:
        gives the moments of recovery itself, too."""
        self.runs += 1
        moment = crash.moment
        follower = moment.follower.look(crash.disk, strict=crash.strict)
        files = FakeFiles(crash.disk.snapshot())
        moments: list[Moment] = []
        looked = published(files.disk)

        def before(call: Call) -> None:
            nonlocal follower, looked
            if (seen := published(files.disk)) != looked:
                looked = seen
                follower = follower.look(files.disk, strict=False, kept=crash.strict)
            if watched and not (moments and moments[-1].disk.inodes == files.disk.inodes):
                label = f"{moment.call}, {crash.loss}, then {call}"
                moments.append(now(moment, label, files, follower)._replace(machine=crash.machine, lossy=crash.lossy))

        files.before = before
        log = self._open(files, crash)
        files.before = None
        found, follower = self._hold(crash, log, files.disk, follower)
        later = now(moment, f"{moment.call}, {crash.loss}, recovered", files, follower)
        later = later._replace(machine=crash.machine, lossy=False, acknowledged=found, appended=found)
        moments.append(later)
        if again:
            for other in crashes(later, [self.runs]):
                if other.killed:
                    self._same(raw_files(files.disk), other)
                self.check(other)
        if onwards:
            self._goes_on(log, files, found, follower)
        return moments

    def _open(self, files: FakeFiles, crash: Crash) -> SegmentLog:
        return open_log(files, **{**self.options, "boot_id": lambda: crash.machine})

    def _hold(self, crash: Crash, log: SegmentLog, disk: Disk, follower: Follower) -> tuple[int, Follower]:
        """How many commits survived; the reader after recovery. Both the log's own replay and the reader must agree."""
        moment = crash.moment
        numbers = replayed(log, moment.discarded_at)
        after = follower.look(disk, strict=True, kept=crash.strict)
        dropped = int(raw_files(disk).get("DROPPED", b"0"))
        matching = [
            count
            for count in range(moment.acknowledged, moment.appended + 1)
            if flat(commit.rows for commit in self.commits[moment.discarded : count]) == numbers
            and after.has(self.commits[:count], dropped)
        ]
        if not matching:
            delivered = [row.number for row in after.delivered]
            raise Violation(
                f"{moment.acknowledged} to {moment.appended} commits of {[commit.rows for commit in self.commits]}, "
                f"from {moment.discarded} on: replay gives {numbers}, the reader has {delivered}"
            )
        if highest_id(disk) <= moment.highest:
            raise Violation(f"the new segment is {highest_id(disk)}, and {moment.highest} was used before")
        again = set(log_ids(disk)) - set(log_ids(crash.disk))
        if any(segment <= moment.highest for segment in again):
            raise Violation(f"segments came back that somebody had deleted for readers: {again}")
        if after.unfinished:
            raise Violation(f"recovered, and not DONE: {after.unfinished}")
        return matching[-1], after

    def _same(self, before: Mapping[str, bytes], crash: Crash) -> None:
        """Recovery of what recovery left changes no segment that was dead already."""
        files = FakeFiles(crash.disk.snapshot())
        self._open(files, crash)
        sidecars = {name: text for name, text in before.items() if name.endswith(".idx")}
        now = raw_files(files.disk)
        if {name: now.get(name) for name in sidecars} != sidecars:
            raise Violation(f"recovered twice: {sidecars} became {now}")

    def _goes_on(self, log: SegmentLog, files: FakeFiles, found: int, follower: Follower) -> None:
        session = Session(lambda: log, [*self.commits[:found]])
        for table, rows in ((A, 1), (PLAIN, 1), (A, 2)):
            # A log that is at its cap refuses rows of a table with cdc.
            with suppress(RefusedError):
                session.append(table, rows)
        session.close()
        after = follower.look(files.disk, strict=True)
        if not after.has(session.commits, int(raw_files(files.disk).get("DROPPED", b"0"))):
            raise Violation(f"a log that goes on gives {after.delivered}")
        if files.open_descriptors:
            raise Violation(f"left open: {files.open_descriptors}")


def now(moment: Moment, call: str, files: FakeFiles, follower: Follower) -> Moment:
    """A later moment: what the disk is now and what the reader has."""
    highest = max(moment.highest, highest_id(files.disk))
    return moment._replace(call=call, disk=files.disk.snapshot(), follower=follower, highest=highest)


def replayed(log: SegmentLog, since: Position) -> list[int]:
    """The numbers of all rows that the log's own replay gives."""
    return [int.from_bytes(row.partition_key[0], "big") for change in log.replay(since) for row in change.change.rows]


def flat(lists: Iterable[list[int]]) -> list[int]:
    return [number for numbers in lists for number in numbers]


def crash_everywhere(
    script: Script,
    *,
    seeds: int = 2,
    second: int = 0,
    seed: int = 0,
    stride: int = 1,
    ahead: int | None = None,
    **options: Any,
) -> int:
    """A workload, crashed before each (or every `stride`th) of its calls in every way; how many recoveries there were.

    `second`: how many of the crashes are followed by crashes at every call of recovery. `ahead`: as `Recorder` has it.
    """
    recorder = Recorder(ahead=ahead, **options)
    script(recorder)
    rng = random.Random(seed)
    recovery = Recovery(recorder.commits, options)
    moments = recorder.moments[rng.randrange(stride) :: stride]
    chosen = set(rng.sample(range(len(moments)), min(second, len(moments))))
    for number, moment in enumerate(moments):
        for crash in crashes(moment, [rng.randrange(2**32) for _ in range(seeds)]):
            try:
                twice = number in chosen
                inner = recovery.check(crash, again=number % 7 == 0, onwards=number % 5 == 0, watched=twice)
                if twice:
                    for inside in inner:
                        for other in crashes(inside, [rng.randrange(2**32)]):
                            recovery.check(other)
            except Exception as error:
                raise Violation(f"crash before {moment.call}, {crash.loss}: {error}") from error
    return recovery.runs
