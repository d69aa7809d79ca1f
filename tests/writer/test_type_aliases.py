"""Types by another name: aliases with and without parameters, new types, type variables. Resolved, or refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any, NewType, Optional, TypeVar

import msgspec
import pytest

from tailer.errors import UsageError
from tests.writer.test_models import replayed, types_of
from writer_hooks import Cql, Table
from writer_hooks.fitting import fitting, fitting_whole
from writer_hooks.misfit import MisfitError

typing_extensions = pytest.importorskip("typing_extensions")
T = TypeVar("T")
K = TypeVar("K")
Whole = TypeVar("Whole", bound=int)
Either = TypeVar("Either", int, str)

Id = NewType("Id", int)
Listed = list[T]


def alias(name: str, value: Any, *parameters: Any) -> Any:
    """As `type name[parameters] = value` makes one since Python 3.12."""
    return typing_extensions.TypeAliasType(name, value, type_params=parameters)


Ints = alias("Ints", list[int])
Many = alias("Many", list[T], T)
Swapped = alias("Swapped", dict[T, K], K, T)
Perhaps = alias("Perhaps", Optional[T], T)  # noqa: UP045
Itself = alias("Itself", T, T)
Small = alias("Small", Annotated[int, Cql("smallint")])
Constant = alias("Constant", int, T)

RESOLVED: dict[str, tuple[Any, str, Any, Any]] = {
    "list[T], with int": (Listed[int], "frozen<list<bigint>>", [1], ["a"]),
    "an alias": (Ints, "frozen<list<bigint>>", [1], ["a"]),
    "an alias with a parameter": (Many[int], "frozen<list<bigint>>", [1], ["a"]),
    "with parameters in another order": (Swapped[int, str], "frozen<map<text, bigint>>", {"a": 1}, {1: "a"}),
    "in an alias": (Perhaps[Many[int]], "frozen<list<bigint>>", [1], ["a"]),
    "in a list": (list[Many[Id]], "frozen<list<frozen<list<bigint>>>>", [[1]], [["a"]]),
    "of a new type": (Many[Id], "frozen<list<bigint>>", [1], ["a"]),
    "the parameter itself": (Itself[int], "bigint", 1, "a"),
    "a parameter that is not used": (Constant[str], "bigint", 1, "a"),
    "an alias that says the CQL type": (Small, "smallint", 1, "a"),
    "a new type": (Id, "bigint", 1, "a"),
    "with what is said beside it": (Annotated[Many[int], "a note"], "frozen<list<bigint>>", [1], ["a"]),
    "or None": (Optional[Many[int]], "frozen<list<bigint>>", [1], ["a"]),  # noqa: UP045
    "a variable with a bound": (Whole, "bigint", 1, "a"),
}


def row_of(hint: Any, name: str = "Row") -> Any:
    return msgspec.defstruct(name, [("id", int), ("value", hint)])


@pytest.mark.parametrize(("hint", "cql", "value", "other"), RESOLVED.values(), ids=RESOLVED)
def test_a_type_by_another_name_declares_its_column(
    tmp_path: Path, hint: Any, cql: str, value: Any, other: Any
) -> None:
    model = row_of(hint)
    table = Table.of(model, "shop.rows", key=["id"])
    assert types_of(table) == {"id": "bigint", "value": cql}
    assert replayed(tmp_path, table, model(1, value)) == [model(1, value)]


@pytest.mark.parametrize(("hint", "cql", "value", "other"), RESOLVED.values(), ids=RESOLVED)
def test_a_value_is_held_to_a_type_by_another_name(hint: Any, cql: str, value: Any, other: Any) -> None:
    assert fitting_whole(value, hint) == fitting(value, hint) == value
    with pytest.raises(MisfitError):
        fitting_whole(other, hint)


def test_a_variable_of_two_types_takes_no_third() -> None:
    assert fitting(1, Either) == 1
    assert fitting("a", Either) == "a"
    with pytest.raises(MisfitError):
        fitting(b"a", Either)


def test_none_is_a_value_where_the_alias_has_it() -> None:
    assert fitting(None, Perhaps[int]) is None
    for hint in (Many[int], Itself[int], Whole):
        with pytest.raises(MisfitError):
            fitting(None, hint)


@pytest.mark.parametrize("hint", [T, list[T], Many, Many[T], Either], ids=str)
def test_a_variable_that_nobody_says_is_refused(hint: Any) -> None:
    with pytest.raises(UsageError, match=r"no CQL type for Row\.value: its type has the variable ~\w+.*Say the type"):
        Table.of(row_of(hint), "shop.rows", key=["id"])


@dataclasses.dataclass
class Box:
    held: int


@pytest.mark.parametrize("hint", [alias("Named", list["Box"]), NewType("Name", "Box")], ids=repr)
def test_a_name_within_an_alias_is_refused(hint: Any) -> None:
    marked = Annotated[hint, Cql("frozen<list<int>>")]
    for each in (hint, marked):
        with pytest.raises(UsageError, match=r"the type of the field value of Row has a name in quotes.*found .*Box"):
            Table.of(row_of(each), "shop.rows", key=["id"])


def test_an_alias_of_a_class_that_is_not_there_is_refused() -> None:
    """Since Python 3.12 an alias looks its names up when it is asked for its value."""

    class TypeAliasType:
        __type_params__ = ()

        @property
        def __value__(self) -> Any:
            raise NameError("name 'Gone' is not defined")

    model = dataclasses.make_dataclass("Row", [("id", int), ("value", TypeAliasType())])
    with pytest.raises(UsageError, match="the types of Row's fields are not known: name 'Gone' is not defined"):
        Table.of(model, "shop.rows", key=["id"])


def test_an_alias_that_holds_itself_is_refused() -> None:
    holder = type("TypeAliasType", (), {"__type_params__": (), "__hash__": object.__hash__})()
    holder.__value__ = list[holder]
    model = dataclasses.make_dataclass("Row", [("id", int), ("value", holder)])
    with pytest.raises(UsageError, match=r"of Row\.value holds itself"):
        Table.of(model, "shop.rows", key=["id"])
    marked = dataclasses.make_dataclass("Row", [("id", int), ("value", Annotated[holder, Cql("list<blob>")])])
    assert types_of(Table.of(marked, "shop.rows", key=["id"]))["value"] == "list<blob>"
