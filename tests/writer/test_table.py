"""Tables as a program declares them, and the records of changes: laid out by hand."""

from __future__ import annotations

from decimal import Decimal
from hashlib import blake2b
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest

from tailer.errors import UsageError
from tailer.scan.record.record import decode_record
from tailer.schema.record_definitions import definition_of
from writer_hooks.cell_arrays import Delta
from writer_hooks.declare import Cql
from writer_hooks.declared_table import Table
from writer_hooks.table_model import Column


class Item(msgspec.Struct):
    name: str
    tags: list[str]


class Order(msgspec.Struct):
    id: int
    line: Annotated[int, Cql("int")]
    article: str
    price: Decimal | None = None
    item: Item | None = None


ID = UUID(int=7)
ORDERS = Table.of(Order, "shop.orders", key=["id"], clustering=["line"], desc=["line"], id=ID)
WIDE = Table(
    "shop.wide",
    [
        Column("k", "text", "partition_key"),
        Column("c", "int", "clustering"),
        Column("s", "int", "static"),
        Column("tags", "set<text>"),
        Column("parts", "map<text, int>"),
        Column("marks", "list<int>"),
        Column("place", "place"),
    ],
    types={"place": {"street": "text", "number": "int"}},
    id=ID,
)
ONE, TWO = bytes([0] * 7 + [1]), bytes([0, 0, 0, 2])


def raw(change: Any, txn: int | None = None, write_ts: int = 5_000_000) -> Any:
    """The record as msgpack has it, arrays as lists."""
    return msgspec.msgpack.decode(change.encode(txn, write_ts))


def test_a_definition_by_hand() -> None:
    columns = [
        ["id", 0, "bigint", False],
        ["line", 1, "int", True],
        ["article", 3, "text", False],
        ["price", 3, "decimal", False],
        ["item", 3, "frozen<item>", False],
    ]
    types = [["item", [["name", "text"], ["tags", "frozen<list<text>>"]]]]
    elements = [ID.bytes, "shop", "orders", True, columns, types]
    fingerprint = blake2b(b"".join(map(msgspec.msgpack.encode, elements)), digest_size=8).digest()
    assert msgspec.msgpack.decode(ORDERS.definition) == [1, fingerprint, *elements]
    assert (ORDERS.id, ORDERS.fp) == (ID.bytes, fingerprint)


def test_the_flag_cdc_is_part_of_the_fingerprint() -> None:
    untracked = Table.of(Order, "shop.orders", key=["id"], clustering=["line"], desc=["line"], id=ID, cdc=False)
    assert untracked.id == ORDERS.id
    assert untracked.fp != ORDERS.fp


def test_a_definition_is_read_as_it_was_declared() -> None:
    record: Any = decode_record(WIDE.definition)
    assert definition_of(record) == WIDE.model


def test_an_insert_by_hand() -> None:
    change = ORDERS.insert(Order(1, 2, "tea", Decimal("1.5")), attrs={"origin": "web"})
    cells = [
        [2, b"tea", None, None, None, None],
        [3, b"\0\0\0\1\x0f", None, None, None, None],
        [4, None, None, None, None, None],
    ]
    row = [0, [ONE], [TWO], False, None, None, None, cells, None]
    assert raw(change) == [2, ORDERS.id, ORDERS.fp, None, 5_000_000, [row], {"origin": "web"}]


def test_ttl_counts_from_the_time_of_the_write() -> None:
    row = raw(ORDERS.insert({"id": 1, "line": 2, "article": "x"}, ttl=60))[5][0]
    assert row[4:7] == [None, 60, 65]
    assert row[7] == [[2, b"x", None, 60, 65, None]]
    assert raw(ORDERS.update({"id": 1, "line": 2, "article": "x"}, ttl=60))[5][0][4:7] == [None, None, None]


def test_unset_is_untouched_and_none_is_deleted() -> None:
    row = raw(ORDERS.update({"id": 1, "line": 2, "article": msgspec.UNSET, "price": None}), txn=9)
    assert row[3] == 9
    assert row[5] == [[1, [ONE], [TWO], False, None, None, None, [[3, None, None, None, None, None]], None]]


def test_replace_deletes_the_row_a_microsecond_before() -> None:
    rows = raw(ORDERS.replace({"id": 1, "line": 2, "article": "x"}))[5]
    assert rows[0] == [2, [ONE], [TWO], False, 4_999_999, None, None, [], None]
    assert rows[1][0] == 0


def test_deletes_by_hand() -> None:
    assert raw(ORDERS.delete({"id": 1, "line": 2}))[5] == [[2, [ONE], [TWO], False, None, None, None, [], None]]
    assert raw(ORDERS.delete_partition({"id": 1}))[5] == [[4, [ONE], None, False, None, None, None, [], None]]
    ranged = ORDERS.delete_range({"id": 1}, start=[2], start_inclusive=False, end_inclusive=False)
    assert raw(ranged)[5] == [[3, [ONE], None, False, None, None, None, [], [[TWO], False, None, True]]]


def test_static_values_have_a_row_of_their_own() -> None:
    both = raw(WIDE.insert({"k": "a", "c": 2, "s": 1}))[5]
    assert both == [
        [1, [b"a"], None, True, None, None, None, [[2, b"\0\0\0\1", None, None, None, None]], None],
        [0, [b"a"], [TWO], False, None, None, None, [], None],
    ]
    assert raw(WIDE.update({"k": "a", "s": 1}))[5] == both[:1]


def test_a_non_frozen_column_is_replaced_or_changed_by_element() -> None:
    whole = raw(WIDE.update({"k": "a", "c": 2, "tags": {"x"}}))[5][0][7]
    assert whole == [[3, None, None, None, None, [4_999_999, [[b"x", b"", None, None, None]]]]]
    some = raw(WIDE.update({"k": "a", "c": 2, "parts": Delta({"p": 1}, ["q"])}, ttl=3))[5][0][7]
    assert some == [
        [4, None, None, None, None, [None, [[b"p", b"\0\0\0\1", None, 3, 8], [b"q", None, None, None, None]]]]
    ]
    field = raw(WIDE.update({"k": "a", "c": 2, "place": Delta({"number": 1}, ["street"])}))[5][0][7]
    items = [[b"\0\1", b"\0\0\0\1", None, None, None], [b"\0\0", None, None, None, None]]
    assert field == [[6, None, None, None, None, [None, items]]]


def test_a_list_gets_ids_in_its_order() -> None:
    items = raw(WIDE.update({"k": "a", "c": 2, "marks": [3, 1, 2]}))[5][0][7][0][5][1]
    assert [value[-1] for _, value, *_ in items] == [3, 1, 2]
    times = [UUID(bytes=path).time for path, *_ in items]
    assert times == sorted(set(times))
    assert all(UUID(bytes=path).version == 1 for path, *_ in items)
    removed = raw(WIDE.update({"k": "a", "c": 2, "marks": Delta((), [UUID(bytes=items[0][0])])}))[5][0][7][0][5][1]
    assert removed == [[items[0][0], None, None, None, None]]


def test_changes_of_one_table_are_put_together() -> None:
    first, second = ORDERS.delete({"id": 1, "line": 2}, attrs={"a": 1}), ORDERS.delete_partition({"id": 1})
    made = raw(first & second)
    assert [row[0] for row in made[5]] == [2, 4]
    assert made[6] == {"a": 1}
    with pytest.raises(UsageError, match="a change has rows of one table"):
        first & WIDE.delete_partition({"k": "a"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"id": 1}, "needs a value for line"),
        ({"id": "x", "line": 1}, "column id: .*: expected bigint, found 'x'"),
        ({"id": 1, "line": 2, "article": 5}, "column article: .*expected text, found 5"),
        ({"id": 1, "line": 2, "colour": 5}, "has no column colour"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ORDERS.insert(values)


def test_bounds_that_do_not_fit() -> None:
    with pytest.raises(UsageError, match="1 to 1 clustering columns, found 2"):
        ORDERS.delete_range({"id": 1}, start=[1, 2])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([Column("a", "int")], "columns in the order"),
        ([Column("a", "int", "partition_key"), Column("a", "int")], "each once"),
        ([Column("a", "int", "partition_key"), Column("n", "counter")], "the counter n"),
        ([Column("a", "set<int>", "partition_key")], "frozen types in the key"),
        ([Column("a", "number", "partition_key")], "not known"),
    ],
)
def test_declarations_that_are_refused(columns: list[Column], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Table("shop.bad", columns)


def test_a_table_without_keyspace_is_refused() -> None:
    with pytest.raises(UsageError, match=r"keyspace\.table"):
        Table("orders", [Column("a", "int", "partition_key")])


class Loop(msgspec.Struct):
    id: int
    value: complex


def test_a_field_without_a_cql_type_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no CQL type for Loop\.value"):
        Table.of(Loop, "shop.loop", key=["id"])
    with pytest.raises(UsageError, match="Order has no field nr"):
        Table.of(Order, "shop.orders", key=["nr"])


def test_a_struct_gives_what_its_values_give() -> None:
    order = Order(1, 2, "tea", None, Item("a", ["b"]))
    assert raw(ORDERS.insert(order)) == raw(ORDERS.insert(msgspec.structs.asdict(order)))
    with pytest.raises(UsageError, match="column article"):
        ORDERS.insert(Order(1, 2, 3))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="needs a value for line"):
        ORDERS.insert(Order(1, None, "x"))  # type: ignore[arg-type]
