"""One run: a cluster that is written to, altered and broken while consumers follow it, and what is recorded of it."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from tests.helpers.again import again
from tests.helpers.postgres import PASSWORD, Postgres
from tests.server.cluster.cluster import Cluster
from tests.server.cluster.hour.compare import compared, folded, kept, selected
from tests.server.cluster.hour.consumers import Consumers
from tests.server.cluster.hour.ddl import SchemaChanges
from tests.server.cluster.hour.faults import Kills, Outages, Pace, Rests
from tests.server.cluster.hour.recording import (
    Definition,
    record_definitions,
    record_postgresql,
    record_select,
    record_sqlite,
)
from tests.server.cluster.hour.report import fold_of
from tests.server.cluster.hour.statements import LONGEST_TTL, SchemaState
from tests.server.cluster.hour.tables import KINDS, create_all
from tests.server.cluster.hour.workload import Ledger, Workload

SETTINGS = {
    "cdc_on_repair_enabled": False,
    "commitlog_segment_size": "4MiB",
    "commitlog_sync_period": "200ms",
    "cdc_total_space": "32GiB",
}
LEDGER = "ledger.jsonl"
LOOK_SECONDS = 0.5
EXPIRED_SECONDS = 10.0
CATCH_UP_SECONDS = 900.0
LOOK_AGAIN_SECONDS = 15.0
STEADY_LOOKS = 6
"""So many comparisons with the same difference: nothing is on its way any more."""

FIRST_OUTAGE, SECOND_OUTAGE = 0.15, 0.55
"""When the nodes go down, as parts of the run."""


class Hour:
    """A run in a folder of its own. `minutes`: with faults; filling and catching up come on top."""

    def __init__(self, folder: Path, minutes: float, rate: float) -> None:
        self._folder = folder
        self._pace = Pace.of(minutes)
        self._rate = rate
        self._failures: list[str] = []
        self._figures: dict[str, object] = {
            "minutes": minutes,
            "rate": rate,
            "pace in seconds": asdict(self._pace),
            "tables at the start": len(KINDS),
        }

    def run(self) -> None:
        """Everything but the checks."""
        if self._folder.exists() and any(self._folder.iterdir()):
            if not (self._folder / LEDGER).exists():
                raise SystemExit(f"{self._folder} is not empty and no folder of an earlier run: name another one")
            shutil.rmtree(self._folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        # First of all: by this file a later run knows the folder.
        (self._folder / LEDGER).touch()
        with ExitStack() as held:
            postgres = Postgres()
            held.callback(postgres.remove)
            postgres.start()
            cluster = held.enter_context(Cluster(self._folder / "cluster", settings=SETTINGS))
            cluster.start()
            self._create(cluster)
            ledger = Ledger(self._folder / LEDGER)
            held.callback(ledger.close)
            self._live(cluster, ledger, (postgres.to, PASSWORD))

    def _create(self, cluster: Cluster) -> None:
        with cluster.nodes[1].session() as session:
            for statement in create_all():
                session.execute(statement)

    def _live(self, cluster: Cluster, ledger: Ledger, database: tuple[str, str]) -> None:
        schema, whole, pace = SchemaState(), threading.Event(), self._pace
        whole.set()
        workload = Workload(cluster, ledger, schema, self._rate)
        changes = SchemaChanges(cluster, workload, schema, pace.schema, self._folder / "schema_changes.jsonl", whole)
        consumers = Consumers(self._folder, cluster, database, pace.snapshot_settle)
        try:
            workload.start()
            self._say("tables are filled")
            time.sleep(pace.filled)
            consumers.start()
            changes.start()
            with again(consumers.look_after, LOOK_SECONDS, "look after consumers"):
                self._break(cluster, consumers, changes, schema, whole)
                with self._kept():
                    changes.stop()
                with self._kept():
                    workload.stop()
                self._settle(cluster, consumers, database)
        finally:
            with self._kept():
                changes.stop()
            with self._kept():
                workload.stop()
            consumers.stop()
            self._keep(consumers, changes)

    def _break(
        self,
        cluster: Cluster,
        consumers: Consumers,
        changes: SchemaChanges,
        schema: SchemaState,
        whole: threading.Event,
    ) -> None:
        """All the faults, over the length of the run."""
        pace, began = self._pace, time.monotonic()
        kills, rests = Kills(consumers, pace.kill), Rests(consumers.lagging, pace.rest, pace.work)
        outages = Outages(cluster, whole, changes.pause)
        plan: list[tuple[float, Callable[[], None]]] = [
            (FIRST_OUTAGE * pace.length, lambda: outages.hinted(pace.away)),
            (SECOND_OUTAGE * pace.length, lambda: outages.repaired(pace.away / 2)),
            (pace.length, lambda: None),
        ]
        with again(kills.look, LOOK_SECONDS, "kills"), again(rests.look, LOOK_SECONDS, "rests"):
            for at, what in plan:
                time.sleep(max(0.0, began + at - time.monotonic()))
                with self._kept():
                    what()
                schema.snapshots_over = True
        consumers.lagging.start()
        self._figures |= {"outages": outages.figures, "rests of the lagging consumer": rests.times}

    def _settle(self, cluster: Cluster, consumers: Consumers, database: tuple[str, str]) -> None:
        """Nobody writes; TTLs end; consumers come to the end. Looks until nothing differs, or nothing changes."""
        self._say("the end: nobody writes any more")
        cluster.await_all_up()
        cluster.await_no_hints()
        cluster.sync()
        time.sleep(LONGEST_TTL + EXPIRED_SECONDS)
        tables = record_definitions(cluster, self._folder)
        record_select(cluster, self._folder, tables)
        deadline, last, same = time.monotonic() + CATCH_UP_SECONDS, None, 0
        while time.monotonic() < deadline:
            record_sqlite(self._folder, tables)
            record_postgresql(self._folder, tables, *database)
            now = self._differing(tables)
            same = same + 1 if now == last else 0
            self._say(f"differing or incomplete: {now}")
            if not any(now.values()) or same >= STEADY_LOOKS:
                break
            last = now
            time.sleep(LOOK_AGAIN_SECONDS)

    def _differing(self, tables: dict[str, Definition]) -> dict[str, int]:
        """How many rows of each source are not what SELECT shows, or are not complete."""
        select, found = selected(self._folder, tables), {}
        rows = {"sqlite": kept(self._folder, "sqlite", tables), "postgresql": kept(self._folder, "postgresql", tables)}
        rows["fold"] = folded(fold_of(self._folder), tables)
        for source, held in rows.items():
            all_of = [compared(source, table, select[name], held[name]) for name, table in tables.items()]
            found[source] = sum(each.missing + each.extra + each.differing + each.incomplete for each in all_of)
        return found

    def _keep(self, consumers: Consumers, changes: SchemaChanges) -> None:
        self._figures |= {
            "failures": self._failures,
            "schema changes": dict(changes.done),
            "kills": {consumer.name: consumer.kills for consumer in consumers.all},
            "ended by themselves": [asdict(end) for end in consumers.ends()],
        }
        (self._folder / "run.json").write_text(json.dumps(self._figures, indent=1) + "\n")

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """A failure of a thread is kept for the report; it must not take the recording with it."""
        try:
            yield
        except Exception as failure:
            self._say(f"failed: {failure!r}")
            self._failures.append(repr(failure)[:2000])

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
