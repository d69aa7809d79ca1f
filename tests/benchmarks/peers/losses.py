"""Which kinds of change come through? The same finished segments for each reader, a kind and plain rows in each.

A change has come if its tag stands in anything that a reader gave of its table. The server's own reader says that the
tags are in the log. Where two kinds look alike (`ALIKE`), a consumer cannot tell them apart: that is counted too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.measured import ROOT
from tests.benchmarks.peers import kinds
from tests.benchmarks.peers.debezium import TOPICS, Debezium
from tests.benchmarks.peers.readers import FOLLOW, Bench
from tests.helpers.jvm.program import running
from tests.server.harness import Node

QUIET_SECONDS = 10.0
"""With nothing new for that long, Debezium is done."""

Changes = Mapping[str, Sequence[dict[str, Any]]]
"""By table: what a reader gave of it."""


def losses(bench: Bench, session: Any, count: int) -> dict[str, Any]:
    """Writes all kinds, lets each reader read, counts."""
    node, parent = bench.node, bench.parent / "losses"
    kinds.create(session)
    kinds.write(session, lambda: new_segment(node), count)
    ours, theirs = parent / "ours" / "cdc_raw", parent / "theirs" / "cdc_raw"
    for folder in (ours, theirs):
        copy_finished(node.cdc_raw, folder)
    _check_written(node, ours, parent, count)
    with running(Debezium(parent / "connector", node, bench.broker, theirs)) as started:
        found = {"follow": _of_follow(ours), "debezium": _of_debezium(bench)}
        ended = not started.running
    # The topics are made as they are written to; the producer says so each time.
    said = [
        line for line in started.log().splitlines() if (" ERROR " in line or " WARN " in line) and "Network" not in line
    ]
    return {
        "written": count,
        "kinds": {name: {"lost": _lost(given, count), "alike": _alike(given)} for name, given in found.items()},
        "debezium_ended": ended,
        "debezium_said": _distinct(said),
    }


def new_segment(node: Node) -> None:
    node.sync()
    node.recycle()


def copy_finished(cdc_raw: Path, into: Path) -> None:
    """Whole copies of what the server has finished."""
    into.mkdir(parents=True)
    for sidecar in cdc_raw.glob("*_cdc.idx"):
        if sidecar.read_bytes().endswith(b"COMPLETED"):
            log = sidecar.with_name(sidecar.name.replace("_cdc.idx", ".log"))
            shutil.copyfile(log, into / log.name)
            shutil.copyfile(sidecar, into / sidecar.name)


def _check_written(node: Node, folder: Path, work: Path, count: int) -> None:
    """Every tag is in what the server's own reader shows."""
    shown = []
    for log in folder.glob("CommitLog-*.log"):
        node.dump(log, work / "dump.jsonl")
        shown.append((work / "dump.jsonl").read_text("utf-8"))
    text = "".join(shown)
    missing = [tag for kind in kinds.KINDS for tag in _tags(kind, count) if tag not in text]
    if missing:
        raise RuntimeError(f"{len(missing)} changes are not in the log, the first is {missing[0]}")


def _tags(kind: kinds.Kind, count: int) -> Iterable[str]:
    for number in range(count):
        yield kind.tag(number)
        yield kinds.behind(kind, number)[1]


def _of_follow(folder: Path) -> Changes:
    """What `cdc-tail follow --once` gives of the copies."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in run(
        [*FOLLOW, str(folder), "--once", "--output", "json", "--table", f"{kinds.KEYSPACE}.*"]
    ).splitlines():
        row = json.loads(line)
        place = {
            name: row.pop(name) for name in ("table", "table_id", "segment", "offset", "row", "event_id", "write_ts")
        }
        found.setdefault(place["table"], []).append(row)
    return found


def run(command: Sequence[str]) -> bytes:
    """What a process of ours prints; it must end well."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout


def _of_debezium(bench: Bench) -> Changes:
    """The messages of its topics, once nothing came for a while."""
    found: dict[str, list[dict[str, Any]]] = {}
    for key, value in messages(bench, f"^{TOPICS}[.]{kinds.KEYSPACE}[.].*"):
        found.setdefault(value["source"]["table"], []).append({"key": key, "op": value["op"], "after": value["after"]})
    return found


def messages(bench: Bench, topics: str) -> list[tuple[Any, Any]]:
    """Key and value of each message of some topics, as JSON, once nothing came for a while."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": bench.broker.bootstrap,
            "group.id": topics,
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": 200,
        }
    )
    consumer.subscribe([topics])
    found: list[tuple[Any, Any]] = []
    heard = time.monotonic()
    while time.monotonic() < heard + QUIET_SECONDS:
        for message in consumer.consume(1000, timeout=0.5):
            if message.error() is None:
                found.append((json.loads(message.key()), json.loads(message.value() or b"null")))
                heard = time.monotonic()
    consumer.close()
    return found


def _lost(given: Changes, count: int) -> dict[str, dict[str, int]]:
    """By kind: changes that did not come, and plain rows behind them in the same segment."""
    plain = "".join(json.dumps(change) for change in given.get(kinds.BEHIND, ()))
    lost = {}
    for kind in kinds.KINDS:
        text = "".join(json.dumps(change) for change in given.get(kind.table, ()))
        lost[kind.name] = {
            "changes": sum(kind.tag(number) not in text for number in range(count)),
            "behind": sum(kinds.behind(kind, number)[1] not in plain for number in range(count)),
        }
    return lost


def _alike(given: Changes) -> list[str]:
    """The pairs of kinds of which both came, and look the same but for their tags."""
    shapes = {kind.name: _shapes(kind, given.get(kind.table, ())) for kind in kinds.KINDS}
    return [f"{one} and {other}" for one, other in kinds.ALIKE if shapes[one] and shapes[one] & shapes[other]]


def _shapes(kind: kinds.Kind, changes: Sequence[dict[str, Any]]) -> set[str]:
    """What its changes look like with one letter for every tag."""
    return {_without_digits(json.dumps(change, sort_keys=True).replace(f"{kind.table}-", "#")) for change in changes}


def _without_digits(text: str) -> str:
    return "".join("9" if letter.isdigit() else letter for letter in text)


def _distinct(lines: Iterable[str]) -> list[str]:
    """Log lines without their time, each once."""
    return list(dict.fromkeys(line.partition(" ")[2][:300] for line in lines))[:20]
