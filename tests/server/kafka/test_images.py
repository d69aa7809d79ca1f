"""Images in a real broker's topics: each once, its number in the outbox in the same transaction, whatever is killed.

Few kills here; `CDC_TAIL_SOAK=50` (make soak SOAK=kafka) as many as it says.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT, run_cli
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import make_topic, places, read
from tests.helpers.log_writer import (
    TS,
    Column,
    Deletion,
    LogFolder,
    Row,
    Update,
    alter_payload,
    completed,
    create_payload,
    encode_mutation,
    i32,
    insert_payload,
    segment_of,
)
from tests.server.kafka.logs import FIRST, log_of, positions, table, words
from tests.unit.sinks.database.test_kills import moved

pytestmark = [pytest.mark.server, pytest.mark.slow]

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
IN_SEGMENT, SEGMENTS = 5, 20


def run(broker: Broker, folder: Path, *more: str, image: str = "both") -> list[str]:
    return [*map(str, words(broker, folder)), "--create-topics", "--image", image, *more]


def test_each_image_once_and_its_number_behind_it(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("imaged"), 20)
    for _ in range(2):
        ran = run_cli(run(broker, folder, "--format", "debezium"))
        assert (ran.code, ran.err) == (0, "")
        messages = read(broker, "ks.imaged")
        assert sorted(message.row["after"]["v"] for message in messages) == list(range(20))
    first = next(message for message in messages if message.row["after"]["v"] == 0)
    assert (first.key, first.row["op"], first.row["before"]) == (b'{"pk":0,"ck":"c0"}', "c", None)
    assert first.row["source"]["partial"] is False
    assert first.headers["event_id"].decode() == first.row["source"]["image_id"]
    (stands,) = places(broker, positions(folder)).values()
    assert sorted(stands["offset"]) == ["images", "v"]
    log_of(folder, table("imaged"), 20, first=20)
    assert run_cli(run(broker, folder, "--format", "debezium")).code == 0
    assert sorted(message.row["after"]["v"] for message in read(broker, "ks.imaged")) == list(range(40))


def test_a_compacted_topic_gets_what_has_a_key(broker: Broker, tmp_path: Path) -> None:
    """A tombstone behind what is gone; other columns have no key, and are left out."""
    of, made = table("compacted"), LogFolder(tmp_path / "cdc_raw")
    writes = [insert_payload(of, 1, "a", 1), insert_payload(of, 1, "b", 2)]
    gone = encode_mutation((Update(of, i32(1), (Row((b"a",), None, Deletion(TS + 9, TS // 1_000_000)),)),))
    wider = alter_payload(of, Column("w", "regular", "int"), TS + 5)
    writer = segment_of(FIRST, [[create_payload(of)], writes, [wider], [gone]])
    made.put(writer, completed(writer))
    make_topic(broker, "ks.compacted", cleanup_policy="compact")
    ran = run_cli(run(broker, made.path, "--tombstones"))
    assert ran.code == 0, ran.err
    told = [(json.loads(message.key)["ck"], message.value is None) for message in read(broker, "ks.compacted")]
    assert told == [("a", False), ("b", False), ("a", False), ("a", True)]


def test_killed_while_it_commits(broker: Broker, tmp_path: Path) -> None:
    folder, chance, since, rows = tmp_path / "cdc_raw", random.Random(3), 0.0, 0
    for _ in range(KILLS + 1):
        log_of(folder, table("image_kills"), IN_SEGMENT, SEGMENTS, first=rows)
        rows += IN_SEGMENT * SEGMENTS
        program = [sys.executable, "-c", "from tailer.cli.app import run; run()", *run(broker, folder, image="after")]
        with subprocess.Popen([*program, "--commit-rows", "5"], cwd=ROOT, stderr=subprocess.PIPE) as process:
            if rows <= KILLS * IN_SEGMENT * SEGMENTS:
                since = moved(folder, since, process)
                time.sleep(chance.uniform(0.0, 0.8))
                process.kill()
            else:
                _, said = process.communicate(timeout=120)
                assert process.returncode == 0, said
        found = sorted(message.row["after"]["v"] for message in read(broker, "ks.image_kills"))
        assert len(set(found)) == len(found)
    assert found == list(range(rows))
