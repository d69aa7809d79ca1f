"""A small service that is made to be killed: two threads write, a line on standard output acknowledges each commit.

`python -m tests.writer.service FOLDER`. Numbers go up in each thread and begin anew where the log's replay ended, so
what is lost, repeated or out of order shows. When it starts it notes its numbers in its store and lets the log discard.
Lines: `replayed N…`, then `ready`, then `N…`, the numbers of one commit.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import msgspec

from tailer.position import Position
from writer_hooks import SegmentLog, Table, batch


class Row(msgspec.Struct):
    """A row of each table."""

    id: int
    value: bytes


ROWS = Table.of(Row, "ks.rows", key=["id"])
GROUPS = Table.of(Row, "ks.groups", key=["id"])
UNSEEN = Table.of(Row, "ks.unseen", key=["id"], cdc=False)
SECOND_THREAD = 1_000_000_000
SEGMENT_BYTES = 1 << 16
NOTE_EVERY = 150


class Store:
    """The service's own: the highest number of each thread, and the position up to which the log may be forgotten."""

    def __init__(self, path: Path) -> None:
        self.path = path
        words = path.read_text().split() if path.exists() else ["0", "0", "0:0"]
        self.numbers = [int(words[0]), int(words[1])]
        position = Position.parse(words[2])
        assert position is not None
        self.position = position

    def save(self) -> None:
        temporary = self.path.with_suffix(".new")
        with temporary.open("w") as file:
            file.write(f"{self.numbers[0]} {self.numbers[1]} {self.position}")
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(self.path)


def tell(*words: object) -> None:
    """One write, so that lines of two threads do not mix."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def replay(log: SegmentLog, store: Store) -> None:
    """What the log holds beyond the store goes into it, and is told."""
    numbers = []
    for found in log.replay(store.position):
        numbers += [int.from_bytes(row.partition_key[0], "big") for row in found.change.rows]
    tell("replayed", *numbers)
    store.numbers[0] = max([store.numbers[0], *(number for number in numbers if number < SECOND_THREAD)])
    second = [number - SECOND_THREAD for number in numbers if number > SECOND_THREAD]
    store.numbers[1] = max([store.numbers[1], *second])
    store.position = log.end
    store.save()
    log.discard_before(store.position)
    tell("ready")


def write_rows(log: SegmentLog, number: int) -> None:
    """Commits of a row, now and then of a table that no reader sees; the log may forget what is in the store."""
    while True:
        number += 1
        table = UNSEEN if number % 10 == 0 else ROWS
        log.append(table.insert(Row(number, b"v" * (number * 37 % 2000)))).wait()
        tell(number)


def write_groups(log: SegmentLog, number: int) -> None:
    """Transactions of three rows, some rolled back whole or to a savepoint; another is open all the time."""
    never = log.begin()
    while True:
        never.append(GROUPS.insert(Row(0, b"never")))
        with_rows = log.begin()
        rows = [SECOND_THREAD + number + index for index in (1, 2, 3)]
        with_rows.append(GROUPS.insert(Row(rows[0], b"v" * 500)))
        with_rows.savepoint("s")
        with_rows.append(GROUPS.insert(Row(0, b"void")))
        with_rows.rollback_to("s")
        for row in rows[1:]:
            with_rows.append(GROUPS.insert(Row(row, b"v")))
        if number % 5 == 4:
            gone = log.begin()
            gone.append(GROUPS.insert(Row(0, b"gone")))
            gone.rollback()
        with_rows.commit().wait()
        number += 3
        tell(*rows)
        if number % NOTE_EVERY == 0:
            never.rollback()
            never = log.begin()


def main(folder: Path) -> None:
    store = Store(folder / "store")
    log = SegmentLog.open(folder, tables=[ROWS, GROUPS, UNSEEN], sync=batch(), segment_bytes=SEGMENT_BYTES)
    replay(log, store)
    threading.Thread(target=write_groups, args=(log, store.numbers[1]), daemon=True).start()
    write_rows(log, store.numbers[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
