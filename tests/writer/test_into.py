"""`replay(into=…)` gives a value of the class for each insert, or one error with the field and the number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import msgspec
import pytest

from tailer.errors import UsageError
from tests.writer.plain import PLAIN
from writer_hooks import Cql, Delta, SegmentLog, Table


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Blue(Enum):
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1


class Place(msgspec.Struct):
    street: str
    number: int | None = None


class WiderPlace(msgspec.Struct):
    street: str
    town: str


class Name(str):
    __slots__ = ()


Id = NewType("Id", int)


def renamed(model: Any, name: str) -> Any:
    """The same class under the name that its type has in the log."""
    model.__name__ = name
    return model


SEQUENCE = Annotated[Sequence[int], Cql("list<bigint>")]


def of(type_: Any, name: str = "Row") -> Any:
    """A class with a key and a field `value` of that type."""
    return msgspec.defstruct(name, [("id", int), ("value", type_)])


def table_of(model: Any, **more: Any) -> Table:
    return Table.of(model, "shop.rows", key=["id"], **more)


def written(folder: Path, table: Table, changes: list[Any]) -> None:
    with SegmentLog.open(folder, [table, PLAIN], segment_bytes=4096, threads=False) as log:
        log.append_many(changes).wait()


def values(folder: Path, model: Any, **more: Any) -> list[Any]:
    """What the loop of docs/service.md puts into its store."""
    store = []
    with SegmentLog.open(folder, [table_of(model, **more), PLAIN], segment_bytes=4096, threads=False) as log:
        for change in log.replay(into=model):
            for row in change.rows():
                if row.value is not None:
                    store.append(row.value)
    return store


class Order(msgspec.Struct):
    id: int
    article: str


class Needy(msgspec.Struct):
    """What became of `Order`: with a field that no row of before has."""

    id: int
    article: str
    note: str


class Mended(msgspec.Struct):
    """As the error says."""

    id: int
    article: str
    note: str = ""


def test_a_new_field_without_a_default_is_an_error_and_no_empty_store(tmp_path: Path) -> None:
    orders = table_of(Order)
    # Several segments, and rows of another table among them.
    changes = [orders.insert(Order(number, "tea" * 100)) for number in range(40)]
    written(tmp_path, orders, [*changes[:20], PLAIN.insert({"id": 1, "note": ""}), *changes[20:]])
    with pytest.raises(
        UsageError, match=r"Needy does not take 40 rows of shop\.rows from here on \(field note\)"
    ) as got:
        values(tmp_path, Needy)
    assert "expected str, found no value. Give note a default; or replay without `into`" in got.value.sentence()
    assert values(tmp_path, Mended) == [Mended(number, "tea" * 100, "") for number in range(40)]


def test_rows_before_and_behind_those_of_the_earlier_class_are_given(tmp_path: Path) -> None:
    orders, needy = table_of(Order), table_of(Needy)
    written(tmp_path, needy, [needy.insert(Needy(1, "ink", "n"))])
    with SegmentLog.open(tmp_path, [orders], segment_bytes=4096, threads=False) as log, log.begin() as transaction:
        transaction.append(orders.insert(Order(2, "tea")))
        transaction.append(orders.insert(Order(3, "tea")))
        transaction.append(orders.update({"id": 3, "article": "pen"}))
    with SegmentLog.open(tmp_path, [needy], segment_bytes=4096, threads=False) as log:
        log.append(needy.insert(Needy(4, "pen", "m"))).wait()
        changes = log.replay(into=Needy)
        assert [row.value for row in next(changes).rows()] == [Needy(1, "ink", "n")]
        earlier = next(changes)
        with pytest.raises(UsageError, match="does not take 2 rows") as got:
            list(earlier.rows())
        assert got.value.at == earlier.position
        assert [row.value for row in list(changes)[-1].rows()] == [Needy(4, "pen", "m")]


UTC_DAY = datetime(2026, 2, 3, tzinfo=UTC)

CHANGED = {
    "int to str": (int, 5, str, "expected str, found 5"),
    "str to int": (str, "5", int, "expected int, found '5'"),
    "str to bytes": (str, "5", bytes, "expected bytes, found '5'"),
    "int to bool": (int, 1, bool, "expected bool, found 1"),
    "bool to int": (bool, True, int, "expected int, found True"),
    "int to float": (int, 5, float, "expected float, found 5"),
    "float to int": (float, 5.5, int, "expected int, found 5.5"),
    "a time to a date": (datetime, UTC_DAY, date, "expected date, found datetime.datetime"),
    "a date to a time": (date, date(2026, 2, 3), datetime, "expected datetime, found datetime.date"),
    "a fraction to int": (Decimal, Decimal("1.5"), Annotated[int, Cql("decimal")], r"int, found Decimal\('1.5'"),
    "str to a list": (str, "a", list[str], r"expected list\[str\], found 'a'"),
    "a list to str": (list[str], ["a"], str, r"expected str, found \['a'\]"),
    "a list of others": (list[int], [1], list[str], "expected str, found 1"),
    "a dict of others": (dict[str, int], {"a": 1}, dict[str, str], "expected str, found 1"),
    "a pair of others": (tuple[int, int], (1, 2), tuple[int, str], "expected str, found 2"),
    "None no more": (str | None, None, str, "expected str, found None"),
    "a member that is gone": (Colour, Colour.RED, Blue, "expected Blue, found 'red'"),
    "a member of str": (str, "x", Colour | None, "expected Colour, found 'x'"),
    "a member of int": (int, 2, Level, "expected Level, found 2"),
    "a value that is gone": (Literal["a", "b"], "b", Literal["a"], r"expected .*Literal\['a'\], found 'b'"),
    "a type to its text": (Place, Place("x"), str, "expected str, found {'street': 'x'"),
    "a text to a type": (str, "x", Place, "expected Place, found 'x'"),
    "int to a class of str": (int, 5, Annotated[Name, Cql("text")], "expected Name, found 5"),
    "str to a named int": (str, "5", Annotated[Id, Cql("bigint")], "expected int, found '5'"),
    "int to a sequence": (int, 5, SEQUENCE, r"expected .*Sequence\[int\], found 5"),
    "str to a sequence": (str, "5", SEQUENCE, r"expected .*Sequence\[int\], found '5'"),
    "a duration to a tuple of str": (timedelta, timedelta(1), Annotated[tuple[str, ...], Cql("list<text>")],
        r"expected tuple\[str, \.\.\.\], found \(0, 1, 0\)"),
    "a type to a dict of int": (Place, Place("x"), Annotated[dict[str, int], Cql("map<text, bigint>")],
        r"expected dict\[str, int\], found {'street': 'x'"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "value", "now", "told"), CHANGED.values(), ids=CHANGED)
def test_a_changed_type_gives_no_value_that_contradicts_the_class(
    tmp_path: Path, before: Any, value: Any, now: Any, told: str
) -> None:
    model = of(before)
    written(tmp_path, table_of(model), [table_of(model).insert(model(number, value)) for number in range(3)])
    with pytest.raises(UsageError, match=rf"Today does not take 3 rows of shop\.rows .*\(field value.*{told}") as got:
        values(tmp_path, of(now, "Today"))
    assert "Give value a type that takes what was written" in got.value.sentence()
    # That advice.
    again = of(before, "Today")
    assert values(tmp_path, again) == [again(number, value) for number in range(3)]


def test_the_other_advice(tmp_path: Path) -> None:
    model = of(int)
    written(tmp_path, table_of(model), [table_of(model).insert(model(1, 5))])
    with SegmentLog.open(tmp_path, [table_of(of(str))], segment_bytes=4096, threads=False) as log:
        rows = [(row.key, row.columns) for change in log.replay() for row in change.rows()]
    assert rows == [({"id": 1}, {"value": 5})]


KEPT = {
    "a list to a set": (list[int], [1, 2], set[int], {1, 2}),
    "a smaller int": (Annotated[int, Cql("int")], 5, int, 5),
    "None allowed": (str, "a", str | None, "a"),
    "a value of a Literal": (str, "a", Literal["a", None], "a"),
    "str to a member": (str, "red", Colour, Colour.RED),
    "one type of two": (str, "a", Annotated[int | str, Cql("text")], "a"),
    "a class of str": (str, "a", Annotated[Name, Cql("text")], "a"),
    "a time as its milliseconds": (datetime, UTC_DAY, Annotated[int, Cql("timestamp")], 1770076800000),
    "a whole decimal": (Decimal, Decimal("2.0"), Annotated[int, Cql("decimal")], 2),
}


@pytest.mark.parametrize(("before", "value", "now", "given"), KEPT.values(), ids=KEPT)
def test_what_still_fits_is_given(tmp_path: Path, before: Any, value: Any, now: Any, given: Any) -> None:
    model, today = of(before), of(now)
    written(tmp_path, table_of(model), [table_of(model).insert(model(1, value))])
    (found,) = values(tmp_path, today)
    assert (found.value, type(found.value)) == (given, type(given))


def test_a_field_within_a_class_within_a_class(tmp_path: Path) -> None:
    before, now = of(Place), of(renamed(WiderPlace, "Place"))
    written(tmp_path, table_of(before), [table_of(before).insert(before(1, Place("x", 2)))])
    with pytest.raises(UsageError, match=r"\(field value\.town\).*expected str, found no value"):
        values(tmp_path, now)


def test_a_key_of_another_type(tmp_path: Path) -> None:
    orders = table_of(Order)
    written(tmp_path, orders, [orders.insert(Order(1, "tea")), orders.delete({"id": 1})])
    today = msgspec.defstruct("Today", [("id", str), ("article", str)])
    # The delete has that key, too.
    with pytest.raises(UsageError, match=r"Today does not take 2 rows.*\(field id\).*expected str, found 1"):
        values(tmp_path, today)


def test_an_insert_of_part_of_a_row(tmp_path: Path) -> None:
    orders = table_of(Order)
    written(tmp_path, orders, [orders.insert({"id": 1}), orders.insert(Order(2, "tea"))])
    with pytest.raises(UsageError, match=r"does not take 1 row .*\(field article\).*expected str, found no value"):
        values(tmp_path, Order)


def test_what_is_no_insert_has_no_value_and_is_no_error(tmp_path: Path) -> None:
    orders = table_of(Order)
    written(tmp_path, orders, [orders.update({"id": 1, "article": None}), orders.delete({"id": 1})])
    with SegmentLog.open(tmp_path, [table_of(Needy)], segment_bytes=4096, threads=False) as log:
        rows = [row for change in log.replay(into=Needy) for row in change.rows()]
    assert [(row.op, row.columns, row.value) for row in rows] == [
        ("update", {"article": None}, None),
        ("delete_row", {}, None),
    ]


def test_an_insert_of_some_elements(tmp_path: Path) -> None:
    model = msgspec.defstruct("Tagged", [("id", int), ("tags", Annotated[set[str], Cql("set<text>")])])
    table = table_of(model)
    written(tmp_path, table, [table.insert(model(1, {"a"})), table.insert({"id": 1, "tags": Delta({"b"})})])
    with pytest.raises(UsageError, match=r"does not take 1 row .*\(field tags\).*found a change of some elements"):
        values(tmp_path, model)


def test_a_pydantic_model_is_held_to_its_types_too(tmp_path: Path) -> None:
    pydantic = pytest.importorskip("pydantic")
    before = pydantic.create_model("Line", id=(int, ...), value=(int, ...))
    table = table_of(before)
    written(tmp_path, table, [table.insert(before(id=1, value=5))])
    with pytest.raises(UsageError, match=r"Line does not take 1 row .*\(field value\).*expected str, found 5"):
        values(tmp_path, pydantic.create_model("Line", id=(int, ...), value=(str, ...)))
