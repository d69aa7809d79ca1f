"""A table is dropped and created again with its id, and a node that was down logs the CREATE alone.

Each history is told in several orders of the nodes: what one log shows first, another one shows in the end too.
"""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.log_writer import create_payload, drop_table, encode_mutation
from tests.helpers.logs.schema import COLUMNS, TABLES, _by_name, _column_row, _table_row, _update
from tests.unit.tail.images.test_definitions import PLAIN, TS, WIDE, alive, insert, put, run

CREATE = create_payload(PLAIN, TS)
DROP, AGAIN = encode_mutation(drop_table(PLAIN, TS + 10)), create_payload(PLAIN, TS + 20)


def told(tmp_path: Path, *steps: tuple[str, list[bytes]]) -> list[dict[str, Any]]:
    """The images where each step adds entries to one node's log, and all logs are read then."""
    entries = {name: [CREATE] for name, _ in steps}
    logs = {name: put(tmp_path / name, CREATE).path for name in sorted(entries)}
    runs = run(logs, tmp_path / "images")
    for at, (name, more) in enumerate(steps, 1):
        entries[name] += more
        put(tmp_path / name, *entries[name])
        runs = run(logs, tmp_path / "images", runs, at=at)
    return runs.taker.images


PARTS: list[tuple[str, list[bytes]]] = [
    ("n1", [insert(1, TS + 1, v=1), DROP]),
    ("n1", [AGAIN, insert(3, TS + 22, v=3), insert(5, TS + 2, v=5)]),
    ("n2", [insert(4, TS + 2, v=4), AGAIN, insert(2, TS + 23, v=2), insert(6, TS + 3, v=6)]),
]
ORDERS = [order for order in permutations(range(3)) if order.index(0) < order.index(1)]


@pytest.mark.parametrize("order", ORDERS)
def test_each_row_of_the_second_table_has_its_image(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Also one with a timestamp of before the DROP, behind the CREATE of its own log."""
    images = told(tmp_path, *(PARTS[number] for number in order))
    rows = {str({"pk": pk}): {"pk": pk, "ck": "a", "v": pk} for pk in (2, 3, 5, 6)}
    assert alive(images) == rows
    assert [image["op"] for image in images].count("drop") == 1
    complete = {str(image["partition_key"]): image["complete"] for image in images}
    assert all(complete[key] for key in rows)


def test_rows_newer_than_the_drop_whose_log_shows_no_create_at_all(tmp_path: Path) -> None:
    """The segment of n2's CREATE is gone."""
    late = ("n2", [insert(2, TS + 21, v=2)])
    images = told(tmp_path, ("n1", [DROP]), late, ("n1", [AGAIN, insert(3, TS + 22, v=3)]))
    assert sorted(alive(images)) == ["{'pk': 2}", "{'pk': 3}"]


def test_rows_of_the_future_end_with_the_drop_of_their_log(tmp_path: Path) -> None:
    late = ("n2", [insert(2, TS + 15, v=2)])
    images = told(tmp_path, ("n1", [DROP]), late, ("n2", [DROP]), ("n1", [AGAIN, insert(3, TS + 22, v=3)]))
    assert list(alive(images)) == ["{'pk': 3}"]
    assert [image["op"] for image in images] == ["drop", "upsert", "delete", "drop", "insert"]


def test_a_node_that_missed_an_alter_logs_the_whole_schema_and_creates_nothing(tmp_path: Path) -> None:
    """The columns of before have their own times there; the row of `tables` has that of the ALTER."""
    columns = tuple(_column_row(WIDE, each, TS + 50 if each.name == "w" else TS) for each in _by_name(WIDE))
    pulled = (_update(COLUMNS, WIDE, columns), _update(TABLES, WIDE, (_table_row(WIDE, TS + 50),)))
    more = [encode_mutation(pulled), insert(2, TS + 60, WIDE, v=2, w=2)]
    images = told(tmp_path, ("n1", [insert(1, TS + 1, v=1)]), ("n1", more))
    assert [(image["op"], image["complete"]) for image in images] == [
        ("insert", True), ("schema", True), ("insert", True)
    ]  # fmt: skip
