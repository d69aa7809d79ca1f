"""Tables declared by classes of every kind: what they declare, what is written, and the same value back."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from tailer.errors import UsageError
from writer_hooks import Column, Cql, SegmentLog, Table


class Status(StrEnum):
    PLACED = "placed"
    SENT = "sent"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Colour(Enum):
    """Neither a text nor a number itself."""

    RED = "red"
    BLUE = "blue"


class Odd(StrEnum):
    """Members that are one text and stand for another."""

    def __new__(cls, text: str) -> Odd:
        made = str.__new__(cls, text.upper())
        made._value_ = text
        return made

    A = "a"


class Item(msgspec.Struct):
    name: str
    colour: Colour = Colour.RED


@dataclasses.dataclass
class Place:
    street: str
    number: int | None = None
    colours: list[Colour] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Order:
    number: int
    status: Status
    level: Annotated[Level, Cql("tinyint")]
    colour: Colour | None
    odd: Odd
    size: Literal["s", "m", 'x"l']
    pieces: Literal[1, 2, 3]
    one: Literal[Colour.BLUE]
    place: Place
    item: Item
    tags: set[Status]
    sums: dict[Colour, Decimal]
    at: datetime
    days: list[date] = dataclasses.field(default_factory=list)
    note: str | None = None
    made: int = dataclasses.field(default=7, init=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    number: int
    text: str = "x"
    made: int = dataclasses.field(init=False, default=3)


ORDERS = Table.of(Order, "shop.orders", key=["number"])
FROZEN = Table.of(Frozen, "shop.frozen", key=["number"])


def order(**more: Any) -> Order:
    given: dict[str, Any] = {
        "number": 1, "status": Status.SENT, "level": Level.HIGH, "colour": Colour.BLUE, "odd": Odd.A, "size": "m",
        "pieces": 2, "one": Colour.BLUE, "place": Place("x", None, [Colour.BLUE]), "item": Item("pen"),
        "tags": {Status.SENT}, "sums": {Colour.RED: Decimal("1.5")}, "at": datetime(2026, 1, 2, tzinfo=UTC),
    }  # fmt: skip
    return Order(**given | more)


def types_of(table: Table) -> dict[str, str]:
    return {each.name: each.type for each in table.model.columns}


def replayed(folder: Path, table: Table, *values: Any, model: Any = None) -> list[Any]:
    """What a replay gives of rows that were inserted."""
    with SegmentLog.open(folder, [table], segment_bytes=1 << 16, threads=False) as log:
        log.append_many(table.insert(value) for value in values).wait()
        into = model or table.declared_by
        assert into is not None
        return [row.value for each in log.replay(into=into) for row in each.rows()]


def test_the_columns_that_a_dataclass_declares() -> None:
    assert types_of(ORDERS) == {
        "number": "bigint", "status": "text", "level": "tinyint", "colour": "text", "odd": "text", "size": "text",
        "pieces": "bigint", "one": "text", "place": "frozen<place>", "item": "frozen<item>",
        "tags": "frozen<set<text>>", "sums": "frozen<map<text, decimal>>", "at": "timestamp",
        "days": "frozen<list<date>>", "note": "text", "made": "bigint",
    }  # fmt: skip
    assert [(field.name, field.type) for field in ORDERS.model.types["place"]] == [
        ("street", "text"), ("number", "bigint"), ("colours", "frozen<list<text>>"),
    ]  # fmt: skip


def test_members_are_written_as_their_values_by_hand() -> None:
    change = ORDERS.insert(order())
    assert isinstance(change.rows[0], msgspec.Raw)
    record = msgspec.msgpack.decode(change.encode(None, 5))
    assert [cell[1] for cell in record[5][0][7]] == [
        b"sent",
        b"\2",
        b"blue",
        b"a",
        b"m",
        bytes.fromhex("0000000000000002"),
        b"blue",
        # A text of 1 byte, no number, a list of one text of 4.
        bytes.fromhex("00000001 78 ffffffff 0000000c 00000001 00000004") + b"blue",
        bytes.fromhex("00000003") + b"pen" + bytes.fromhex("00000003") + b"red",
        bytes.fromhex("00000001 00000004") + b"sent",
        bytes.fromhex("00000001 00000003") + b"red" + bytes.fromhex("00000005 00000001 0f"),
        (1_767_312_000_000).to_bytes(8, "big"),
        bytes(4),
        None,
        bytes.fromhex("0000000000000007"),
    ]


def test_a_dataclass_gives_what_its_values_give() -> None:
    made = order(note="x", days=[date(2026, 1, 1)])
    by_name = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}
    assert ORDERS.insert(made).encode(None, 5) == ORDERS.insert(by_name).encode(None, 5)
    changed = ORDERS.update({"number": 1, "colour": Colour.RED, "status": "any text"}).encode(None, 5)
    assert [cell[1] for cell in msgspec.msgpack.decode(changed)[5][0][7]] == [b"any text", b"red"]


def test_a_dataclass_comes_back(tmp_path: Path) -> None:
    one, two = order(), order(number=2, colour=None, note="n", level=Level.LOW)
    two.made = 9
    assert replayed(tmp_path, ORDERS, one, two) == [one, two]


def test_a_frozen_dataclass_comes_back_with_what_its_init_does_not_take(tmp_path: Path) -> None:
    one = Frozen(number=1)
    object.__setattr__(one, "made", 8)
    (back,) = replayed(tmp_path, FROZEN, one)
    assert back == one
    assert back.made == 8


@dataclasses.dataclass
class FrozenBefore:
    number: int


def test_a_field_that_came_later_has_its_default(tmp_path: Path) -> None:
    before = Table.of(FrozenBefore, "shop.frozen", key=["number"])
    with SegmentLog.open(tmp_path, [before], segment_bytes=1 << 16, threads=False) as log:
        log.append(before.insert(FrozenBefore(4)))
    assert replayed(tmp_path, FROZEN, Frozen(number=5, text="y")) == [Frozen(number=4), Frozen(number=5, text="y")]


class LessColour(Enum):
    BLUE = "blue"


@dataclasses.dataclass
class Painted:
    number: int
    colour: Colour


@dataclasses.dataclass
class PaintedLess:
    number: int
    colour: LessColour


def test_a_member_that_is_gone_is_an_error(tmp_path: Path) -> None:
    before = Table.of(Painted, "shop.painted", key=["number"])
    with SegmentLog.open(tmp_path, [before], segment_bytes=1 << 16, threads=False) as log:
        log.append_many([before.insert(Painted(1, Colour.RED)), before.insert(Painted(2, Colour.BLUE))])
    now = Table.of(PaintedLess, "shop.painted", key=["number"])
    with pytest.raises(UsageError, match=r"PaintedLess does not take 1 row .*colour.*expected LessColour, found 'red'"):
        replayed(tmp_path, now)


def test_a_member_may_be_a_key(tmp_path: Path) -> None:
    table = Table.of(Painted, "shop.painted", key=["colour"], clustering=["number"])
    assert replayed(tmp_path, table, Painted(1, Colour.RED)) == [Painted(1, Colour.RED)]


@dataclasses.dataclass
class Loose:
    number: int
    place: Place
    colours: set[Colour]


def test_models_in_columns_that_are_not_frozen(tmp_path: Path) -> None:
    table = Table(
        "shop.loose",
        [Column("number", "bigint", "partition_key"), Column("place", "place"), Column("colours", "set<text>")],
        types={"place": {"street": "text", "number": "bigint", "colours": "frozen<list<text>>"}},
        enums=["place", "colours"],
    )
    change = table.insert(Loose(1, Place("x", 2, [Colour.RED]), {Colour.BLUE})).encode(None, 5)
    place, colours = (cell[5][1] for cell in msgspec.msgpack.decode(change)[5][0][7])
    assert [item[1] for item in place] == [
        b"x",
        bytes.fromhex("0000000000000002"),
        bytes.fromhex("00000001 00000003") + b"red",
    ]
    assert [item[0] for item in colours] == [b"blue"]


class Mixed(Enum):
    A = 1
    B = "b"


class Empty(Enum):
    pass


@dataclasses.dataclass
class WithMixed:
    number: int
    value: Mixed


@dataclasses.dataclass
class WithLiteral:
    number: int
    value: Literal[1, "a"]


@dataclasses.dataclass
class WithEmpty:
    number: int
    value: Empty


@dataclasses.dataclass
class WithInitVar:
    number: int
    value: dataclasses.InitVar[int]


class NoModel:
    number: int


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WithMixed, r"no CQL type for WithMixed\.value"),
        (WithLiteral, r"no CQL type for WithLiteral\.value"),
        (WithEmpty, r"no CQL type for WithEmpty\.value"),
        (WithInitVar, "an InitVar"),
        (NoModel, "declared by a class with fields"),
        (3, "declared by a class with fields"),
    ],
)
def test_declarations_that_are_refused(model: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Table.of(model, "shop.bad", key=["number"])


def test_a_class_whose_types_are_not_known_is_refused() -> None:
    @dataclasses.dataclass
    class Inner:
        number: int

    @dataclasses.dataclass
    class Outer:
        number: int
        inner: Inner

    with pytest.raises(UsageError, match="at the top of a module"):
        Table.of(Outer, "shop.bad", key=["number"])


def test_values_without_fields_are_refused() -> None:
    with pytest.raises(UsageError, match="a dict by column name"):
        ORDERS.insert(5)
    with pytest.raises(UsageError, match=r"shop\.orders, column status: .*found <Level"):
        ORDERS.insert(order(status=Level.LOW))


def test_attrs(tmp_path: Path) -> None:
    attrs = pytest.importorskip("attrs")

    fields = {
        # Its argument has no underscore.
        "_number": attrs.field(type=int),
        "status": attrs.field(type=Status),
        "places": attrs.field(type=list[Place], factory=list),
        "later": attrs.field(type=int, init=False, default=2),
    }
    line = attrs.make_class("Line", fields, frozen=True)
    table = Table.of(line, "shop.lines", key=["_number"])
    assert types_of(table) == {
        "_number": "bigint", "status": "text", "places": "frozen<list<frozen<place>>>", "later": "bigint",
    }  # fmt: skip
    one = line(1, Status.SENT, [Place("x")])
    object.__setattr__(one, "later", 5)
    assert isinstance(table.insert(one).rows[0], msgspec.Raw)
    (back,) = replayed(tmp_path, table, one)
    assert back == one
    assert back.later == 5


def test_pydantic(tmp_path: Path) -> None:
    pydantic = pytest.importorskip("pydantic")
    fields = {
        "number": (int, pydantic.Field(gt=0)),
        "first": (str, pydantic.Field(alias="second")),
        "second": (str, pydantic.Field(alias="first")),
        "third": (str, pydantic.Field(validation_alias=pydantic.AliasChoices("3", "iii"))),
        "colour": (Colour, Colour.RED),
        "place": (Place | None, None),
        "tags": (list[Status], pydantic.Field(default_factory=list)),
    }
    line = pydantic.create_model("Line", **fields)
    table = Table.of(line, "shop.lines", key=["number"])
    assert types_of(table) == {
        "number": "bigint", "first": "text", "second": "text", "third": "text", "colour": "text",
        "place": "frozen<place>", "tags": "frozen<list<text>>",
    }  # fmt: skip
    one = line(number=1, second="of first", first="of second", iii="of third", place=Place("x"), tags=["sent"])
    change = table.insert(one)
    assert isinstance(change.rows[0], msgspec.Raw)
    cells = [cell[1] for cell in msgspec.msgpack.decode(change.encode(None, 5))[5][0][7]]
    assert cells[:4] == [b"of first", b"of second", b"of third", b"red"]
    assert replayed(tmp_path, table, one) == [one]


def test_attrs_and_pydantic_are_not_imported() -> None:
    program = (
        "import dataclasses, sys\n"
        "from writer_hooks import Table\n"
        "@dataclasses.dataclass\n"
        "class Row:\n    number: int\n"
        "Table.of(Row, 'a.b', key=['number']).insert(Row(1))\n"
        "print({'attr', 'attrs', 'pydantic'} & set(sys.modules))\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"
