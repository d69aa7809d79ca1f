"""Our events in the form of Debezium's connector beside the connector's own of the same segments, field by field.

Recorded: `fixtures/debezium/kinds.tar.xz` has finished segments of a server with two changes of each kind (`peers/
kinds.py`) and the messages that the connector (3.4.1.Final) made of them. Live: `peers/events.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.options.tail import TailOptions
from tailer.sinks.base import Rows
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.tail.follow import follow
from tests.benchmarks.peers.events import Event, compared, entries
from tests.helpers.cli import ROOT
from tests.helpers.sets import extract
from tests.helpers.tails import open_tail

RECORDED = ROOT / "fixtures" / "debezium" / "kinds.tar.xz"
LOST = {
    "of_static_alone": 2, "of_static_beside_a_row": 2, "of_counter": 2, "of_udt_whole": 2, "of_udt_one_field": 2,
    "behind": 4,
}  # fmt: skip
"""What the connector does not tell: static columns, counters, tables with a user-defined type that is not frozen, and
plain rows that stand behind those in the same segment."""
OURS_ALONE = ("node", "segment", "offset", "event_id", "deltas", "set")
"""What `source` has besides the connector's own."""
OF_THE_RUN = {"value.ts_ms", "value.source.name", "value.source.version", "value.source.file", "value.source.pos"}
"""When and by whom the message was made; the file's name has no version, and the place is where the entry begins, not
where it ends."""
REMOVALS = {"value.after.e.value"}
"""Elements that were removed from a set: the connector shows them as if they had been put."""


class Taking:
    """A sink that keeps events."""

    def __init__(self, envelope: Envelope) -> None:
        self.events: list[Event] = []
        self._envelope = envelope

    def write(self, batch: Rows) -> None:
        for message in self._envelope.messages(batch.to_arrow(), 0):
            assert message.value is not None
            self.events.append(Event(json.loads(message.key or b"null"), json.loads(message.value)))

    def close(self) -> None:
        return None


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("connector")
    extract(RECORDED, folder)
    return folder / "kinds"


def test_each_event_of_the_connector_is_ours_field_by_field(recorded: Path) -> None:
    lines = (recorded / "events.jsonl").read_text("utf-8").splitlines()
    theirs = [Event(told["key"], told["value"]) for told in map(json.loads, lines)]
    options = TailOptions(tables=("kinds.*",), stopped=True, settle_seconds=0.0, state=recorded / "state")
    with open_tail(recorded / "cdc_raw", options) as tail:
        sink = Taking(Envelope(EnvelopeOptions(format="debezium-cassandra"), tail.definition))
        follow(tail, sink, once=True, say=[].append)
    found = compared(entries(sink.events, theirs))
    assert found["both"] == len(theirs) == 57
    assert found["missing"] == {table: {"connector": count} for table, count in LOST.items()}
    different = {path: counts for path, counts in found["fields"].items() if counts["different"]}
    ours_alone = {path for path in different if path.removeprefix("value.source.").split(".")[0] in OURS_ALONE}
    assert all(different[path]["example"]["connector"] == "absent" for path in ours_alone)
    assert set(different) - ours_alone == OF_THE_RUN | REMOVALS
    for path in REMOVALS:
        # Two of the changes remove; the others are the same.
        assert (different[path]["different"], different[path]["example"]["ours"]) == (2, [])
