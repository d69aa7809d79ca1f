"""Replay gives back what was written: values of Python, and the Struct itself."""

from __future__ import annotations

import ipaddress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest

from tailer.errors import UsageError
from tests.writer.plain import PLAIN
from tests.writer.small_log import small
from writer_hooks import Cql, SegmentLog, Table


class Item(msgspec.Struct):
    name: str
    price: Decimal | None = None


class Wide(msgspec.Struct):
    number: int
    line: Annotated[int, Cql("int")]
    owner: str
    price: Decimal
    at: datetime
    millis: Annotated[int, Cql("timestamp")]
    day: date
    hour: time
    nanos: Annotated[int, Cql("time")]
    took: timedelta
    id: UUID
    id_text: Annotated[str, Cql("uuid")]
    address: ipaddress.IPv4Address
    data: bytes
    share: float
    open: bool
    tags: set[str]
    marks: list[int]
    sums: dict[str, Decimal]
    pair: tuple[int, str]
    frozen: frozenset[int]
    item: Item
    items: list[Item]
    huge: Annotated[int, Cql("varint")]
    some: Annotated[set[str], Cql("set<text>")]
    note: str | None = None
    more: int | msgspec.UnsetType = msgspec.UNSET


WIDE = Table.of(Wide, "shop.wide", key=["number"], clustering=["line"], static=["owner"])


def wide(price: Decimal, **more: Any) -> Wide:
    return Wide(
        1, 2, "ann", price, datetime(2026, 2, 3, 4, 5, 6, 7000, tzinfo=UTC), -5, date(1, 1, 1), time(1, 2, 3, 4),
        86_399_999_999_999, timedelta(days=-1, microseconds=3), UUID(int=7), str(UUID(int=8)),
        ipaddress.IPv4Address("10.0.0.1"), b"\0", 0.1, True, {"a", "b"}, [3, 1], {"x": Decimal("0.10")}, (1, "a"),
        frozenset((1, 2)), Item("pen", Decimal("1E+3")), [Item("ink")], 10**5000, {"u", "v"}, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    "price",
    [
        Decimal("0.1"),
        Decimal("-12345678901234567890.123456789012345678901"),
        Decimal(10**6000 + 1),
        Decimal("1E+2147483648"),
        Decimal("-7.5E-2147483640"),
        Decimal("0E-3"),
    ],
    ids=["short", "long", "very long", "the largest scale", "the smallest scale", "zero with a scale"],
)
def test_replay_gives_back_the_struct_that_was_written(tmp_path: Path, price: Decimal) -> None:
    written = [wide(price), wide(price, note="n", more=5)]
    with SegmentLog.open(tmp_path, [WIDE], segment_bytes=1 << 20, threads=False) as log:
        for each in written:
            log.append(WIDE.insert(each))
        log.sync()
        rows = [row for each in log.replay(into=Wide) for row in each.rows()]
        found = [row.value for row in rows if row.op == "insert"]
        assert found == written
        assert [each.price.as_tuple() for each in found] == [price.as_tuple()] * 2
        assert [type(each.frozen) for each in found] == [frozenset] * 2
        columns = rows[1].columns
        assert (columns["price"], columns["at"], columns["id"]) == (price, written[0].at, written[0].id)
        assert all(row.value is None for each in log.replay() for row in each.rows())


def test_each_insert_and_nothing_else_is_given_as_the_struct(tmp_path: Path) -> None:
    class Order(msgspec.Struct):
        id: int
        article: str
        note: str | None = None
        price: Decimal = Decimal(1)

    orders = Table.of(Order, "shop.orders", key=["id"])
    with SegmentLog.open(tmp_path, [orders, PLAIN], segment_bytes=65536, threads=False) as log:
        log.append(orders.insert({"id": 1, "article": "tea"}))
        log.append(orders.update({"id": 3, "article": "ink", "price": Decimal("2.5")}))
        log.append(orders.replace(Order(4, "pen", "n")))
        log.append(orders.delete({"id": 5}))
        log.append(PLAIN.insert({"id": 6, "note": ""}))
        log.sync()
        rows = [row for each in log.replay(into=[Order]) for row in each.rows()]
        assert [row.value for row in rows] == [Order(1, "tea"), None, None, Order(4, "pen", "n"), None, None]
        assert rows[1].columns == {"article": "ink", "price": Decimal("2.5")}
        with pytest.raises(UsageError, match="no table of this log was declared by Item: expected Order"):
            log.replay(into=Item)


class Later(msgspec.Struct):
    """What became of a Struct `Order(id, article, price)`: a field gone, one renamed, one new."""

    id: int
    title: str = "?"
    stock: int = 0


def test_rows_of_an_earlier_declaration_are_given_as_the_struct_of_today(tmp_path: Path) -> None:
    class Order(msgspec.Struct):
        id: int
        article: str
        stock: int
        price: Decimal | None = None

    with small(tmp_path) as log:
        log.append(Table.of(Order, "shop.orders", key=["id"]).insert(Order(1, "tea", 3)))
    with SegmentLog.open(tmp_path, [Table.of(Later, "shop.orders", key=["id"])], segment_bytes=4096) as log:
        (row,) = next(log.replay(into=Later)).rows()
        assert row.value == Later(1, "?", 3)
        assert row.columns == {"article": "tea", "stock": 3, "price": None}
