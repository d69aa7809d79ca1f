"""A Spark query that begins with a snapshot of a full table, is killed all the while, and goes on: its driver and its
Python processes, and the server, which others write to. No finished range is read again, what comes again is what was
spooled, and what it knows whole is what SELECT shows.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tailer.rebuild.changes import SNAPSHOT, SNAPSHOT_RANGE
from tailer.retention.clean import clean
from tailer.schema.ring import TOKEN_MAX, TOKEN_MIN
from tailer.snapshot.progress import Snapshot
from tailer.snapshot.served_range import range_of_change
from tests.helpers.jvm.program import running
from tests.server.cluster.cleaning import AGES
from tests.server.cluster.workload import refusals
from tests.server.harness import Node
from tests.server.killed_query import WAYS, KilledQuery, Row, once_each
from tests.server.test_snapshot import CKS, KEYSPACE, QUICK, REST_SECONDS, Writer, fill, selected, written
from tests.server.test_snapshot_spark import WHOLE, compared, few

pytestmark = [pytest.mark.server, pytest.mark.spark, pytest.mark.slow, pytest.mark.soak]

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
KEYS = 300 * KILLS
ROWS_A_SECOND = KEYS * CKS // (8 * KILLS)
"""So many that it is not read before the last kill."""
PARALLEL = 2


class Unanswered:
    """A session whose server may be away."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def execute(self, statement: str) -> None:
        try:
            self._session.execute(statement)
        except refusals():
            # Whether it was written, SELECT tells.
            time.sleep(0.2)


class Scans:
    """How many pages of ranges its server has read, over all its lives."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._before = 0

    def now(self) -> int:
        asked = f"SELECT count FROM system_views.coordinator_scan_latency WHERE keyspace_name = '{KEYSPACE}'"
        with self._node.session() as session:
            return self._before + sum(count for (count,) in session.execute(asked))

    def keep(self) -> None:
        """Its server is about to be killed."""
        self._before = self.now()


@pytest.fixture
def full(server_here: None, tmp_path: Path) -> Iterator[Node]:
    """What is written in batches is durable before anybody reads it: killed, the server has no less than it showed."""
    folder = tmp_path / "cassandra"
    folder.mkdir()
    settings = {"commitlog_sync": "batch", "commitlog_sync_period": None}
    with running(Node(folder, settings, heap="512m", options=[QUICK])) as node:
        fill(node, 500)
        with node.session() as session:
            insert = session.prepare(f"INSERT INTO {KEYSPACE}.plain (a, b, ck, v, w) VALUES (?, 'p', ?, ?, ?)")
            for key in range(KEYS):
                sent = [session.execute_async(insert, (key, ck, key, f"w{key}")) for ck in range(CKS)]
                for each in sent:
                    each.result()
            # Older than the floor, and gone before anybody looks.
            for key in range(0, KEYS, 100):
                session.execute(f"DELETE FROM {KEYSPACE}.plain WHERE a = {key} AND b = 'p'")
        node.recycle()
        yield node


def test_killed_again_and_again(full: Node, tmp_path: Path) -> None:
    started, scans, stood = time.monotonic(), Scans(full), list[int]()
    tables = ",".join(f"{KEYSPACE}.{table}" for table in WHOLE)
    asked = {"tables": tables, "snapshotSettle": "2", "rowsPerSecond": str(ROWS_A_SECOND), "parallel": str(PARALLEL)}
    query = KilledQuery(full, tmp_path, random.Random(KILLS), **asked)
    try:
        with full.session() as session, written(Writer(Unanswered(session), 2, KEYS), 0.05):
            for way in islice(cycle(WAYS), KILLS):
                query.kill(way, scans.keep)
                assert not all(each.ended for each in query.seen[-1].values()), "it is under way"
                stood.append(query.position())
            query.run_until(query.is_taken, "all of it is committed", REST_SECONDS + 10 * KILLS)
        pages, last = scans.now(), query.snapshots()
        check_images(full, query)
        check_let_go(full, query, stood[0])
    finally:
        query.end()
    rows, again = once_each(query.attempts())
    told = check_ranges(rows, last)
    check_done(query.seen, last)
    spooled = check_spooled(rows, query.pieces())
    once = check_pages(pages, told)
    repeated = {event for _, event in again if event.startswith("snapshot:")}
    assert repeated, "nothing of the snapshot came again"
    ways = ", ".join(f"{way} {often}" for way, often in sorted(query.done.items()))
    sys.stdout.write(
        f"\n{KILLS} kills ({ways}); {sum(each.rows for each in last.values())} rows in {query.spool().known.last} "
        f"pieces, {pages} pages read where {once} are enough; {len({batch for batch, _ in again})} micro-batches came "
        f"again, with {len(repeated)} rows of the snapshot; {spooled} rows waited while something was killed; "
        f"{time.monotonic() - started:.0f} s\n"
    )


def check_images(full: Node, query: KilledQuery) -> None:
    """What is known whole is what SELECT shows; what comes again is the same."""
    full.sync()
    deadline = time.monotonic() + REST_SECONDS
    with full.session() as session:
        while True:
            query.run()
            found = compared(query.images(), partial(selected, session))
            if not found.differing or time.monotonic() > deadline:
                break
            time.sleep(3)
    assert found.differing == {}, query.said()
    assert few(found)


def check_let_go(full: Node, query: KilledQuery, stood: int) -> None:
    """Behind the snapshot segments go that were held, and nothing waits in the spool. `stood`: where the query did."""
    before = query.position()
    full.recycle()
    with full.session() as session:
        session.execute(f"INSERT INTO {KEYSPACE}.bare (id, ck) VALUES (1, 1)")
    full.sync()
    query.run_until(lambda: query.position() > before, "it has read on")
    assert query.spool().known.sizes == ()
    assert [*query.spool().folder.glob("piece-*")] == []
    query.end()
    time.sleep(AGES.captured + 1)
    held = segments(full)
    assert stood in held
    gone = {each.segment for each in clean(full.cdc_raw, ages=AGES).logs}
    assert segments(full) == held - gone == {each for each in held if each >= query.position()}


def segments(node: Node) -> set[int]:
    return {int(log.stem.split("-")[2]) for log in node.cdc_raw.glob("*.log")}


def check_ranges(rows: Mapping[str, Row], last: Mapping[str, Snapshot]) -> dict[str, Counter[int]]:
    """The ranges of each table cover the ring, none of it twice, and each row is of one. By table, how many rows each
    of the ranges that were planned has."""
    told: dict[str, Counter[int]] = {}
    for id, snapshot in last.items():
        mine = [row for row in rows.values() if row["op"].startswith(SNAPSHOT) and row["table_id"] == str(UUID(id))]
        numbers = [event_of(row, snapshot) for row in mine]
        # None was given twice, and none is missing.
        assert sorted(number for _, number in numbers) == list(range(snapshot.images))
        pieces = [(range_of_change(row), event_of(row, snapshot)) for row in mine if row["op"] == SNAPSHOT_RANGE]
        assert all(plan_of(piece.high, snapshot) == range_ for piece, (range_, _) in pieces)
        ranges = sorted((piece.low, piece.high) for piece, _ in pieces)
        assert (ranges[0][0], ranges[-1][1]) == (TOKEN_MIN, TOKEN_MAX)
        assert all(before[1] == after[0] for before, after in pairwise(ranges))
        read = [row for row in mine if row["op"] == SNAPSHOT]
        keys = {(row["partition_key"], row["clustering"], row["is_static"]) for row in read}
        assert len(keys) == len(read)
        assert all(plan_of(row["token"], snapshot) == event_of(row, snapshot)[0] for row in read)
        told[snapshot.table] = Counter(range_ for range_, _ in numbers)
    return told


def check_done(seen: Sequence[Mapping[str, Snapshot]], last: Mapping[str, Snapshot]) -> None:
    """What was read once is never to be read again."""
    for before, after in pairwise([*seen, last]):
        for id, then in before.items():
            now = after[id]
            assert (now.id, now.plan) == (then.id, then.plan)
            assert (then.rows, then.images) <= (now.rows, now.images)
            assert all(any(low <= part[0] and part[1] <= high for low, high in now.done) for part in then.done)
    assert all(each.ended and each.done == [(TOKEN_MIN, TOKEN_MAX)] for each in last.values())


def check_spooled(rows: Mapping[str, Row], pieces: Sequence[Row]) -> int:
    """Rows came as they stood in the spool when something was killed; how many stood there."""
    assert pieces
    for row in pieces:
        came = rows[row["event_id"]]
        assert {name: came[name] for name in row} == row
    return len({row["event_id"] for row in pieces})


def check_pages(pages: int, told: Mapping[str, Counter[int]]) -> int:
    """The server has read little more than what it takes to read each range once: of one that was begun and not
    finished the beginning. How much that is."""
    page = max(1, ROWS_A_SECOND // 4)
    of_range = [rows // page + 1 for ranges in told.values() for rows in ranges.values()]
    # Each reader of the two has one at hand, behind each kill; a server that is away is asked again.
    assert pages <= sum(of_range) + PARALLEL * (KILLS + 1) * max(of_range)
    return sum(of_range)


def event_of(row: Row, snapshot: Snapshot) -> tuple[int, int]:
    """The number of its range in the plan, and its own."""
    word, id, range_, number = row["event_id"].split(":")
    assert (word, id) == ("snapshot", snapshot.id)
    return int(range_), int(number)


def plan_of(token: int, snapshot: Snapshot) -> int:
    """The number of the range in the plan that a token is of."""
    (found,) = [number for number, (low, high) in enumerate(snapshot.plan) if low < token <= high]
    return found
