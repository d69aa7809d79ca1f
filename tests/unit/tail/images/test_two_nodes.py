"""Two nodes show the same schema changes, each in its own time: the newest definition stands, whichever log is late."""

from __future__ import annotations

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
    add_column,
    create_payload,
    drop_column,
    encode_mutation,
    i32,
    live,
    rename_column,
    segment_of,
    simple_table,
)

ONE = 1_700_000_000_000
TS = int(NOW * 1_000_000)
PLAIN = simple_table("ks", "t")
W = Column("w", "regular", "int")
WIDE = replace(PLAIN, columns=(*PLAIN.columns, W))
SECOND = 1_000_000


def put(folder: Path, *payloads: bytes) -> Path:
    log = LogFolder(folder / "cdc_raw")
    made = segment_of(ONE, [[payload] for payload in payloads])
    log.put(made, live(made))
    return log.path


def insert(pk: int, ts: int, table: Table, **values: int) -> bytes:
    cells = tuple((name, Cell(i32(value), ts)) for name, value in values.items())
    return encode_mutation((Update(table, i32(pk), (Row((b"a",), Liveness(ts), None, cells),)),))


def in_turn(tmp_path: Path, first: list[bytes], late: list[bytes]) -> list[dict[str, Any]]:
    """The images where one node's log is read whole, and then the other one's entry by entry."""
    logs = {"n1": put(tmp_path / "n1", *first), "n2": put(tmp_path / "n2", late[0])}
    runs = Runs(logs, tmp_path / "images")
    for count in range(1, len(late) + 1):
        put(tmp_path / "n2", *late[:count])
        runs = replace(runs, wall=lambda at=count: NOW + at)
        runs.run()
    return runs.taker.images


@pytest.mark.parametrize(
    ("late_ts", "value"), [(TS + 2, None), (TS + SECOND + 1, 5)], ids=["void", "newer than the DROP"]
)
def test_the_cell_of_a_dropped_column_is_void_by_the_time_of_the_drop(
    tmp_path: Path, late_ts: int, value: int | None
) -> None:
    schema = [
        encode_mutation(drop_column(WIDE, W, TS + SECOND)),
        encode_mutation(add_column(PLAIN, W, TS + 2 * SECOND)),
    ]
    first = [create_payload(WIDE, TS), *schema, insert(1, TS + 3 * SECOND, WIDE, v=1, w=1)]
    late = [create_payload(WIDE, TS), insert(2, late_ts, WIDE, v=2, w=5), *schema]
    rows = {image["partition_key"]["pk"]: image["after"] for image in in_turn(tmp_path, first, late) if image["after"]}
    assert rows == {1: {"pk": 1, "ck": "a", "v": 1, "w": 1}, 2: {"pk": 2, "ck": "a", "v": 2, "w": value}}


def test_the_name_of_a_renamed_key_column_does_not_go_back(tmp_path: Path) -> None:
    renamed = replace(PLAIN, columns=(replace(PLAIN.columns[0], name="id"), *PLAIN.columns[1:]))
    schema = encode_mutation(rename_column(PLAIN, PLAIN.columns[0], renamed.columns[0], TS + SECOND))
    first = [create_payload(PLAIN, TS), insert(1, TS + 1, PLAIN, v=1), schema, insert(1, TS + 2 * SECOND, renamed, v=2)]
    late = [create_payload(PLAIN, TS), insert(3, TS + 2, PLAIN, v=3), schema, insert(4, TS + 3 * SECOND, renamed, v=4)]
    images = in_turn(tmp_path, first, late)
    behind = images[next(at for at, image in enumerate(images) if image["op"] == "schema") :]
    assert sum(image["op"] == "schema" for image in images) == 1
    rows = {image["after"]["id"]: image["after"] for image in behind if image["after"]}
    assert {id: row["v"] for id, row in rows.items()} == {1: 2, 3: 3, 4: 4}
    assert all("pk" not in image["after"] for image in behind if image["after"])


@pytest.mark.parametrize("apart", [True, False], ids=["one node late", "in step"])
def test_a_key_column_that_is_renamed_and_renamed_back(tmp_path: Path, apart: bool) -> None:
    """Each node shows three definitions, of which the last one is as the first."""
    renamed = replace(PLAIN, columns=(replace(PLAIN.columns[0], name="id"), *PLAIN.columns[1:]))
    there = encode_mutation(rename_column(PLAIN, PLAIN.columns[0], renamed.columns[0], TS + SECOND))
    back = encode_mutation(rename_column(renamed, renamed.columns[0], PLAIN.columns[0], TS + 3 * SECOND))

    def of(node: int) -> list[bytes]:
        at = TS + node
        rows = [insert(node, at, PLAIN, v=1), insert(node, at + 2 * SECOND, renamed, v=2)]
        return [create_payload(PLAIN, TS), rows[0], there, rows[1], back, insert(node, at + 4 * SECOND, PLAIN, v=3)]

    first, late = of(1), of(2)
    if apart:
        images = in_turn(tmp_path, first, late)
    else:
        runs = Runs({"n1": put(tmp_path / "n1", first[0]), "n2": put(tmp_path / "n2", late[0])}, tmp_path / "images")
        for count in range(1, len(first) + 1):
            put(tmp_path / "n1", *first[:count])
            put(tmp_path / "n2", *late[:count])
            runs = replace(runs, wall=lambda at=count: NOW + at)
            runs.run()
        images = runs.taker.images
    assert [image["changed"] for image in images if image["op"] == "schema"] == [["id", "pk"], ["pk", "id"]]
    rows = [image["after"] for image in images if image["after"]]
    behind = [image["op"] for image in images].index("schema")
    last = len(images) - 1 - [image["op"] for image in reversed(images)].index("schema")
    assert all("id" in image["after"] for image in images[behind:last] if image["after"])
    assert all("pk" in image["after"] for image in images[last:] if image["after"])
    newest = {row.get("pk", row.get("id")): row["v"] for row in rows}
    assert newest == {1: 3, 2: 3}
