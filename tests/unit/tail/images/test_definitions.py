"""Row images do not depend on how far a consumer lags: each change is merged by the definition of its position.

A consumer that reads after every entry, and one that reads everything at once, give the same images. Tables that are
dropped and created again with the same id give images again, also while one node is read late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.image_runs import NOW, Runs
from tests.helpers.log_writer import (
    Cell,
    Column,
    Liveness,
    LogFolder,
    Row,
    Table,
    Update,
    create_payload,
    drop_column,
    drop_table,
    encode_mutation,
    i32,
    live,
    segment_of,
    simple_table,
)

ONE = 1_700_000_000_000
TS = int(NOW * 1_000_000)
PLAIN = simple_table("ks", "t")
W = Column("w", "regular", "int")
WIDE = replace(PLAIN, columns=(*PLAIN.columns, W))


def put(folder: Path, *payloads: bytes) -> LogFolder:
    log = LogFolder(folder / "cdc_raw")
    made = segment_of(ONE, [[payload] for payload in payloads])
    log.put(made, live(made))
    return log


def insert(pk: int, ts: int, table: Table = PLAIN, **values: int) -> bytes:
    cells = tuple((name, Cell(i32(value), ts)) for name, value in values.items())
    return encode_mutation((Update(table, i32(pk), (Row((b"a",), Liveness(ts), None, cells),)),))


def told(images: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(i["op"], i["partition_key"], i["before"], i["after"], i["changed"], i["complete"]) for i in images]


def run(logs: dict[str, Path], folder: Path, runs: Runs | None = None, at: float = 0) -> Runs:
    made = Runs(logs, folder) if runs is None else runs
    made = replace(made, wall=lambda: NOW + at)
    made.run()
    return made


def both(tmp_path: Path, *entries: bytes) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The images of a consumer that reads after every entry, and of one that reads everything at once."""
    caught_up: Runs | None = None
    log = put(tmp_path / "n1", entries[0]).path
    for count in range(1, len(entries) + 1):
        put(tmp_path / "n1", *entries[:count])
        caught_up = run({"n1": log}, tmp_path / "images", caught_up, at=count)
    behind = put(tmp_path / "n2", *entries).path
    lagging = run({"n2": behind}, tmp_path / "behind", at=len(entries))
    assert caught_up is not None
    return told(caught_up.taker.images), told(lagging.taker.images)


def test_rows_before_drop_column_have_their_images(tmp_path: Path) -> None:
    entries = [
        create_payload(WIDE, TS),
        insert(1, TS + 1, WIDE, v=1, w=1),
        insert(1, TS + 2, WIDE, w=2),
        encode_mutation((Update(WIDE, i32(2), (Row((b"a",), None, None, (("w", Cell(i32(7), TS + 3)),)),)),)),
        encode_mutation(drop_column(WIDE, W, TS + 1_000_000)),
        insert(3, TS + 1_000_001, PLAIN, v=3),
    ]
    caught_up, lagging = both(tmp_path, *entries)
    assert lagging == caught_up
    assert [(op, after) for op, _, _, after, _, _ in caught_up if op != "schema"] == [
        ("insert", {"pk": 1, "ck": "a", "v": 1, "w": 1}),
        ("update", {"pk": 1, "ck": "a", "v": 1, "w": 2}),
        ("insert", {"pk": 2, "ck": "a", "v": None, "w": 7}),
        ("update", {"pk": 1, "ck": "a", "v": 1}),
        ("delete", None),
        ("insert", {"pk": 3, "ck": "a", "v": 3}),
    ]


AGAIN = [
    create_payload(PLAIN, TS),
    insert(1, TS + 1, v=1),
    encode_mutation(drop_table(PLAIN, TS + 10)),
    create_payload(PLAIN, TS + 20),
    insert(2, TS + 21, v=2),
]


def test_a_table_that_is_created_again_with_the_same_id_has_images(tmp_path: Path) -> None:
    caught_up, lagging = both(tmp_path, *AGAIN)
    assert lagging == caught_up
    assert [(op, after, complete) for op, _, _, after, _, complete in caught_up] == [
        ("insert", {"pk": 1, "ck": "a", "v": 1}, True),
        ("drop", None, True),
        ("insert", {"pk": 2, "ck": "a", "v": 2}, True),
    ]


def alive(images: Sequence[dict[str, Any]]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for image in images:
        if image["op"] == "drop":
            rows.clear()
        elif image["partition_key"] is not None:
            rows[str(image["partition_key"])] = image["after"]
    return {key: row for key, row in rows.items() if row is not None}


@pytest.mark.parametrize("future", [False, True])
def test_rows_of_the_first_incarnation_that_are_read_late_do_not_show_again(tmp_path: Path, future: bool) -> None:
    """`future`: their timestamps are newer than the DROP; they go when the late log shows it."""
    first = insert(1, TS + 15, v=1) if future else insert(1, TS + 1, v=1)
    one = [AGAIN[0], first, *AGAIN[2:]]
    logs = {name: put(tmp_path / name, one[0]).path for name in ("n1", "n2")}
    runs = run(logs, tmp_path / "images")
    put(tmp_path / "n1", *one)
    runs = run(logs, tmp_path / "images", runs, at=1)
    put(tmp_path / "n2", *one[:2])
    runs = run(logs, tmp_path / "images", runs, at=2)
    if not future:
        assert list(alive(runs.taker.images)) == ["{'pk': 2}"]
    put(tmp_path / "n2", *one)
    runs = run(logs, tmp_path / "images", runs, at=3)
    assert list(alive(runs.taker.images)) == ["{'pk': 2}"]
    assert sum(image["op"] == "drop" for image in runs.taker.images) == 1
    # What the late node writes into the second incarnation counts, also with a timestamp of before the DROP.
    put(tmp_path / "n2", *one, insert(3, TS + 2, v=3), insert(4, TS + 40, v=4))
    runs = run(logs, tmp_path / "images", runs, at=4)
    assert sorted(alive(runs.taker.images)) == ["{'pk': 2}", "{'pk': 3}", "{'pk': 4}"]


def test_a_second_incarnation_with_other_columns(tmp_path: Path) -> None:
    """The late log still has rows of columns that the table does not have any more."""
    one = [
        create_payload(WIDE, TS),
        insert(1, TS + 1, WIDE, v=1, w=1),
        encode_mutation(drop_table(WIDE, TS + 10)),
        create_payload(PLAIN, TS + 20),
        insert(2, TS + 21, v=2),
    ]
    logs = {name: put(tmp_path / name, *one[: 5 if name == "n1" else 1]).path for name in ("n1", "n2")}
    runs = run(logs, tmp_path / "images")
    put(tmp_path / "n2", *one[:2])
    runs = run(logs, tmp_path / "images", runs, at=1)
    assert list(alive(runs.taker.images)) == ["{'pk': 2}"]
    put(tmp_path / "n2", *one)
    runs = run(logs, tmp_path / "images", runs, at=2)
    assert list(alive(runs.taker.images)) == ["{'pk': 2}"]
    assert [image["complete"] for image in runs.taker.images][-1]


def test_dropped_and_created_more_than_once(tmp_path: Path) -> None:
    twice = [
        *AGAIN,
        encode_mutation(drop_table(PLAIN, TS + 30)),
        create_payload(PLAIN, TS + 40),
        insert(3, TS + 41, v=3),
    ]
    caught_up, lagging = both(tmp_path, *twice)
    assert lagging == caught_up
    assert [op for op, *_ in caught_up] == ["insert", "drop", "insert", "drop", "insert"]
