"""Images of every recorded set add up to what the server answered to SELECT, whoever logged what in which order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tailer.images.merged_tables import SECOND
from tests.helpers.amount import ALL
from tests.helpers.imaged import Imaged, copied, entries_of, interleaved, times
from tests.helpers.rebuilt import INCOMPLETE, SETS, Recorded, recorded, tables_of

pytestmark = pytest.mark.slow

NODES = ("n1", "n2", "n3", "n4", "n5")
SHUFFLED = SETS if ALL else ("50-cases", "50-crash-gap")
SEEDS = 5 if ALL else 2


def wrong(told: Imaged, recording: Recorded) -> set[str]:
    """The tables whose images do not add up to what SELECT showed."""
    tables = tables_of(recording)
    return {name for name, table in tables.items() if told.rows(table) != sorted(recording.shown[name])}


@pytest.mark.parametrize("name", SETS)
def test_they_add_up_to_what_select_shows(name: str, sets_root: Path) -> None:
    recording = recorded(name, sets_root)
    tables = tables_of(recording)
    entries = entries_of(recording.rows, [table.definition.id for table in tables.values()])
    told = Imaged(tables.values())
    for entry, now in zip(entries, times(entries, recording.at), strict=True):
        told.tell(entry, now)
    told.expire(recording.at)
    assert wrong(told, recording) == set(INCOMPLETE) & set(recording.shown)


@pytest.mark.parametrize("created", [True, False])
@pytest.mark.parametrize("name", SHUFFLED)
def test_copies_in_any_order_give_the_same_state(name: str, created: bool, sets_root: Path) -> None:
    recording = recorded(name, sets_root)
    tables = tables_of(recording)
    entries = entries_of(recording.rows, [table.definition.id for table in tables.values()])
    truncated = {row["table_id"].replace("-", "") for entry in entries for row in entry if row["op"] == "truncate"}
    now = recording.at * SECOND
    once = Imaged(tables.values(), created=created)
    for entry in entries:
        once.tell(entry, now)
    logs = copied(entries, NODES, random.Random(name))
    states = []
    for seed in range(SEEDS):
        told = Imaged(tables.values(), nodes=NODES, created=created)
        for entry in interleaved(logs, random.Random(seed)):
            told.tell(entry, now)
        twice = [effect for effect, times in told.merger.effects.items() if times > 1 and effect[0] not in truncated]
        assert twice == []
        assert wrong(told, recording) == wrong(once, recording)
        assert told.there() == once.there()
        states.append(told.state())
    assert all(state == states[0] for state in states)
