"""The events of Debezium's connector beside ours in its own form (`--format debezium-cassandra`), field by field.

One real Cassandra server writes some changes of each kind (`kinds.py`); the connector and `follow --to kafka` read the
same finished segments into one broker. An event of theirs has in `source.pos` where its log entry ends, one of ours
where that begins: so each of theirs has its entry, and what an entry gave is compared in order.

    python -m tests.benchmarks.peers.events --changes 20 --keep
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.benchmarks.measured import figure
from tests.benchmarks.peers import debezium, kinds, losses
from tests.benchmarks.peers.readers import FOLLOW, Bench
from tests.benchmarks.peers.runs import VERSIONS, missing, servers
from tests.benchmarks.script import Begun, published, script_parser
from tests.helpers.jvm.program import running

NAME = "peer_events"
QUESTION = "Which events does Debezium's connector give of the same segments, and how do ours differ, field by field?"
SETTINGS = {"commitlog_sync_period": "10ms", "commitlog_segment_size": "1MiB", "cdc_total_space": "4GiB"}


class Event(NamedTuple):
    """A message as JSON."""

    key: Any
    value: Any

    @property
    def table(self) -> str:
        return str(self.value["source"]["table"])

    @property
    def segment(self) -> int:
        """Theirs has the version of the file's form in its name too."""
        return int(self.value["source"]["file"].removesuffix(".log").rpartition("-")[2])

    @property
    def pos(self) -> int:
        return int(self.value["source"]["pos"])


class Entry(NamedTuple):
    """What one log entry gave, of theirs and of ours, in order."""

    table: str
    ours: list[Event]
    theirs: list[Event]


def entries(ours: Sequence[Event], theirs: Sequence[Event]) -> list[Entry]:
    """By log entry. RuntimeError for an event of theirs that is of none of which we know."""
    found = {(event.segment, event.pos): Entry(event.table, [], []) for event in ours}
    begins: dict[int, list[int]] = {}
    for segment, pos in sorted(found):
        begins.setdefault(segment, []).append(pos)
    for event in ours:
        found[event.segment, event.pos].ours.append(event)
    for event in theirs:
        known = begins.get(event.segment, [])
        at = bisect_left(known, event.pos)
        if not at:
            raise RuntimeError(f"an event of the connector is of no entry of ours: {event}")
        found[event.segment, known[at - 1]].theirs.append(event)
    return list(found.values())


def compared(found: Iterable[Entry]) -> dict[str, Any]:
    """How many events of each table only one of both has; and of the others each field: alike or not, with examples."""
    lost: dict[str, dict[str, int]] = {}
    fields: dict[str, dict[str, Any]] = {}
    both = 0
    for entry in found:
        pairs = _pairs(entry)
        for side, there in (("connector", entry.ours), ("ours", entry.theirs)):
            if more := len(there) - len(pairs):
                missing_there = lost.setdefault(entry.table, {})
                missing_there[side] = missing_there.get(side, 0) + more
        for our, their in pairs:
            both += 1
            _count(fields, dict(_leaves(our)), dict(_leaves(their)))
    return {"both": both, "missing": lost, "fields": fields}


def _pairs(entry: Entry) -> list[tuple[Event, Event]]:
    """Which event of theirs is which of ours: of the same key and kind; what is left, in order."""
    ours, pairs, left = list(entry.ours), [], []
    for their in entry.theirs:
        same = [each for each in ours if (each.key, each.value.get("op")) == (their.key, their.value.get("op"))]
        if same:
            ours.remove(same[0])
            pairs.append((same[0], their))
        else:
            left.append(their)
    return pairs + list(zip(ours, left, strict=False))


def _leaves(event: Event) -> Iterator[tuple[str, Any]]:
    yield from _flat("key", event.key)
    yield from _flat("value", event.value)


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Objects by name down to what is none; lists and values are one thing."""
    if isinstance(value, Mapping) and value and not path.endswith(".value"):
        for name, each in value.items():
            yield from _flat(f"{path}.{name}", each)
    else:
        yield path, value


def _count(fields: dict[str, dict[str, Any]], our: Mapping[str, Any], their: Mapping[str, Any]) -> None:
    for path in {*our, *their}:
        counts = fields.setdefault(path, {"alike": 0, "different": 0})
        if path in our and path in their and our[path] == their[path]:
            counts["alike"] += 1
        else:
            counts["different"] += 1
            counts.setdefault("example", {"ours": our.get(path, "absent"), "connector": their.get(path, "absent")})


def run(changes: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, {}, 1)
    with servers(NAME, SETTINGS, heap="1g") as (bench, session):
        ours, theirs = _read(bench, session, changes)
    found = compared(entries(ours, theirs))
    counts = {"ours": len(ours), "connector": len(theirs)}
    return begun.result(versions=VERSIONS, changes=changes, events=counts, figures=list(_figures(found)), **found)


def _read(bench: Bench, session: Any, count: int) -> tuple[list[Event], list[Event]]:
    """Ours and theirs, of the same copies."""
    kinds.create(session)
    kinds.write(session, lambda: losses.new_segment(bench.node), count)
    ours, theirs = (bench.parent / who / "cdc_raw" for who in ("ours", "theirs"))
    for folder in (ours, theirs):
        losses.copy_finished(bench.node.cdc_raw, folder)
    with running(debezium.Debezium(bench.parent / "connector", bench.node, bench.broker, theirs)):
        told = _consumed(bench, f"^{debezium.TOPICS}[.]{kinds.KEYSPACE}[.].*")
    losses.run([
        *FOLLOW, str(ours), "--once", "--stopped", "--node", "local-node", "--consumer", "events", "--create-topics",
        "--table", f"{kinds.KEYSPACE}.*", "--to", "kafka", "--brokers", bench.broker.bootstrap,
        "--format", "debezium-cassandra", "--topic", "ours.{keyspace}.{table}",
    ])  # fmt: skip
    return _consumed(bench, f"^ours[.]{kinds.KEYSPACE}[.].*"), told


def _consumed(bench: Bench, topics: str) -> list[Event]:
    return [Event(key, value) for key, value in losses.messages(bench, topics) if value is not None]


def _figures(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield figure("events that both give", "events", {"median": found["both"]})
    for table, counts in sorted(found["missing"].items()):
        for who, number in counts.items():
            yield figure(f"{table}: events that are missing with {who}", "events", {"median": number})
    for path, counts in sorted(found["fields"].items()):
        if counts["different"]:
            yield figure(f"`{path}` is another", "events", {"median": counts["different"]})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser("peers.events", QUESTION)
    parser.add_argument("--changes", type=int, default=20, help="of each kind (default: %(default)s)")
    if reason := missing():
        sys.stderr.write(f"{NAME}: not compared: {reason}\n")
        return 0
    return published(parser, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
