"""`debezium-cassandra` beside the connector itself: what it wrote of a log of a live server, and what we make of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.definitions.whole_folder import learn
from tailer.options.tail import TailOptions
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.state.node_log import folder_log
from tests.helpers.sets import extract

ARCHIVE = Path(__file__).parents[2] / "fixtures" / "debezium" / "kinds.tar.xz"
NAME = "peer"
"""`topic.prefix` of the connector."""

OURS = {"node", "segment", "offset", "event_id", "set", "static", "deltas"}
"""What `source` has besides."""

OTHERWISE = {"version", "cluster", "file", "pos"}
"""What the page says is another thing in the two."""

LOST = {
    "kinds.of_static_alone": 2,
    "kinds.of_static_beside_a_row": 2,
    "kinds.of_counter": 2,
    "kinds.of_udt_whole": 2,
    "kinds.of_udt_one_field": 2,
    "kinds.behind": 4,
}
"""Changes that the connector tells nothing of: static rows, counters, user-defined types that are not frozen, and plain
rows behind these in the same segment."""

Event = tuple[str, Any, dict[str, Any]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("connector")
    extract(ARCHIVE, folder)
    return folder / "kinds"


@pytest.fixture(scope="module")
def theirs(recorded: Path) -> list[Event]:
    events = map(json.loads, (recorded / "events.jsonl").read_text().splitlines())
    return [(_table(event["value"]["source"]), event["key"], event["value"]) for event in events]


@pytest.fixture(scope="module")
def ours(recorded: Path) -> list[Event]:
    options = TailOptions(stopped=True).for_run(once=True)
    definitions = learn(folder_log(recorded / "cdc_raw"), options, options.keys()).history.newest
    envelope = Envelope(EnvelopeOptions("debezium-cassandra", NAME), definitions.get)
    messages = (
        m for batch in tailer.open(recorded / "cdc_raw", stopped=True).read() for m in envelope.messages(batch, 1)
    )
    return [(f"{m.keyspace}.{m.table}", json.loads(m.key or b""), json.loads(m.value or b"")) for m in messages]


def _table(source: dict[str, Any]) -> str:
    return f"{source['keyspace']}.{source['table']}"


def names_of(event: Event) -> str:
    """What tells an event apart: table, key and the time of the write."""
    table, key, value = event
    return json.dumps([table, key, value["source"]["ts_us"]])


def test_what_the_connector_wrote_we_write_field_by_field(ours: list[Event], theirs: list[Event]) -> None:
    by_name = {names_of(event): event for event in ours}
    assert len(theirs) > 50
    for event in theirs:
        mine, other = by_name[names_of(event)][2], event[2]
        assert list(mine) == list(other)
        assert mine["op"] == other["op"]
        assert {name: mine["source"][name] for name in other["source"].keys() - OTHERWISE} == {
            name: value for name, value in other["source"].items() if name not in OTHERWISE
        }
        assert mine["source"].keys() - other["source"].keys() <= OURS
        assert [name for name in mine["source"] if name not in OURS] == list(other["source"])
        if event[0] != "kinds.of_set_remove":
            # Order included.
            assert json.dumps(mine["after"]) == json.dumps(other["after"])


def test_an_element_that_was_removed_from_a_set_was_not_put(ours: list[Event], theirs: list[Event]) -> None:
    """The one value in which the connector is not followed."""
    told = [
        [event[2]["after"]["e"]["value"] for event in each if event[0] == "kinds.of_set_remove"]
        for each in (theirs, ours)
    ]
    assert told == [[["of_set_remove-0000."], ["of_set_remove-0001."]], [[], []]]
    removed = [event[2]["source"]["deltas"]["e"]["removed"] for event in ours if event[0] == "kinds.of_set_remove"]
    assert removed == [["of_set_remove-0000."], ["of_set_remove-0001."]]


def test_what_the_connector_lost_we_have(ours: list[Event], theirs: list[Event]) -> None:
    known = {names_of(event) for event in theirs}
    assert Counter(event[0] for event in ours if names_of(event) not in known) == LOST
