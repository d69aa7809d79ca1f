"""Any interleaving of a log's operations against a plain model: lists of numbers.

hypothesis chooses the steps: appends, transactions with savepoints, roll-overs by size, syncs, closing and opening,
crashes with any loss, a reader that cleans, a service that discards. After every sync and every crash both the reader
and the log's own replay must give what the model has.
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.helpers.amount import examples
from tests.writer.crash.crashes import Follower, flat, raw_files, replayed
from tests.writer.crash.disk import Disk, Pick, everything_kept, nothing_kept, some_kept
from tests.writer.crash.files import FakeFiles
from tests.writer.crash.reader import read_folder
from tests.writer.crash.session import FOLDER, RAW, Session, open_log
from tests.writer.crash.tables import A2, CODED, PLAIN, A, AnyTable, B
from tests.writer.tailing import tailed_disk

TABLE = st.sampled_from((A, B, A2, PLAIN, CODED))
ROWS = st.sampled_from((1, 1, 2, 5))
SIZE = st.sampled_from((40, 40, 400, 1500))
NAME = st.sampled_from("pqrs")
SAVEPOINT = st.sampled_from("xy")


class LogMachine(RuleBasedStateMachine):
    """The log on the disk in memory; `run.commits` is the model."""

    def __init__(self) -> None:
        super().__init__()
        disk = Disk()
        disk.make_folders(FOLDER)
        self.machine = 0
        self.cleaned = False
        self.follower = Follower()
        self.files = FakeFiles(disk)
        self.run = Session(self._open)

    def _open(self) -> object:
        return open_log(self.files, boot_id=lambda: f"run {self.machine}")

    @rule(table=TABLE, rows=ROWS, size=SIZE)
    def append(self, table: AnyTable, rows: int, size: int) -> None:
        self.run.append(table, rows, size if rows == 1 else 40)

    @rule(tables=st.lists(TABLE, max_size=8), size=SIZE)
    def append_many(self, tables: list[AnyTable], size: int) -> None:
        self.run.append_many(tables, size)

    @rule(name=NAME)
    def begin(self, name: str) -> None:
        if name not in self.run.transactions:
            self.run.begin(name)

    @rule(name=NAME, table=TABLE, rows=ROWS, size=SIZE)
    def change(self, name: str, table: AnyTable, rows: int, size: int) -> None:
        if name in self.run.transactions:
            self.run.change(name, table, rows, size if rows == 1 else 40)

    @rule(name=NAME, savepoint=SAVEPOINT)
    def save(self, name: str, savepoint: str) -> None:
        if name in self.run.transactions:
            self.run.save(name, savepoint)

    @rule(name=NAME, savepoint=SAVEPOINT)
    def back(self, name: str, savepoint: str) -> None:
        if name in self.run.transactions and savepoint in self.run.transactions[name].saved:
            self.run.back(name, savepoint)

    @rule(name=NAME)
    def commit(self, name: str) -> None:
        if name in self.run.transactions:
            self.run.commit(name)

    @rule(name=NAME)
    def roll_back(self, name: str) -> None:
        if name in self.run.transactions:
            self.run.rollback(name)

    @rule()
    def sync(self) -> None:
        self.run.sync()
        assert self.run.acknowledged == len(self.run.commits)
        self.holds()

    @rule()
    def discard(self) -> None:
        self.run.discard()
        self.holds()

    @rule()
    @precondition(lambda self: self.follower.sidecars)
    def clean(self) -> None:
        """A reader deletes every segment below the one it stands in that no open transaction needs."""
        newest = self.follower.sidecars[max(self.follower.sidecars)]
        reader = FakeFiles(self.files.disk)
        for name in sorted(name for name in raw_files(self.files.disk) if name.startswith("CommitLog-")):
            segment = int(name.split("-")[2].partition("_")[0].removesuffix(".log"))
            if segment < newest.restart.segment and segment in self.follower.sidecars:
                reader.unlink(RAW / name)
                self.cleaned = True

    @rule()
    def close(self) -> None:
        self.run.close()
        self.reopened(len(self.run.commits))

    @rule()
    def kill(self) -> None:
        self.crashed(self.files.disk.snapshot(), strict=True)

    @rule(pick=st.one_of(st.just(nothing_kept), st.just(everything_kept), st.integers(0, 2**32).map(some_kept)))
    def power_loss(self, pick: Pick) -> None:
        self.machine += 1
        self.crashed(self.files.disk.after_power_loss(pick), strict=False)

    def crashed(self, disk: Disk, *, strict: bool) -> None:
        acknowledged = self.run.acknowledged
        self.files = FakeFiles(disk)
        self.follower = self.follower.look(disk, strict=strict)
        self.reopened(acknowledged)

    def reopened(self, acknowledged: int) -> None:
        """The model keeps as many commits as the log has: all that were acknowledged, and a beginning of the rest."""
        old = self.run
        new = Session(self._open, old.commits)
        new.discarded, new.discarded_at = old.discarded, old.discarded_at
        self.follower = self.follower.look(self.files.disk, strict=True)
        delivered = [row.number for row in self.follower.delivered]
        found = replayed(new.log, new.discarded_at)
        kept = [
            count
            for count in range(acknowledged, len(old.commits) + 1)
            if flat(commit.rows for commit in old.commits[old.discarded : count]) == found
            and flat(commit.cdc for commit in old.commits[:count]) == delivered
        ]
        assert kept, (acknowledged, [commit.rows for commit in old.commits], old.discarded, found, delivered)
        new.commits = old.commits[: kept[-1]]
        self.run = new
        for commit in new.commits:
            commit.ticket = Kept()
        assert self.follower.unfinished == ()

    def holds(self) -> None:
        """Everything is synced: reader and replay have all of it."""
        self.follower = self.follower.look(self.files.disk, strict=True)
        assert [row.number for row in self.follower.delivered] == flat(commit.cdc for commit in self.run.commits)
        rows = flat(commit.rows for commit in self.run.commits[self.run.discarded :])
        assert replayed(self.run.log, self.run.discarded_at) == rows

    def teardown(self) -> None:
        """The real reader gives what the model's reader gives."""
        self.run.sync()
        self.holds()
        if not self.cleaned:
            # A reader without a position of its own does not know what another one has cleaned.
            assert tailed_disk(self.files.disk) == read_folder(raw_files(self.files.disk)).rows


class Kept:
    """The ticket of what survived a crash."""

    done = True


TestLog = LogMachine.TestCase
TestLog.settings = settings(stateful_step_count=40, max_examples=examples(50))
