"""Workloads: the steps of a session that the crash tests crash, scripted and random."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator
from contextlib import suppress

from tailer.errors import RefusedError, SystemFailedError
from tests.writer.crash.crashes import Recorder
from tests.writer.crash.files import Fault
from tests.writer.crash.tables import A2, CODED, PLAIN, A, B

Script = Callable[[Recorder], None]


def rows_only(run: Recorder) -> None:
    """Rows of tables with and without cdc, over roll-overs, each synced or not."""
    for number in range(8):
        run.append(A, size=200)
        run.append(PLAIN, 2)
        if number % 3 != 2:
            run.sync()
        run.append(B, 2, size=480)
    run.sync()


def many_at_once(run: Recorder) -> None:
    """Runs of rows, of a table that a class declares and of others, over roll-overs, each synced or not."""
    for number in range(5):
        run.append_many([CODED] * 6 + [PLAIN, A, CODED], size=160)
        if number % 2:
            run.sync()
        run.append(CODED, 2, size=480)
        run.append_many([PLAIN, CODED], size=40)
    run.begin("one")
    run.change("one", CODED, 2)
    run.append_many([CODED, A], size=800)
    run.commit("one")
    run.sync()


def plain_only(run: Recorder) -> None:
    """No table has cdc until the last rows."""
    for _ in range(6):
        run.append(PLAIN, 2, size=600)
        run.sync()
    run.append(A)
    run.append(PLAIN)
    run.sync()
    run.append(PLAIN, 2, size=600)


def transactions(run: Recorder) -> None:
    """Many open at once, over roll-overs, with savepoints; some never end."""
    run.begin("one")
    run.change("one", PLAIN)
    run.begin("two")
    run.change("two", A, 2)
    run.save("two", "s")
    run.append(A, size=900)
    run.change("two", B, 2)
    run.sync()
    run.change("one", A, size=1500)
    run.back("two", "s")
    run.begin("never")
    run.change("never", A, size=1200)
    run.append(PLAIN, size=1500)
    run.change("two", A)
    run.sync()
    run.commit("two")
    run.sync()
    run.append(B, size=1000)
    run.commit("one")
    run.begin("gone")
    run.change("gone", B, size=1000)
    run.sync()
    run.append(A, size=1400)
    run.rollback("gone")
    run.append(PLAIN, size=1500)
    run.sync()


def discards(run: Recorder) -> None:
    """The service's store goes on, and what it needs no more is deleted."""
    run.begin("long")
    run.change("long", A)
    for number in range(5):
        run.append(A, size=900)
        run.append(PLAIN, size=900)
        run.sync()
        run.append(PLAIN, 2, size=700)
        run.discard()
        if number == 2:
            run.commit("long")
    run.append(A)
    run.sync()
    run.discard()
    # A transaction that was open at the position and is not any more: replay from there still needs its changes.
    run.begin("over")
    run.change("over", PLAIN)
    run.append(PLAIN, size=1800)
    run.append(PLAIN, size=1800)
    run.note()
    run.commit("over")
    run.append(PLAIN, size=1800)
    run.append(PLAIN, size=1800)
    run.sync()
    run.forget()
    run.sync()


def cleaned(run: Recorder) -> None:
    """A reader deletes what it has read while the log goes on."""
    run.begin("one")
    for number in range(5):
        run.append(A, size=1500)
        run.change("one" if number < 3 else "two", A)
        run.append(PLAIN, size=1000)
        run.sync()
        run.clean()
        if number == 2:
            run.commit("one")
            run.begin("two")
    run.discard()
    run.commit("two")
    run.sync()
    run.clean()


def changed_table(run: Recorder) -> None:
    """A definition changes, and changes back, within a segment and over a roll-over."""
    for table in (A, A2, A, PLAIN, A2):
        run.append(table, size=300)
        run.append(table, size=300)
        run.sync()
        run.append(B, size=700)


def closed(run: Recorder) -> None:
    """A log that is closed as it should be."""
    run.append(A)
    run.begin("open")
    run.change("open", A)
    run.append(PLAIN, size=1500)
    run.append(A, size=1800)
    run.append(A, size=1800)
    run.close()


def nothing(run: Recorder) -> None:
    """Opened and closed, not a record written."""
    run.close()


def random_script(seed: int, *, steps: int = 40, tidy: bool = True) -> Script:
    """Steps in any order that makes sense. `tidy`: service and reader delete what they need no more."""

    def script(run: Recorder) -> None:
        rng = random.Random(seed)
        names = iter(f"t{number}" for number in range(100))
        for _ in range(steps):
            step(run, rng, names, tidy=tidy)
        run.sync()

    return script


def step(run: Recorder, rng: random.Random, names: Iterator[str], *, tidy: bool) -> None:
    table = rng.choice((A, A2, B, PLAIN, CODED))
    rows, size = rng.choice((1, 1, 2)), rng.choice((40, 40, 400, 800))
    name = rng.choice(list(run.transactions) or [""])
    kind = rng.choice(("append", "append", "sync", "sync", "begin", "change", "change", "end", "save", "back", "tidy"))
    if kind == "append":
        run.append(table, rows, size)
    elif kind == "sync":
        run.sync()
    elif kind == "begin":
        run.begin(next(names))
    elif kind == "tidy":
        if tidy:
            rng.choice((run.clean, run.discard))()
    elif name and kind == "change":
        run.change(name, table, rows, size)
    elif name and kind == "end":
        rng.choice((run.commit, run.commit, run.rollback))(name)
    elif name and kind == "save":
        run.save(name, rng.choice("xyz"))
    elif name and kind == "back" and (saved := run.transactions[name].saved):
        run.back(name, rng.choice(list(saved)))


def dropped(run: Recorder) -> None:
    """With a cap that drops the oldest: transactions that lose changes before their commit, and behind it."""
    for number in range(4):
        lost = f"lost {number}"
        run.begin(lost)
        run.change(lost, A)
        for _ in range(2):
            run.append(B, size=1500)
            run.append(PLAIN, size=1500)
            run.sync()
        if number % 2:
            run.append(A, size=1500)
            run.sync()
        try:
            run.commit(lost)
        except RefusedError:
            run.sync()
        run.discard()


def refused(run: Recorder) -> None:
    """With a cap that blocks: changes of cdc tables are refused until the reader has cleaned, others go on."""
    for _ in range(8):
        try:
            run.append(A, size=1500)
        except RefusedError:
            run.append(PLAIN, size=1500)
            run.sync()
            run.clean()
            run.clock.now += 2
        run.sync()


def failed(run: Recorder) -> None:
    """An fsync fails in the second segment, with rows of both kinds in the cache; the log is dead, and closed."""
    fail(run)


def failed_and_full(run: Recorder) -> None:
    """The same on a full disk, so that nothing tells recovery that the cache may show what is not on the disk."""
    run.files.faults.append(Fault("open", errno.ENOSPC, ending="FAILED.tmp", times=100))
    fail(run)


def fail(run: Recorder) -> None:
    run.append(PLAIN, 2, size=800)
    run.append(A, size=1800)
    run.append(B, size=1800)
    run.sync()
    run.append(PLAIN, size=400)
    run.sync()
    run.files.faults.append(Fault("fdatasync", errno.EIO, ending=".log"))
    run.append(A, size=400)
    run.append(PLAIN)
    with suppress(SystemFailedError):
        run.sync()
    run.close()


SCRIPTS = [
    rows_only,
    many_at_once,
    plain_only,
    transactions,
    discards,
    cleaned,
    changed_table,
    closed,
    failed,
    failed_and_full,
    nothing,
]
