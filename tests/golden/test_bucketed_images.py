"""Images as Spark's tasks make them of every recorded set: those of one process, byte for byte, in any batches."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tailer.images import Image
from tailer.images.merged_tables import SECOND
from tests.helpers.amount import ALL
from tests.helpers.bucketed import Buckets, schema_row
from tests.helpers.imaged import Imaged, copied, entries_of
from tests.helpers.rebuilt import INCOMPLETE, SETS, recorded, tables_of

pytestmark = pytest.mark.slow

NODES = ("n1", "n2", "n3")
SOME = SETS if ALL else ("40-cases", "50-cases", "50-crash", "50-crash-gap")
SHUFFLED = SETS if ALL else ("50-cases", "50-crash-gap")


def by_partition(images: Iterable[Image]) -> dict[tuple[Any, ...], list[Image]]:
    """The images of each partition, and of each table as a whole, in their order."""
    found: dict[tuple[Any, ...], list[Image]] = defaultdict(list)
    for image in images:
        found[image.table_id, image.token, image.partition_key].append(image)
    return found


@pytest.mark.parametrize("name", SOME)
def test_they_are_those_of_one_process(name: str, sets_root: Path) -> None:
    recording = recorded(name, sets_root)
    tables = tables_of(recording)
    entries = entries_of(recording.rows, [table.definition.id for table in tables.values()])
    choose = random.Random(name)
    plain, spark = Imaged(tables.values()), Buckets(tables.values(), ["local"])
    made = spark.batch([schema_row(table, "local") for table in tables.values()], 0)
    now = recording.at - len(entries)
    while entries:
        now += 1
        batch, entries = entries[: (size := choose.randrange(1, 40))], entries[size:]
        plain.expire(now)
        for entry in batch:
            plain.tell(entry, now * SECOND)
        made += spark.batch([row for entry in batch for row in entry], now * SECOND)
    plain.expire(recording.at)
    made += spark.batch([], recording.at * SECOND)
    assert by_partition(made) == by_partition(plain.images)
    assert {name for name, table in tables.items() if plain.rows(table) != sorted(recording.shown[name])} == set(
        INCOMPLETE
    ) & set(recording.shown)


@pytest.mark.parametrize("name", SHUFFLED)
def test_copies_in_any_batches_add_up_to_what_select_shows(name: str, sets_root: Path) -> None:
    recording = recorded(name, sets_root)
    tables = tables_of(recording)
    entries = entries_of(recording.rows, [table.definition.id for table in tables.values()])
    choose = random.Random(name)
    logs = copied(entries, NODES, choose)
    told, spark = Imaged(tables.values(), nodes=NODES), Buckets(tables.values(), NODES)
    told.take(spark.batch([schema_row(table, node) for table in tables.values() for node in NODES], 0))
    while any(logs.values()):
        rows = []
        for node in NODES:
            batch, logs[node] = logs[node][: (size := choose.randrange(60))], logs[node][size:]
            rows += [row for entry in batch for row in entry]
        told.take(spark.batch(rows, recording.at * SECOND))
    wrong = {name for name, table in tables.items() if told.rows(table) != sorted(recording.shown[name])}
    assert wrong == set(INCOMPLETE) & set(recording.shown)
