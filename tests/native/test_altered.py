"""A service's declaration loses fields and names others anew: rows before and after are read as one table."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

import tailer
from tailer.errors import DefinitionError
from tailer.spark.state import table_definition
from tests.helpers.rebuilt import rebuilt
from writer_hooks import Column, Cql, Delta, SegmentLog, Table


class OldItem(msgspec.Struct):
    size: int
    name: str
    tags: list[str]


class Old(msgspec.Struct):
    id: int
    article: str
    stock: int
    price: Decimal | None = None
    item: Annotated[OldItem | None, Cql("frozen<item>")] = None
    items: Annotated[list[OldItem], Cql("frozen<list<frozen<item>>>")] = []


class NewItem(msgspec.Struct):
    """`size` is gone, `tags` is called `marks`."""

    name: str
    marks: list[str]


class New(msgspec.Struct):
    """`price` is gone, `article` is called `title`."""

    id: int
    title: str
    stock: int
    item: Annotated[NewItem | None, Cql("frozen<item>")] = None
    items: Annotated[list[NewItem], Cql("frozen<list<frozen<item>>>")] = []


OLD_TYPES = {"item": {"size": "bigint", "name": "text", "tags": "frozen<list<text>>"}}
NEW_TYPES = {"item": {"name": "text", "marks": "frozen<list<text>>"}}


def table(columns: dict[str, str], types: dict[str, dict[str, str]]) -> Table:
    kinds: dict[str, Any] = {"id": "partition_key"}
    return Table("shop.orders", [Column(name, type_, kinds.get(name, "regular")) for name, type_ in columns.items()],
        types=types)  # fmt: skip


OLD = table(
    {"id": "bigint", "article": "text", "stock": "bigint", "price": "decimal", "item": "frozen<item>",
     "items": "frozen<list<frozen<item>>>", "part": "item", "parts": "map<text, frozen<item>>"},
    OLD_TYPES,
)  # fmt: skip
NEW = table(
    {"id": "bigint", "title": "text", "stock": "bigint", "item": "frozen<item>",
     "items": "frozen<list<frozen<item>>>", "part": "item", "parts": "map<text, frozen<item>>"},
    NEW_TYPES,
)  # fmt: skip


def before() -> list[Any]:
    whole = Old(1, "tea", 3, Decimal("1.50"), OldItem(7, "box", ["a"]), [OldItem(8, "bag", [])])
    parts = {"part": OldItem(5, "lid", ["x"]), "parts": {"p": OldItem(6, "cap", ["y"])}}
    return [
        OLD.insert({**msgspec.structs.asdict(whole), **parts}),
        OLD.insert({"id": 2, "article": "ink", "stock": 4}),
    ]


def after() -> list[Any]:
    whole = New(3, "pen", 5, NewItem("can", ["b"]), [NewItem("jar", ["c"])])
    return [
        NEW.insert(whole),
        NEW.update({"id": 2, "title": "INK", "part": Delta({"marks": ["z"]})}),
        NEW.update({"id": 1, "stock": 9, "part": Delta({}, ["name"])}),
    ]


def write(folder: Path, changes: list[Any]) -> None:
    with SegmentLog.open(folder, segment_bytes=65536, threads=False) as log:
        for number, change in enumerate(changes):
            change.write_ts = 1_000_000 * (number + len(list(log.replay())) + 1)
            log.append(change).wait()


def typed(folder: Path, **options: Any) -> list[dict[str, Any]]:
    batches = tailer.open(folder / "cdc_raw", table="shop.orders", **options).read()
    return [each for batch in batches for each in batch.to_pylist()]


def own(row: dict[str, Any]) -> dict[str, Any]:
    """The table's own columns that the row sets, with the key."""
    return {name: row[name] for name in ("id", *row["_set"])}


def test_the_typed_form_has_rows_of_both_declarations(tmp_path: Path) -> None:
    write(tmp_path, before())
    write(tmp_path, after())
    rows = typed(tmp_path)
    box = {"name": "box", "marks": None, "size": 7, "tags": ["a"]}
    assert [own(row) for row in rows] == [
        {
            "id": 1, "article": "tea", "stock": 3, "price": Decimal("1.50"), "item": box,
            "items": [{"name": "bag", "marks": None, "size": 8, "tags": []}],
            "part": {"name": "lid", "marks": None, "size": 5, "tags": ["x"]},
            "parts": [("p", {"name": "cap", "marks": None, "size": 6, "tags": ["y"]})],
        },
        {"id": 2, "article": "ink", "stock": 4},
        {
            "id": 3, "title": "pen", "stock": 5, "item": {"name": "can", "marks": ["b"], "size": None, "tags": None},
            "items": [{"name": "jar", "marks": ["c"], "size": None, "tags": None}],
        },
        {"id": 2, "title": "INK"},
        {"id": 1, "stock": 9},
    ]  # fmt: skip
    assert [row["title"] for row in rows] == [None, None, "pen", "INK", None]
    assert [row["price"] for row in rows[1:]] == [None] * 4


def test_a_run_whose_form_is_older_stops_at_what_is_new_and_the_next_one_goes_on(tmp_path: Path) -> None:
    write(tmp_path, before())
    log = tailer.open(tmp_path / "cdc_raw", table="shop.orders", consumer="c")
    found: list[int] = []
    batches = log.follow()
    found += next(iter(batches)).to_pydict()["id"]
    write(tmp_path, after())
    with pytest.raises(DefinitionError, match="title"):
        list(batches)
    assert set(found) <= {1, 2}
    assert [row["id"] for row in typed(tmp_path, consumer="c")][-3:] == [3, 2, 1]


def test_the_current_state_has_rows_of_both_declarations(tmp_path: Path) -> None:
    write(tmp_path, before())
    write(tmp_path, after())
    folder = tmp_path / "cdc_raw"
    rows = [row for batch in tailer.open(folder).read() for row in batch.to_pylist()]
    shown = [json.loads(text) for text in rebuilt(rows, table_definition(folder, "shop.orders"), 10)]
    by_id = {row["id"]: {name: value for name, value in row.items() if value is not None} for row in shown}
    assert by_id[2] == {
        "id": 2,
        "stock": 4,
        "title": "INK",
        "part": {"name": None, "marks": ["z"], "size": None, "tags": None},
    }
    assert by_id[1]["item"] == {"name": "box", "marks": None, "size": 7, "tags": ["a"]}
    assert by_id[1]["part"] == {"name": None, "marks": None, "size": 5, "tags": ["x"]}
    assert by_id[1]["stock"] == 9
    assert by_id[3]["items"] == [{"name": "jar", "marks": ["c"], "size": None, "tags": None}]
    assert all("article" not in row and "price" not in row for row in shown)


def test_a_column_that_is_back_is_live_again(tmp_path: Path) -> None:
    write(tmp_path, before())
    write(tmp_path, after())
    write(tmp_path, [OLD.update({"id": 3, "article": "pencil"})])
    definition = table_definition(tmp_path / "cdc_raw", "shop.orders").definition
    assert {column.name for column in definition.columns if column.dropped} == {"title"}
