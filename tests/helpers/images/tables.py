"""Tables of the model. Keys are ints, values ints and texts: enough for every shape that a merge tells apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

STATIC: Final = "static"
"""The key of a partition's static row; other rows have the tuple of their clustering values."""

Key = tuple[int, ...] | str

NEVER: Final = -(2**63)

COMPLEX: Final = ("map<int, int>", "set<int>", "list<int>", "pair")
FIELDS: Final = ("p", "q")
"""Of the user-defined type `pair`: an int and a text."""


@dataclass(frozen=True)
class ModelColumn:
    """`fields`: of a `pair`; ALTER TYPE adds to them."""

    name: str
    type: str
    static: bool = False
    fields: tuple[str, ...] = FIELDS

    @property
    def complex(self) -> bool:
        return self.type in COMPLEX

    @property
    def counter(self) -> bool:
        return self.type == "counter"


@dataclass(frozen=True, repr=False)
class ModelTable:
    """`clustering`: name and whether it is ordered DESC. `dropped`: columns that are gone; `drops`: when (µs)."""

    id: str
    name: str
    clustering: tuple[tuple[str, bool], ...]
    columns: tuple[ModelColumn, ...]
    dropped: frozenset[str] = frozenset()
    drops: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.name.upper()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def counts(self) -> bool:
        return any(column.counter for column in self.columns)

    def column(self, name: str) -> ModelColumn:
        return next(column for column in self.columns if column.name == name)

    def shown(self, key: Key) -> list[ModelColumn]:
        """The columns that a row of this key has today."""
        static = key == STATIC
        return [column for column in self.columns if column.static == static and column.name not in self.dropped]

    def void(self, column: str) -> int:
        """What was written to the column until then is void."""
        return self.drops.get(column, NEVER)

    def without(self, column: str, at: int) -> ModelTable:
        return replace(self, dropped=self.dropped | {column}, drops={**self.drops, column: at})

    def again(self, column: str) -> ModelTable:
        return replace(self, dropped=self.dropped - {column})

    def ordered(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """Clustering values, or a prefix of them, as numbers that sort as the table does."""
        return tuple(-v if desc else v for v, (_, desc) in zip(values, self.clustering, strict=False))


WIDE = ModelTable(
    "11111111-0000-1000-8000-000000000001",
    "wide",
    (("x", False), ("y", True)),
    (
        ModelColumn("s", "int", static=True),
        ModelColumn("sm", "map<int, int>", static=True),
        ModelColumn("a", "int"),
        ModelColumn("b", "text"),
        ModelColumn("m", "map<int, int>"),
    ),
)
FLAT = ModelTable(
    "11111111-0000-1000-8000-000000000002",
    "flat",
    (),
    (ModelColumn("a", "int"), ModelColumn("t", "set<int>"), ModelColumn("l", "list<int>"), ModelColumn("u", "pair")),
)
COUNTED = ModelTable(
    "11111111-0000-1000-8000-000000000003",
    "counted",
    (("x", False),),
    (ModelColumn("c", "counter"), ModelColumn("d", "counter")),
)


def raw(value: Any) -> bytes:
    """A value's bytes, by which equal times are decided."""
    if isinstance(value, str):
        return value.encode()
    return b"" if value is None else value.to_bytes(4, "big", signed=True)


def list_id(number: int) -> str:
    """The id of a list's element; greater numbers stand later."""
    return f"{number:08x}-0000-1000-8000-000000000000"


def path_order(column: ModelColumn, path: str) -> Any:
    """What sorts the elements of a column."""
    return path if column.type in ("list<int>", "pair") else int(path)


def assembled(column: ModelColumn, elements: Mapping[str, Any]) -> Any:
    """A non-frozen column's value as SELECT JSON shows it, of what lives of it; None for nothing."""
    if not elements:
        return None
    paths = sorted(elements, key=lambda path: path_order(column, path))
    if column.type == "map<int, int>":
        return {path: elements[path] for path in paths}
    if column.type == "pair":
        return {name: elements.get(name) for name in column.fields}
    return [int(path) if column.type == "set<int>" else elements[path] for path in paths]
