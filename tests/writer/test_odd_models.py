"""Classes that nobody expects: names that are no words, types said in odd places, members of members, refusals."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from enum import Enum, IntFlag
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar

import msgspec
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tailer.errors import UsageError
from tests.helpers.amount import examples
from tests.writer.test_models import replayed, types_of
from writer_hooks import Cql, Table, read_code, row_code
from writer_hooks.models import values_of
from writer_hooks.read_code import whole_reader

T = TypeVar("T")


@dataclasses.dataclass
class Said:
    """What is said of a type stands within the union or about it."""

    number: int
    within: Optional[Annotated[int, Cql("int")]] = None  # noqa: UP045
    beside: Annotated[int, Cql("smallint")] | None = None
    about: Annotated[int | None, Cql("tinyint")] = None
    both: Annotated[Annotated[int, Cql("varint")] | None, "a note"] = None
    literal: Literal["a", None] = None


SAID = Table.of(Said, "shop.said", key=["number"])


def cells_of(change: Any) -> list[Any]:
    return [cell[1] for cell in msgspec.msgpack.decode(change.encode(None, 5))[5][0][7]]


def test_a_type_that_is_said_within_an_optional_counts() -> None:
    assert types_of(SAID) == {
        "number": "bigint", "within": "int", "beside": "smallint", "about": "tinyint", "both": "varint",
        "literal": "text",
    }  # fmt: skip


@pytest.mark.parametrize(("values", "cells"), [([1, 2, 3, 4, "a"], ["00000001", "0002", "03", "04", "61"]), ([], [])])
def test_none_is_written_by_code_wherever_the_type_has_it(tmp_path: Path, values: list[Any], cells: list[str]) -> None:
    value = Said(7, *values)
    change = SAID.insert(value)
    assert isinstance(change.rows[0], msgspec.Raw)
    assert cells_of(change) == ([bytes.fromhex(each) for each in cells] or [None] * 5)
    assert replayed(tmp_path, SAID, value) == [value]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Favourite(Enum):
    """Members that stand for members."""

    ANN = Colour.BLUE
    BOB = Colour.RED


class Rights(IntFlag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Person:
    number: int
    favourite: Favourite
    rights: Rights


def test_members_of_members_and_flags_put_together(tmp_path: Path) -> None:
    table = Table.of(Person, "shop.people", key=["number"])
    one = Person(1, Favourite.ANN, Rights.READ | Rights.WRITE)
    assert cells_of(table.insert(one)) == [b"blue", (3).to_bytes(8, "big")]
    assert replayed(tmp_path, table, one) == [one]


def named(name: str) -> Any:
    inner = dataclasses.make_dataclass("Inner", [("a", int)])
    inner.__name__ = name
    return dataclasses.make_dataclass("Outer", [("number", int), ("inner", inner)])


@pytest.mark.parametrize(
    "name", ["Date", "Duration", "Time", "Inet", "Varchar", "Counter", "a b", "x>, frozen<y", 'x"']
)
def test_a_class_that_is_called_like_a_type_of_cql_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a user-defined type of that name") as caught:
        Table.of(named(name), "shop.bad", key=["number"])
    assert "Outer.inner" in str(caught.value)
    assert "Rename the class" in str(caught.value)


@dataclasses.dataclass
class Base:
    number: int
    text: str = "x"


@dataclasses.dataclass
class Derived(Base):
    more: int = 1


def test_a_value_of_a_subclass_is_no_value_of_the_table() -> None:
    with pytest.raises(UsageError, match=r"shop\.base has no column more"):
        Table.of(Base, "shop.base", key=["number"]).insert(Derived(1))


def test_a_subclass_declares_what_it_inherits(tmp_path: Path) -> None:
    table = Table.of(Derived, "shop.derived", key=["number"])
    assert types_of(table) == {"number": "bigint", "text": "text", "more": "bigint"}
    assert replayed(tmp_path, table, Derived(1, "y", 2)) == [Derived(1, "y", 2)]


@dataclasses.dataclass
class Positive:
    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("below zero")


def test_a_class_that_does_not_take_what_was_written_is_told(tmp_path: Path) -> None:
    table = Table.of(Positive, "shop.positive", key=["number"])
    value = Positive(1)
    value.number = -5
    with pytest.raises(UsageError, match=r"Positive does not take .* ValueError: below zero.*without `into`"):
        replayed(tmp_path, table, value)


class Box(msgspec.Struct, Generic[T]):
    number: int
    held: T


@pytest.mark.parametrize("model", [Box, Box[int]])
def test_a_generic_class_is_refused(model: Any) -> None:
    with pytest.raises(UsageError, match=r"no CQL type for Box\.held|declared by a class with fields"):
        Table.of(model, "shop.box", key=["number"])


def test_a_field_without_a_type_is_refused() -> None:
    attrs = pytest.importorskip("attrs")
    line = attrs.make_class("Line", {"number": attrs.field(type=int), "what": attrs.field(default=3)})
    with pytest.raises(UsageError, match="the field what of Line has no type"):
        Table.of(line, "shop.lines", key=["number"])


def test_a_model_with_fields_that_it_does_not_declare_is_refused() -> None:
    pydantic = pytest.importorskip("pydantic")
    line = pydantic.create_model("Line", __config__=pydantic.ConfigDict(extra="allow"), number=(int, ...))
    with pytest.raises(UsageError, match="Line takes fields that it does not declare"):
        Table.of(line, "shop.lines", key=["number"])


def test_a_generic_model_of_pydantic_is_what_its_parameters_are(tmp_path: Path) -> None:
    pydantic = pytest.importorskip("pydantic")
    held = pydantic.create_model("Held", __base__=(pydantic.BaseModel, Generic[T]), number=(int, ...), held=(T, ...))
    table = Table.of(held[Annotated[int, Cql("int")]], "shop.held", key=["number"])
    assert types_of(table) == {"number": "bigint", "held": "int"}
    one = held[Annotated[int, Cql("int")]](number=1, held=5)
    assert replayed(tmp_path, table, one) == [one]


# Names and literals that would be code, were they ever part of one.

HOSTILE = [
    '"); import os; os._exit(1) #', "v0\nraise SystemExit", "{v0}", "x__import__('os')", "a' + b", "class", "None",
    "number.real", "row.op", "names", "\\", "%s", "`", " ", "ключ", "'''", "*", "lambda: 0",
]  # fmt: skip


def made_code(monkeypatch: pytest.MonkeyPatch, name: str, literal: str) -> tuple[list[str], Any, Any]:
    """The texts that were run for a model of such a field and such a literal; its table, and a value."""
    pydantic = pytest.importorskip("pydantic")
    texts: list[str] = []

    def noted(text: str, names: dict[str, Any]) -> None:
        texts.append(text)
        exec(text, names)

    monkeypatch.setattr(row_code, "exec", noted, raising=False)
    monkeypatch.setattr(read_code, "exec", noted, raising=False)
    fields: dict[str, Any] = {
        "number": (int, ...),
        name: (str | None, None),
        "one": (Literal.__getitem__(literal), ...),
        "last": (Decimal, Decimal(1)),
    }
    model: Any = pydantic.create_model("Model", **fields)
    table = Table.of(model, "shop.hostile", key=["number"])
    assert whole_reader(table.model, model) is not None
    return texts, table, model.model_construct(**{"number": 1, name: "text", "one": literal})


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_and_no_literal_is_part_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plain, _, _ = made_code(monkeypatch, "plain", "plain")
    texts, table, value = made_code(monkeypatch, name, name)
    # One with a dot has no code of its own to encode it: its rows are encoded by name.
    assert texts == plain[-len(texts) :]
    assert len(texts) == (1 if "." in name else 2)
    change = table.insert(value)
    assert change.encode(None, 5) == table.insert(values_of(value)).encode(None, 5)
    assert cells_of(change)[:2] == [b"text", name.encode()]
    assert replayed(tmp_path, table, value) == [value]


@settings(max_examples=examples(60), deadline=None)
@given(st.text(min_size=1).filter(lambda name: name not in ("number", "one", "last") and name[0] != "_"))
def test_no_name_at_all_is_part_of_the_code(name: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        plain, _, _ = made_code(monkeypatch, "plain", "plain")
        try:
            texts, table, value = made_code(monkeypatch, name, name)
        except (NameError, TypeError, ValueError):
            # pydantic has names of its own that no field may have.
            reject()
        assert texts == plain[-len(texts) :]
        assert cells_of(table.insert(value))[:2] == [b"text", name.encode()]


def test_a_name_with_a_dot_is_a_name(tmp_path: Path) -> None:
    """`attrgetter` would take it for a field of a field, which is there."""
    pydantic = pytest.importorskip("pydantic")
    model: Any = pydantic.create_model("Model", **{"number": (int, ...), "at": (Base, ...), "at.number": (int, ...)})
    table = Table.of(model, "shop.dotted", key=["number"])
    value = model.model_construct(**{"number": 1, "at": Base(5), "at.number": 6})
    assert cells_of(table.insert(value))[1] == (6).to_bytes(8, "big")
    assert replayed(tmp_path, table, value) == [value]
