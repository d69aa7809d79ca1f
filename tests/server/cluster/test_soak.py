"""A cluster through all that happens to one: `make soak SOAK=cluster`; figures in `build/`.

A quarter of an hour for each way of reading it, and for each of making images.

CDC_TAIL_SOAK says how many seconds a phase lasts; the one with a node killed 3.6 times as long.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.again import again
from tests.helpers.cli import ROOT
from tests.helpers.small_disk import small_disk
from tests.server.cluster.arrivals import Delay
from tests.server.cluster.check import Copies
from tests.server.cluster.cleaning import Cleaning, cleaning
from tests.server.cluster.cluster import TOPOLOGY_SECONDS, Cluster
from tests.server.cluster.images import imaged
from tests.server.cluster.imaging import IMAGING, Killing
from tests.server.cluster.phases import DECOMMISSIONED, FULL, STEADY, Phases
from tests.server.cluster.readers import READERS, Followers, Reader, WithImages
from tests.server.cluster.running import Run, running

SECONDS = float(os.environ.get("CDC_TAIL_SOAK", "0"))
FIGURES = ROOT / "build" / "soak"
DISK_MEGABYTES = 96
"""Of which Cassandra lets cdc_raw have an eighth."""

SLOWER_TIMES = 2.0
"""How much longer the others' rows may take while one node is away."""

KILL_SECONDS = {"follow": (5.0, 15.0), "spark": (45.0, 90.0)}
"""How long what makes images lives, at least and at most: a query has started by then, and made some batches."""

ROOM_SECONDS = {"follow": TOPOLOGY_SECONDS, "spark": 1200.0}
"""How long a full disk waits for what makes images: a query that is killed all the while spends half of its life on
starting."""

LOOK_SECONDS = 0.2

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(not SECONDS, reason="a quarter of an hour: make soak SOAK=cluster"),
]


@contextmanager
def living(
    work: Path, reader: Reader, room_seconds: float = TOPOLOGY_SECONDS
) -> Iterator[tuple[Run, Phases, Cleaning]]:
    """A cluster that is written to, read and cleaned, and what will happen to it."""
    with small_disk(work / "disk", DISK_MEGABYTES) as disk, cleaning() as cleaner:
        cluster = Cluster(work, settings={"cdc_on_repair_enabled": False}, logs={FULL: disk.folder})
        with running(cluster, reader, work, lasting={1, DECOMMISSIONED}) as run:
            yield run, Phases(run, cleaner, disk, SECONDS, room_seconds), cleaner
            cleaner.nodes.clear()


def read_out(run: Run) -> Copies:
    """Nobody writes any more, and each copy of a write is read."""
    run.workload.stop()
    run.cluster.await_no_hints()
    return run.await_rows()


@pytest.mark.parametrize("name", sorted(READERS))
def test_every_acknowledged_write_is_read_whatever_happens_to_the_nodes(
    server_here: None, tmp_path: Path, name: str
) -> None:
    reader = READERS[name](tmp_path)
    with living(tmp_path, reader) as (run, phases, cleaner):
        phases.all()
        copies = read_out(run)
        differences = run.differences()
    delays = phases.delays()
    figures = {
        "rows": len(run.arrivals.rows),
        "writes": len(copies.of),
        "refused": len(run.ledger.entries()) - len(copies.of),
        "missing": len(copies.missing),
        "copies": copies.spread(),
        "cleaned": cleaner.taken,
        "delays": {phase: {node: _figures(delay) for node, delay in held.items()} for phase, held in delays.items()},
    }
    _keep(name, figures)
    assert reader.failures == []
    assert copies.missing == []
    assert differences == {}
    assert slower(phases, delays) == []


@pytest.mark.parametrize("name", sorted(IMAGING))
def test_each_write_has_its_image_whatever_happens_to_the_nodes(server_here: None, tmp_path: Path, name: str) -> None:
    """What makes images is killed all the while, too."""
    imaging = IMAGING[name](tmp_path)
    reader = WithImages(Followers(tmp_path), imaging)
    with living(tmp_path, reader, ROOM_SECONDS[name]) as (run, phases, _):
        with again(Killing(imaging, math.inf, KILL_SECONDS[name]).look, LOOK_SECONDS, "killing"):
            phases.all()
        copies = read_out(run)
        found = imaged(run.cluster, imaging, run.arrivals.rows)
    figures = {"rows": len(run.arrivals.rows), "writes": len(copies.of), "must": found.must, "kills": found.kills}
    _keep(f"images-{name}", {**figures, "images": len(found.images), "ops": Counter(i["op"] for i in found.images)})
    assert reader.failures == []
    assert copies.missing == []
    assert found.differences == {}
    assert found.torn == []
    assert found.must > 1000
    assert found.unlike == []


def slower(phases: Phases, delays: Mapping[str, Mapping[str, Delay]]) -> list[str]:
    """Which nodes' rows took twice as long while another was away. One that was not there before: than the slowest."""
    usual = delays[STEADY]
    slowest = Delay(0, max(delay.median for delay in usual.values()), max(delay.p95 for delay in usual.values()))
    told = []
    for phase in phases.done:
        others = {node: delay for node, delay in delays[phase.name].items() if phase.steady and node != phase.away}
        for node, delay in others.items():
            before = usual.get(node, slowest)
            if delay.median >= SLOWER_TIMES * before.median or delay.p95 >= SLOWER_TIMES * before.p95:
                told.append(f"{phase.name}: {node} {_figures(delay)}, in steady {_figures(before)}")
    return told


def _figures(delay: Delay) -> dict[str, float]:
    return {"writes": delay.writes, "median_ms": round(1000 * delay.median, 1), "p95_ms": round(1000 * delay.p95, 1)}


def _keep(name: str, figures: Mapping[str, object]) -> None:
    text = json.dumps(figures, indent=1)
    FIGURES.mkdir(parents=True, exist_ok=True)
    (FIGURES / f"cluster-{name}.json").write_text(text + "\n")
    print(text)
