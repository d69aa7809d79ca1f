"""A history on real nodes, with its consumers beside it. What is right of what they gave, `checks.py` says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.server.cluster.cluster import at_level
from tests.server.migrations import server_view
from tests.server.migrations.consumers import Consumer, End, Source, Targets, Typed, made, spark_rows, typed_rows
from tests.server.migrations.history import Step
from tests.server.migrations.ledger import Accepted, Ledger
from tests.server.migrations.places import Place
from tests.server.migrations.server_view import ServerTable
from tests.server.migrations.writes import SHORT_TTL, Statement

RESTARTED_EVERY = 12
CATCH_UP_SECONDS = 1.0
LONGEST_PAUSE = 0.3
AT_ONCE = 3
AGREED_SECONDS = 60.0
NO_DEFINITION = 3
"""The exit code."""
DATABASES = ("sqlite", "postgresql", "duckdb")

_LATER = re.compile(r"@\+(\d+)@")
_STAMP = re.compile(r"USING TIMESTAMP (\d+)")


@dataclass
class Ran:
    """All that came of a history."""

    ledger: Ledger
    consumers: list[Consumer]
    tables: dict[str, ServerTable] = field(default_factory=dict)
    """Of the tables that capture at the end."""
    segments: set[int] = field(default_factory=set)
    """That are left for consumers, of the node that took the statements."""
    not_captured: set[str] = field(default_factory=set)
    typed: dict[str, Typed] = field(default_factory=dict)
    spark: list[dict[str, Any]] = field(default_factory=list)
    """By table and way its rows at the end, or an error, also of a run in the middle."""
    remedied: list[End] = field(default_factory=list)
    """Ends of consumers without a server, for which the remedy was given that the error names."""
    disturbed: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def consumer(self, kind: str, life: str) -> Consumer:
        return next(one for one in self.consumers if (one.kind, one.life) == (kind, life))

    @property
    def ends(self) -> list[End]:
        return [end for consumer in self.consumers for end in consumer.ends]


class Runner:
    """`source`: what consumers read. `say`: told what happens."""

    def __init__(
        self,
        place: Place,
        source: Source,
        targets: Targets,
        work: Path,
        say: Callable[[str], None],
        *,
        spark: bool = False,
    ) -> None:
        self._place, self._say = place, say
        kinds = ("rows", "images", *(kind for kind in DATABASES if kind != "postgresql" or targets.postgresql))

        def of(life: str, *kinds: str) -> list[Consumer]:
            short = {"caught-up": "live", "lagging": "lag", "restarted": "re", "snapshot": "snap"}[life]
            return [made(f"{kind}_{short}", kind, life, source, targets, work) for kind in kinds]

        self._live = of("caught-up", *kinds)
        self._restarted = of("restarted", "rows", "images", "sqlite")
        self._snapshot = of("snapshot", "images", "sqlite") if source.servers else []
        self._lagging = of("lagging", *kinds)
        self._source, self._work = source, work
        self._started: list[Consumer] = []
        self._ledger = Ledger()
        self.ran = Ran(self._ledger, [*self._live, *self._restarted, *self._snapshot, *self._lagging])
        self._stamp = 0
        self._spark = spark

    def run(self, steps: Sequence[Step], seed: int) -> Ran:
        rng = Random(f"run {seed}")
        began = time.monotonic()
        with ExitStack() as stack:
            stack.callback(self._kill)
            session = stack.enter_context(self._place.session())
            session.cluster.timestamp_generator = lambda: self._stamp
            self._start(self._live)
            for at, step in enumerate(steps):
                self._take(session, step, rng)
                if at % RESTARTED_EVERY == RESTARTED_EVERY - 1:
                    self._once(session, self._restarted, step.number)
                if at == len(steps) // 2:
                    self._begin_snapshots()
                    self._merge_in_spark(session, "merge", step.number)
            self.ran.seconds["steps"] = time.monotonic() - began
            self._finish(session, steps[-1].number)
        self.ran.seconds["all"] = time.monotonic() - began
        return self.ran

    # --- steps ---

    def _take(self, session: Any, step: Step, rng: Random) -> None:
        done = self._place.disturb(rng, step.title)
        if done:
            self.ran.disturbed.append(f"step {step.number}: {done}")
        for statement in step.statements:
            self._execute(session, statement, step.number)
        time.sleep(rng.uniform(0, LONGEST_PAUSE))
        for consumer in self._started:
            end = consumer.look_after(step.number)
            if end is not None:
                self._say(f"step {step.number}: {end.consumer} ended with {end.code}: {end.text[-300:]}")
                self._remedy(session, consumer, end)
                if not consumer.given_up:
                    consumer.start()

    def _execute(self, session: Any, statement: Statement, step: int) -> None:
        from cassandra import (
            AlreadyExists,
            InvalidRequest,
            OperationTimedOut,
            RequestExecutionException,
            Unavailable,
        )
        from cassandra.cluster import NoHostAvailable
        from cassandra.protocol import ConfigurationException, SyntaxException

        self._stamp = max(self._stamp + 1, time.time_ns() // 1000)
        first = self._stamp
        text = _LATER.sub(lambda found: str(first + int(found[1])), statement.text)
        drops = text.startswith(("DROP TABLE", "DROP KEYSPACE"))
        segment = self._place.written() if drops else 0
        level = "QUORUM" if self._place.replication > 1 else "ONE"
        try:
            result = session.execute(at_level(text, level))
        except AlreadyExists:
            # The driver has sent it twice: its first request was executed, and not answered in time.
            result = None
        except (InvalidRequest, SyntaxException, ConfigurationException) as refused:
            self._ledger.refused.append((step, text, str(refused)[:200]))
            return
        except (OperationTimedOut, RequestExecutionException, Unavailable, NoHostAvailable) as failed:
            self._ledger.failed.append((step, text, str(failed)[:200]))
            return
        applied = result.was_applied if result is not None and " IF " in text and statement.targets else True
        last = time.time_ns() // 1000 if statement.server_time else first
        if given := _STAMP.search(text):
            first = last = int(given[1])
        segments = frozenset(range(segment, self._place.written() + 1)) if drops else frozenset()
        self._ledger.accept(statement, Accepted(step, text, first, last, segments), applied)
        if text.startswith("CREATE TABLE"):
            name = text.split()[2]
            self._ledger.lives[name].id = server_view.tables_of(session)[name][0]

    # --- the end ---

    def _finish(self, session: Any, step: int) -> None:
        self._place.settle()
        time.sleep(SHORT_TTL[1] + 1)
        if self._place.replication > 1:
            # What is repaired is in all logs before a consumer reads them for the last time.
            for name in server_view.tables_of(session):
                server_view.finish(session, name)
                _at_all(session, f"SELECT JSON * FROM {name}")
        self._place.settle()
        time.sleep(CATCH_UP_SECONDS)
        for consumer in self._started:
            end = consumer.stop(step)
            if end is not None:
                self._remedy(session, consumer, end)
        self._once(session, [*self._started, *self._restarted, *self._lagging], step)
        for name, (id_, captures) in server_view.tables_of(session).items():
            if not captures:
                self.ran.not_captured.add(name)
            elif name in self._ledger.lives:
                self.ran.tables[name] = server_view.read(session, name, id_, lambda cql: _at_all(session, cql))
        self.ran.segments = self._place.kept()
        self._merge_in_spark(session, "all", step)
        for name in sorted(self.ran.tables)[:2]:
            self.ran.typed[name] = typed_rows(self._source, name)

    def _begin_snapshots(self) -> None:
        """All nodes are up until it has begun: of one that is away nobody knows where its log would begin, and a first
        start with `--from` ends with that."""
        if self._snapshot:
            self._place.settle()
        self._start(self._snapshot)
        for consumer in self._snapshot:
            consumer.await_begun(self._source.states)

    def _start(self, consumers: Sequence[Consumer]) -> None:
        for consumer in consumers:
            consumer.start()
            self._started.append(consumer)

    def _once(self, session: Any, consumers: Sequence[Consumer], step: int) -> None:
        """Some at once: they share the node's state folder, as any consumers do."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ends = list(pool.map(lambda one: None if one.given_up else one.once(step), consumers))
        for consumer, end in zip(consumers, ends, strict=True):
            if end is not None:
                self._say(f"step {step}: {end.consumer} --once ended with {end.code}: {end.text[-300:]}")
                if self._remedy(session, consumer, end):
                    consumer.once(step)

    def _remedy(self, session: Any, consumer: Consumer, end: End) -> bool:
        """Without a server a definition may be in no log that is there: then `--schema` is what the error names."""
        if self._source.servers or end.code != NO_DEFINITION or consumer.given_up:
            return False
        consumer.ends.remove(end)
        self.ran.remedied.append(end)
        schema = self._work / f"{consumer.name}.{len(self.ran.remedied)}.cql"
        rows = session.execute("DESCRIBE FULL SCHEMA WITH INTERNALS")
        schema.write_text("\n".join(row.create_statement for row in rows))
        consumer.more = ["--schema", str(schema)]
        return True

    def _merge_in_spark(self, session: Any, what: str, step: int) -> None:
        """`merge` or `all` of the captured tables that are there now."""
        if not self._spark:
            return
        self._place.settle()
        tables = [name for name, (_, captures) in server_view.tables_of(session).items() if captures]
        found = spark_rows(
            self._source, self._live[1], self._work, what, [name for name in tables if name in self._ledger.lives]
        )
        self.ran.spark += [{**each, "step": step} for each in found if what == "all" or "error" in each]

    def _kill(self) -> None:
        for consumer in self._started:
            consumer.kill()


def _at_all(session: Any, cql: str) -> list[str]:
    """A node that came back may lack a column for some seconds, and fail the read."""
    from cassandra import OperationTimedOut, RequestExecutionException

    deadline = time.monotonic() + AGREED_SECONDS
    while True:
        try:
            return [row[0] for row in session.execute(at_level(cql, "ALL"), timeout=60)]
        except (OperationTimedOut, RequestExecutionException):
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
