"""What the page shows of a look: the same as `status`, bounded, and no row's data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tailer.node_page.facts import Lease, Served
from tailer.node_page.look import KeptFor, Look, Looker, StatusSource
from tailer.node_page.shown import CONSUMERS_MAX, OTHERS_MAX, SEGMENTS_MAX, Seen, Shown, shown
from tailer.retention.status import SegmentStatus
from tailer.state.away import Away
from tests.helpers.cli import run_cli
from tests.helpers.watched_node import FIRST_SEGMENT, WatchedNode
from tests.unit.node_page.test_history import status as consumer


@pytest.fixture
def node(tmp_path: Path) -> Iterator[WatchedNode]:
    made = WatchedNode(tmp_path)
    for name in ("billing", "search"):
        made.read(name)
    yield made
    made.close()


def of(look: Look, served: Served | None = None) -> Shown:
    return shown("local", look.status.folder, look, served or Served(), look.at, None)


def seen_of(look: Look) -> Seen:
    found = of(look).seen
    assert found is not None
    return found


def status_of(folder: Path) -> dict[str, object]:
    ran = run_cli(["status", folder, "--output", "json", "--cap", "16m"])
    assert ran.code == 0, ran.err
    found: dict[str, object] = json.loads(ran.out)
    return found


def looked(node: WatchedNode) -> Look:
    return Looker(StatusSource(node.folder, cap=16 << 20)).look()


def test_it_says_what_status_says(node: WatchedNode) -> None:
    node.write(50)
    node.write_unknown(3)
    node.read("billing")
    node.roll()
    node.write(10)
    told, seen = status_of(node.folder), msgspec.to_builtins(seen_of(looked(node)))
    assert seen["segments"] == list(reversed(told["segments"]))  # type: ignore[call-overload]
    by_name = {each["consumer"]: each for each in seen["consumers"]}
    assert list(by_name) == ["search", "billing"], "the furthest behind is first"
    for each in told["consumers"]:  # type: ignore[attr-defined]
        found = by_name[each["consumer"]]
        assert found["lag"].pop("seconds") == pytest.approx(each["lag"].pop("seconds"), abs=5)
        assert found == each
    for name in ("bytes", "cap", "clean", "state", "waiting_for", "reads", "problems", "notices"):
        assert seen[name] == told[name], name
    assert seen["counts"] == {
        "segments": 2, "done": 1, "growing": 1, "cleaned": 0, "consumers": 2, "reads": 0, "quarantined": 3,
        "quarantines": 1, "problems": 0, "notices": 0,
    }  # fmt: skip
    assert seen["durable"]["segment"] == FIRST_SEGMENT + 1
    assert seen["quarantine"] == [{"consumer": "billing", "node": "local", "code": 3, "entries": 3}]


def test_the_quarantine_is_counted_anew_when_it_grows(node: WatchedNode) -> None:
    looker = Looker(StatusSource(node.folder))
    assert looker.look().quarantine == {}
    for expected in (2, 2, 6):
        if expected > sum(looker.look().quarantine.values()):
            node.write_unknown(2 if expected == 2 else 4)
            node.read("search")
        assert looker.look().quarantine == {KeptFor("search", "local", 3): expected}


def test_a_quarantine_of_a_later_version_is_a_problem(node: WatchedNode) -> None:
    node.write_unknown()
    node.read("billing")
    (kept,) = node.folder.with_name("cdc_raw.cdc_tail").glob("quarantine/*.jsonl")
    kept.write_text(kept.read_text().replace('"v":1', '"v":99'))
    problems = looked(node).problems
    assert len(problems) == 1
    assert "99" in problems[0]


def test_it_is_bounded(node: WatchedNode) -> None:
    look = looked(node)
    many = [
        SegmentStatus(number, "x" * 40, 1 << 25, 1 << 25, True, 1, [f"c{each}" for each in range(300)], False)
        for number in range(5000)
    ]
    status = msgspec.structs.replace(
        look.status,
        segments=many,
        consumers=[consumer(f"consumer {each}", float(each)) for each in range(1000)],
        notices=["n"] * 500,
    )
    quarantine = {KeptFor(f"c{each}", "n", 4): each for each in range(1000)}
    large = look._replace(status=status, quarantine=quarantine, problems=["p" * 100] * 1000)
    leases = [Lease(f"c{each}", "h", 0.0, 1.0) for each in range(1000)]
    found = of(large, Served(leases=leases))
    seen = found.seen
    assert seen is not None
    assert [len(each) for each in (seen.segments, seen.consumers, seen.quarantine, seen.problems, seen.notices)] == [
        SEGMENTS_MAX, CONSUMERS_MAX, OTHERS_MAX, OTHERS_MAX, OTHERS_MAX,
    ]  # fmt: skip
    assert (seen.segments[0].segment, seen.segments[0].needed_by[-1]) == (4999, "and 295 more")
    assert [each.lag.seconds for each in seen.consumers[:2]] == [999.0, 998.0]
    assert (found.leases, len(found.served.leases)) == (1000, OTHERS_MAX)
    assert seen.counts.segments == 5000
    assert len(msgspec.json.encode(found)) < 64 * 1024


def test_no_reason_is_shown_that_may_repeat_a_row(node: WatchedNode) -> None:
    look = looked(node)
    away = msgspec.structs.replace(look.status.consumers[0], away=Away(5.0, "duplicate key (4711)"))
    found = of(look._replace(status=msgspec.structs.replace(look.status, consumers=[away])))
    assert b"4711" not in msgspec.json.encode(found)
    assert b'"away":{"since":5.0' in msgspec.json.encode(found)


def test_before_the_first_look() -> None:
    found = shown("n1", "/var/cdc_raw", None, Served(bytes=7), 5.0, "it cannot be listed")
    assert (found.seen, found.trouble, found.served.bytes) == (None, "it cannot be listed", 7)
