"""What the peers' benchmark counts with, by hand; and that all of it runs on a real server, Kafka and Debezium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import outlets_kafka, table
from tests.benchmarks.peers import __main__ as peers
from tests.benchmarks.peers import events, kinds, losses
from tests.benchmarks.peers.arrivals import Arrival, rows
from tests.benchmarks.peers.live import Ran, Sidecars, delays, read_sidecars
from tests.benchmarks.peers.readers import Arrived
from tests.benchmarks.peers.runs import missing


def test_a_row_came_when_the_end_of_its_line_did() -> None:
    arrived = [
        Arrival(1.0, b'{"partition_key":{"seq":7},"columns":{"body":"x"}}\n{"partition_key":{"se'),
        Arrival(2.0, b'q":8}}\n'),
        Arrival(3.0, b'{"seq":9}', sent=1500),
        Arrival(4.0, b"", numbers=[10, 11]),
    ]
    assert list(rows(arrived)) == [(7, 1.0, None), (8, 2.0, None), (9, 3.0, 1500), (10, 4.0, None), (11, 4.0, None)]


def test_a_row_is_promised_by_the_first_sidecar_that_reaches_beyond_it(tmp_path: Path) -> None:
    out = tmp_path / "sidecars.txt"
    out.write_text("ready\n1.5 40 100\n1.6 40 0\n2.5 40 200\n2.6 40 200\n3.5 41 90\n")
    promised = read_sidecars(out)
    assert promised == Sidecars({40: [100, 200], 41: [90]}, {40: [1.5, 2.5], 41: [3.5]})
    assert [promised.moment(40, end) for end in (1, 100, 101, 200)] == [1.5, 1.5, 2.5, 2.5]


def test_a_delay_is_from_the_promise_to_the_consumer_and_missing_rows_are_counted() -> None:
    arrived = {1: Arrived(1.504, None), 2: Arrived(2.506, None)}
    ran = Ran(range(1, 4), {"follow": arrived}, {"follow": {"follow": 4.0}}, {"follow": {"follow": 0.5}})
    promised = Sidecars({40: [100, 200]}, {40: [1.5, 2.5]})
    told = delays(ran, {1: (40, 90), 2: (40, 150), 3: (40, 160)}, promised)["follow"]
    assert told["missing"] == 1
    assert told["delay_ms"] == {"p50": 5.0, "p90": 6.0, "p99": 6.0, "max": 6.0}
    assert (told["cpu_percent"], told["idle_cpu_percent"]) == ({"follow": 4.0}, {"follow": 0.5})


def test_each_kind_has_a_table_and_tags_of_its_own() -> None:
    assert len({kind.table for kind in kinds.KINDS}) == len(kinds.KINDS)
    named = {kind.name for kind in kinds.KINDS}
    assert named >= {name for pair in kinds.ALIKE for name in pair}
    for kind in kinds.KINDS:
        assert f"'{kind.tag(3)}'" in kind.change(3)
        assert kind.change(3) != kind.change(4)
        assert not any(kind.tag(3) in other.change(3) for other in kinds.KINDS if other is not kind)


def test_what_does_not_come_is_lost_and_what_looks_the_same_is_told() -> None:
    tables = {kind.name: kind.table for kind in kinds.KINDS}
    given = {
        kind.table: [{"value": kind.tag(number)} for number in range(2)]
        for kind in kinds.KINDS
        if kind.name != "counter"
    }
    given[tables["update"]].pop()
    given[tables["set remove"]] = [{"removed": kind.tag(0)} for kind in kinds.KINDS if kind.name == "set remove"] * 2
    given[kinds.BEHIND] = [{"id": kinds.behind(kind, n)[1]} for kind in kinds.KINDS for n in range(2)][1:]
    lost = losses._lost(given, 2)
    assert {name: found for name, found in lost.items() if any(found.values())} == {
        "insert": {"changes": 0, "behind": 1},
        "update": {"changes": 1, "behind": 0},
        "counter": {"changes": 2, "behind": 0},
        "set remove": {"changes": 1, "behind": 0},
    }
    assert losses._alike(given) == ["list, whole and list append", "map put and map remove"]


def event(file: str, pos: int, table: str = "t", **value: object) -> events.Event:
    return events.Event({"id": 1}, {"source": {"file": f"CommitLog-{file}.log", "pos": pos, "table": table}, **value})


def test_an_event_of_theirs_is_of_the_entry_that_ends_there() -> None:
    ours = [event("1", 28), event("1", 96), event("1", 96), event("1", 164), event("2", 28)]
    theirs = [event("7-1", 96), event("7-1", 164), event("7-2", 500), event("7-2", 500)]
    found = events.entries(ours, theirs)
    assert [(len(entry.ours), len(entry.theirs)) for entry in found] == [(1, 1), (2, 1), (1, 0), (1, 2)]
    assert events.compared(found)["missing"] == {"t": {"connector": 2, "ours": 1}}
    with pytest.raises(RuntimeError, match="of no entry"):
        events.entries(ours, [event("7-3", 500)])


def test_fields_are_compared_down_to_the_value_of_a_column() -> None:
    one = event("1", 28, after={"v": {"value": {"x": 1}, "set": True}, "w": None}, op="u")
    other = event("1", 96, after={"v": {"value": {"x": 2}, "set": True}}, op="u")
    fields = events.compared([events.Entry("t", [one], [other])])["fields"]
    assert {path for path, counts in fields.items() if counts["different"]} == {
        "value.source.pos", "value.after.v.value", "value.after.w",
    }  # fmt: skip
    assert fields["value.after.v.value"]["example"] == {"ours": {"x": 1}, "connector": {"x": 2}}
    assert fields["value.after.w"]["example"] == {"ours": None, "connector": "absent"}
    assert fields["value.after.v.set"] == {"alike": 1, "different": 0}


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.soak
def test_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if reason := missing():
        pytest.skip(f"no peers: {reason}")
    few = ["--copies", "0", "--rows", "4", "--idle", "0.2", "--changes", "2", "--repeat", "1"]
    assert peers.main([str(tmp_path), *few]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["runs"]["live"]) == 6
    for (run,) in result["runs"]["live"].values():
        assert run["missing"] == 0
        assert run["delay_ms"]["p50"] > 0
    found = result["losses"]["kinds"]
    assert found["follow"]["alike"] == []
    assert {kind for kind, lost in found["follow"]["lost"].items() if any(lost.values())} == set()
    assert found["debezium"]["lost"]["insert"] == {"changes": 0, "behind": 0}
    text = table.table({result["name"]: result})
    assert text.count("\n| ") == len(result["figures"]) + 1


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.soak
def test_the_outlet_for_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if reason := missing():
        pytest.skip(f"no peers: {reason}")
    assert outlets_kafka.main([str(tmp_path), "--copies", "0", "--rows", "4", "--repeat", "1"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["runs"]["live"]) == 5
    for (run,) in result["runs"]["live"].values():
        assert run["missing"] == 0
        assert run["delay_ms"]["p50"] > 0
