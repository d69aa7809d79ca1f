"""`replay(into=…)` holds the parts of a container to the class's type, whichever container it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NewType, TypedDict

import msgspec
import pytest

from tailer.errors import UsageError
from tests.writer.test_into import Colour, Place, of, renamed, table_of, values, written
from writer_hooks import Cql


class Text(msgspec.Struct):
    a: str


class Ints(list[int]):
    __slots__ = ()


class Pair(NamedTuple):
    left: int
    right: int


class Corner(msgspec.Struct):
    left: int
    right: int


class Pairs(TypedDict):
    a: int


Named = NewType("Named", list[int])


PARTS = {
    "a tuple": tuple[int, ...],
    "a tuple that may be None": tuple[int, ...] | None,
    "a pair": tuple[int, int],
    "a named tuple": Pair,
    "a sequence": Sequence[int],
    "a collection": Collection[int],
    "a class of lists": Ints,
    "a list by another name": Named,
    "one of two": list[int] | set[int],
    "a list of sets": list[set[int]],
}


@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "by element"])
@pytest.mark.parametrize("now", PARTS.values(), ids=PARTS)
def test_parts_of_another_type_contradict_the_class(tmp_path: Path, now: Any, frozen: bool) -> None:
    """Whatever the container is, and wherever its type is said."""
    text = "frozen<list<{}>>" if frozen else "list<{}>"
    before = of(Annotated[list[str], Cql(text.format("text"))])
    written(tmp_path, table_of(before), [table_of(before).insert(before(1, ["a", "b"]))])
    today = of(Annotated[now, Cql(text.format("bigint"))], "Today")
    with pytest.raises(UsageError, match=r"Today does not take 1 row of shop\.rows .*\(field value"):
        values(tmp_path, today)


def test_a_type_by_another_name(tmp_path: Path) -> None:
    colour, place = NewType("colour", Colour), NewType("place", Place)
    model = msgspec.defstruct(
        "Row",
        [
            ("id", int),
            ("whole", Place),
            ("value", Annotated[colour, Cql("text")]),
            ("other", Annotated[place, Cql("frozen<place>")]),
        ],
    )
    row = model(1, Place("x"), Colour.RED, Place("y", 2))
    written(tmp_path, table_of(model), [table_of(model).insert(row)])
    assert values(tmp_path, model) == [row]


def test_parts_of_a_type_by_an_alias(tmp_path: Path) -> None:
    """As `type Ints = list[int]` makes one."""
    alias: Any = pytest.importorskip("typing_extensions").TypeAliasType("Ints", list[int])
    before = of(list[str])
    written(tmp_path, table_of(before), [table_of(before).insert(before(1, ["a"]))])
    with pytest.raises(UsageError, match="expected int, found 'a'"):
        values(tmp_path, of(Annotated[alias, Cql("frozen<list<bigint>>")], "Today"))


def test_fields_of_a_type_as_a_dict(tmp_path: Path) -> None:
    """Keys of the dict are names of fields, and its values are of one type: of as many fields as a dict has types."""
    model = msgspec.defstruct(
        "Row", [("id", int), ("whole", Corner), ("value", Annotated[dict[str, int], Cql("corner")])]
    )
    written(tmp_path, table_of(model), [table_of(model).insert(model(1, Corner(1, 2), {"left": 3, "right": 4}))])
    (found,) = values(tmp_path, model)
    assert found.value == {"left": 3, "right": 4}
    now = msgspec.defstruct(
        "Today", [("id", int), ("whole", Corner), ("value", Annotated[dict[str, str], Cql("corner")])]
    )
    with pytest.raises(UsageError, match=r"\(field value\).*expected dict\[str, str\], found {'left': 3"):
        values(tmp_path, now)


MORE_PARTS = {
    "too many for a pair": (list[int], [1, 2, 3], Annotated[tuple[int, int], Cql("list<bigint>")]),
    "a tuple of two": (tuple[int, str], (1, "a"), Annotated[tuple[int, ...], Cql("frozen<tuple<bigint, bigint>>")]),
    "a mapping": (dict[str, str], {"a": "b"}, Annotated[Mapping[str, int], Cql("map<text, bigint>")]),
    "the keys of a mapping": (dict[int, int], {1: 2}, Annotated[Mapping[str, int], Cql("map<text, bigint>")]),
    "a dict with types of its own": (dict[str, str], {"a": "b"}, Annotated[Pairs, Cql("map<text, bigint>")]),
    "a type as such a dict": (renamed(Text, "Pairs"), Text("x"), Annotated[Pairs, Cql("map<text, bigint>")]),
    "one of two dicts": (dict[str, str], {"a": "b"}, Annotated[dict[str, int] | list[int], Cql("map<text, bigint>")]),
}  # fmt: skip


@pytest.mark.parametrize(("before", "value", "now"), MORE_PARTS.values(), ids=MORE_PARTS)
def test_other_parts_contradict_the_class(tmp_path: Path, before: Any, value: Any, now: Any) -> None:
    model = of(before)
    written(tmp_path, table_of(model), [table_of(model).insert(model(1, value))])
    with pytest.raises(UsageError, match=r"Today does not take 1 row of shop\.rows .*\(field value"):
        values(tmp_path, of(now, "Today"))


@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "by element"])
@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (tuple[int, ...], (1, 2)),
        (tuple[int, ...] | None, (1, 2)),
        (tuple[int, int], (1, 2)),
        (Pair, (1, 2)),
        (Sequence[int], [1, 2]),
        (Collection[int], [1, 2]),
        (Ints, [1, 2]),
        (Named, [1, 2]),
        (list[int] | set[int], [1, 2]),
    ],
    ids=str,
)
def test_parts_that_fit_are_given(tmp_path: Path, type_: Any, given: Any, frozen: bool) -> None:
    model = of(Annotated[type_, Cql("frozen<list<bigint>>" if frozen else "list<bigint>")])
    written(tmp_path, table_of(model), [table_of(model).insert(model(1, [1, 2]))])
    (found,) = values(tmp_path, model)
    assert (found.value, type(found.value)) == (given, type(given))


def test_a_pair_is_read_by_the_type_of_its_parts(tmp_path: Path) -> None:
    """Of a timestamp `int` are its milliseconds."""
    model = of(Annotated[tuple[int, int], Cql("list<timestamp>")])
    written(tmp_path, table_of(model), [table_of(model).insert(model(1, (2, 3)))])
    (found,) = values(tmp_path, model)
    assert found.value == (2, 3)


@pytest.mark.parametrize("type_", [Sequence[int], set[int], Set[int]], ids=str)
def test_a_set_is_given_in_what_its_type_names(tmp_path: Path, type_: Any) -> None:
    model = of(Annotated[type_, Cql("set<bigint>")])
    written(tmp_path, table_of(model), [table_of(model).insert(model(1, {1}))])
    (found,) = values(tmp_path, model)
    assert isinstance(found.value, list if type_ == Sequence[int] else set)
