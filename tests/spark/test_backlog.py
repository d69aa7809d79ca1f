"""What the source reports beside its batches: how far the log is, what of it waits, and what was given up by choice."""

from __future__ import annotations

import json
from pathlib import Path

from tailer.spark.offsets import decode_offset
from tests.conftest import FreshFolder
from tests.golden.test_definitions import without_the_creates
from tests.helpers.replay import Stage
from tests.helpers.sets import Place
from tests.oracle import expected
from tests.spark.engine import Engine


def sidecar_ends(folder: Path) -> dict[int, int]:
    return {
        int(file.name.split("-")[2].split("_")[0]): int(file.read_text().split()[0]) for file in folder.glob("*idx")
    }


def test_the_backlog_is_what_the_sidecars_say_behind_the_batch(sets_root: Path, tmp_path: Path) -> None:
    stage = Stage(tmp_path, sets_root)
    stage.show(Place("50-live", 9))
    ((segment, durable),) = sidecar_ends(stage.folder).items()
    engine = Engine(stage.folder, {"maxBytesPerTrigger": "200k"})
    with engine.running() as planner:
        assert planner.report(None) is None
        assert planner.report(planner.initial())["backlog"]["local"] == {"bytes": durable, "segments": 1}
        for _ in engine.batches(planner):
            report, end = planner.report(engine.offsets[-1]), engine.offsets[-1]["nodes"]["local"]
            at = decode_offset(report).nodes["local"]
            assert (at.s, at.o) == (segment, durable)
            assert report["backlog"]["local"]["bytes"] == durable - end["o"]
        assert len(engine.offsets) > 2
        # Nothing waits: what is reported is the offset itself, to the letter.
        assert json.dumps(report["nodes"]) == json.dumps(engine.offsets[-1]["nodes"])
        assert report["backlog"]["local"] == {"bytes": 0, "segments": 0}

        stage.show(Place("50-live", 25))
        ends = sidecar_ends(stage.folder)
        assert engine.log_next(planner)
        end = decode_offset(engine.offsets[-1]).nodes["local"]
        rest = sum(size for id, size in ends.items() if id > end.s) + ends[end.s] - end.o
        report = planner.report(engine.offsets[-1])
        assert report["backlog"]["local"] == {"bytes": rest, "segments": sum(id >= end.s for id in ends)}
        assert decode_offset(report).nodes["local"].s == max(ends)


def test_what_was_given_up_is_counted_for_its_consumer(sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder, schema = without_the_creates(fresh_folder("50-cases")), str(sets_root / "50-cases" / "schema.cql")
    undefined = expected(sets_root / "50-cases", folder, base=True, quarantine=True).undefined
    assert undefined
    engine = Engine(folder, {"schemaFile": schema, "onError": "quarantine", "failOnDataLoss": "false"})
    assert engine.available_now()
    with engine.running() as planner:
        planner.latest(engine.offsets[-1], None)
        assert planner.report(engine.offsets[-1])["givenUp"] == {"local": {"losses": 0, "quarantined": len(undefined)}}
    with Engine(folder, {**engine.options, "consumer": "other", "startingOffsets": "latest"}).running() as planner:
        assert planner.report(planner.initial())["givenUp"] == {"local": {"losses": 0, "quarantined": 0}}


def test_an_accepted_loss_is_counted(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    engine = Engine(folder, {"maxBytesPerTrigger": "8k"})
    with engine.running() as planner:
        next(engine.batches(planner))
        at = decode_offset(engine.offsets[-1]).nodes["local"].s
    next(folder.glob(f"*-{at}.log")).unlink()
    with engine.running(failOnDataLoss="false", maxBytesPerTrigger="1g") as planner:
        assert engine.log_next(planner)
        assert planner.report(engine.offsets[-1])["givenUp"]["local"]["losses"] == 1
