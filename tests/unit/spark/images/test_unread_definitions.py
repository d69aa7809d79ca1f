"""Images in Spark where a definition changed in no entry that is read: those of `follow` for the same log.

A segment without captured changes vanishes unread. What another consumer read of it is in the journal, and a server may
be asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tailer.images import Image
from tests.helpers.image_runs import NOW
from tests.helpers.log_writer import captured_payload, create_payload, drop_table, encode_mutation, simple_table
from tests.helpers.spark_rows import Query
from tests.unit.tail.images.test_created_again import (
    CHANGES,
    FIRST_LIFE,
    OTHER,
    PLAIN,
    TS,
    WIDE,
    Log,
    images_of,
    insert,
    rows_of_schema,
    server_of,
    told,
)

NOW_US = int(NOW * 1_000_000)
Short = list[tuple[str, str, Any, bool]]


def short(images: Sequence[Image]) -> Short:
    return [(i.table, i.op, None if i.after is None else json.loads(i.after), i.complete) for i in images]


def of_follow(images: Sequence[dict[str, Any]]) -> Short:
    return [image[:4] for image in told(images)]


def in_order(images: Short) -> Short:
    """Images of two tables have no order in Spark."""
    return sorted(images, key=lambda image: image[0])


class TestRowsProve:
    """The CREATE vanished, nobody read it."""

    def test_that_the_id_lives_again(self, tmp_path: Path) -> None:
        log = Log(tmp_path)
        log.put(0, *FIRST_LIFE)
        log.put(2, insert(2, TS + 21, v=2), insert(3, TS + 22, v=3), open=True)
        runs = images_of(log, tmp_path / "images", "c")
        images = Query({"n1": log.path}).run(NOW_US)
        assert short(images) == of_follow(runs.taker.images)
        assert [image.op for image in images] == ["insert", "drop", "upsert", "upsert"]

    def test_hints_of_the_dropped_table_do_not(self, tmp_path: Path) -> None:
        log = Log(tmp_path)
        log.put(0, *FIRST_LIFE, insert(9, TS + 11, v=9))
        log.put(1, insert(8, TS + 12, v=8))
        log.put(2, insert(2, TS + 5, v=2))
        log.put(3, insert(3, TS + 6, v=3), insert(4, TS + 22, v=4), open=True)
        runs = images_of(log, tmp_path / "images", "c")
        assert short(Query({"n1": log.path}).run(NOW_US)) == of_follow(runs.taker.images)

    def test_in_a_later_batch(self, tmp_path: Path) -> None:
        log, query = Log(tmp_path), Query({"n1": Log(tmp_path).path})
        log.put(0, *FIRST_LIFE)
        images = query.run(NOW_US)
        log.put(2, insert(2, TS + 21, v=2), open=True)
        images += query.run(NOW_US + 1)
        runs = images_of(log, tmp_path / "images", "c")
        assert short(images) == of_follow(runs.taker.images)


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("stopped", [False, True])
def test_what_another_consumer_read_of_a_segment_that_vanished(tmp_path: Path, what: str, stopped: bool) -> None:
    x = simple_table("ks", "x", 9)
    log, images = Log(tmp_path), list[Image]()
    query = Query({"n1": log.path})
    log.put(0, create_payload(PLAIN, TS), create_payload(OTHER, TS), insert(1, TS + 1, v=1), open=True)
    runs = images_of(log, tmp_path / "live", "live")
    if stopped:
        images += query.run(NOW_US)
    log.put(0, create_payload(PLAIN, TS), create_payload(OTHER, TS), insert(1, TS + 1, v=1))
    log.put(1, *CHANGES[what], captured=False)
    last = [insert(5, TS + 41, OTHER, v=5), insert(2, TS + 42, x if what == "created" else PLAIN, v=2)]
    log.put(2, *last, open=True)
    runs = images_of(log, tmp_path / "live", "live", runs, at=1)
    log.vanish(1)
    images += query.run(NOW_US + 2)
    assert in_order(short(images)) == in_order(of_follow(runs.taker.images))


def test_the_server_tells_of_the_next_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_of(monkeypatch, rows_of_schema(PLAIN, TS))
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE[:2], open=True)
    runs = images_of(log, tmp_path / "images", "c", server="127.0.0.1:1")
    query = Query({"n1": log.path})
    images = query.run(NOW_US, server="127.0.0.1:1")
    log.put(0, *FIRST_LIFE)
    log.put(2, insert(2, TS + 21, WIDE, v=2, w=7), open=True)
    server_of(monkeypatch, rows_of_schema(WIDE, TS + 20))
    images += query.run(NOW_US + 1, server="127.0.0.1:1")
    runs = images_of(log, tmp_path / "images", "c", runs, at=1, server="127.0.0.1:1")
    assert short(images) == of_follow(runs.taker.images)
    assert [image.op for image in images] == ["insert", "drop", "insert"]


@pytest.mark.parametrize("toggled", [False, True])
def test_the_server_shows_that_nobody_saw_the_drop_and_the_create(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toggled: bool
) -> None:
    server_of(monkeypatch, rows_of_schema(PLAIN, TS))
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE[:2], open=True)
    runs = images_of(log, tmp_path / "images", "c", server="127.0.0.1:1")
    query = Query({"n1": log.path})
    images = query.run(NOW_US, server="127.0.0.1:1")
    log.put(0, *FIRST_LIFE[:2])
    log.put(2, insert(2, TS + 21, v=2), open=True)
    heading, *columns = rows_of_schema(PLAIN, TS + 20)
    server_of(monkeypatch, [*rows_of_schema(PLAIN, TS + 21)[:1], *columns] if toggled else [heading, *columns])
    images += query.run(NOW_US + 1, server="127.0.0.1:1")
    runs = images_of(log, tmp_path / "images", "c", runs, at=1, server="127.0.0.1:1")
    assert short(images) == of_follow(runs.taker.images)
    assert [image.op for image in images] == ["insert", "drop", "upsert" if toggled else "insert"]


def test_a_second_create_shows_the_drop(tmp_path: Path) -> None:
    """Of the segment with the DROP nothing is left, and nobody read it."""
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE[:2])
    log.put(2, create_payload(PLAIN, TS + 20), insert(2, TS + 21, v=2), open=True)
    runs = images_of(log, tmp_path / "images", "c")
    images = Query({"n1": log.path}).run(NOW_US)
    assert short(images) == of_follow(runs.taker.images)
    assert [image.op for image in images] == ["insert", "drop", "insert"]


def test_the_drop_of_a_table_that_does_not_capture_any_more(tmp_path: Path) -> None:
    log = Log(tmp_path)
    begun = [create_payload(PLAIN, TS), insert(1, TS + 1, v=1), captured_payload(PLAIN, cdc=False, ts=TS + 5)]
    log.put(0, *begun, encode_mutation(drop_table(PLAIN, TS + 10)))
    images = Query({"n1": log.path}).run(NOW_US)
    assert [image.op for image in images] == ["insert", "drop"]


PARTS: list[tuple[str, list[bytes]]] = [
    ("n1", [insert(1, TS + 1, v=1), encode_mutation(drop_table(PLAIN, TS + 10))]),
    ("n1", [create_payload(PLAIN, TS + 20), insert(3, TS + 22, v=3), insert(5, TS + 2, v=5)]),
    (
        "n2",
        [insert(4, TS + 2, v=4), create_payload(PLAIN, TS + 20), insert(2, TS + 23, v=2), insert(6, TS + 3, v=6)],
    ),
]
ORDERS = [order for order in permutations(range(3)) if order.index(0) < order.index(1)]


# Without a first table in n2's log, read first: `follow` takes n1's DROP for that of the second table, too.
CASES = [(order, first) for order in ORDERS for first in (True, False) if first or order[0] != 2]


@pytest.mark.parametrize("together", [1, 2, 3])
@pytest.mark.parametrize(("order", "first"), CASES)
def test_a_node_that_was_down_shows_the_create_alone(
    tmp_path: Path, order: tuple[int, ...], first: bool, together: int
) -> None:
    """Each row of the second table has its image, with a timestamp of before the DROP too, however batches fall."""
    begun = create_payload(PLAIN, TS)
    entries = {"n1": [begun], "n2": [begun] if first else [create_payload(OTHER, TS)]}
    logs = {name: Log(tmp_path / name) for name in entries}
    query, images = Query({name: log.path for name, log in logs.items()}), list[Image]()
    steps = [PARTS[number] for number in order]
    for name, log in logs.items():
        log.put(0, *entries[name], open=True)
    query.run(NOW_US)
    for at, (name, more) in enumerate(steps, 1):
        left = [*more]
        if not first and name == "n2":
            left = left[1:]
        entries[name] += left
        logs[name].put(0, *entries[name], open=True)
        if at % together == 0 or at == len(steps):
            images += query.run(NOW_US + at)
    there: dict[str, Image] = {}
    for image in images:
        there.pop(str(image.partition_key), None)
        if image.op == "drop":
            there = {}
        elif image.after is not None:
            there[str(image.partition_key)] = image
    assert {key: image.complete for key, image in there.items()} == {f'{{"pk":{pk}}}': True for pk in (2, 3, 5, 6)}
    assert [image.op for image in images].count("drop") <= 1


def test_a_node_that_left_was_the_last_without_the_create(tmp_path: Path) -> None:
    """What was written until then is known whole from the next batch on."""
    logs = [Log(tmp_path / name) for name in ("n1", "n2")]
    logs[0].put(0, create_payload(PLAIN, TS), insert(1, TS + 1, v=1), open=True)
    logs[1].put(0, create_payload(OTHER, TS), open=True)
    query = Query({"n1": logs[0].path, "n2": logs[1].path})
    assert [(image.op, image.complete) for image in query.run(NOW_US)] == [("upsert", False)]
    del query.logs["n2"]
    logs[0].put(0, create_payload(PLAIN, TS), insert(1, TS + 1, v=1), insert(2, TS + 2, v=2), open=True)
    assert sorted((image.op, image.complete) for image in query.run(NOW_US + 1)) == [("insert", True), ("read", True)]
