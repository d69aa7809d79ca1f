"""The first difference between what two checkouts read. For `compare_rows.py`; starts no process and reads no log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from scripts.read_rows import Reading, Row

TEXT_MAX: Final = 120
PLACE: Final = ("segment", "offset")
"""Columns that say where a row comes from, in the typed form behind a prefix."""


class Difference(NamedTuple):
    """In which reading, in which of its fields, and what it is: before | after."""

    place: str
    field: str
    what: str


def first_difference(before: Sequence[Reading], after: Sequence[Reading]) -> Difference | None:
    for old, new in zip_longest(before, after):
        if old is None or new is None or old["place"] != new["place"]:
            places = [reading["place"] if reading else "nothing" for reading in (old, new)]
            return Difference(" | ".join(places), "place", "other tables have rows, or other readings fail")
        fields: Mapping[str, tuple[object, object]] = {name: (value, new[name]) for name, value in old.items()}  # type: ignore[literal-required]
        for name, (one, other) in fields.items():
            if one != other:
                return Difference(old["place"], name, _apart(one, other))
    return None


def first_row(before: Sequence[Row], after: Sequence[Row]) -> str:
    """Where the rows of two readings part: the row's number and place, and the columns that are not the same."""
    none: Row = {}
    for number, (old, new) in enumerate(zip_longest(before, after, fillvalue=none)):
        if old != new:
            place = ":".join(text for name, (_, text) in (old or new).items() if name.lstrip("_") in PLACE)
            names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
            apart = "; ".join(f"{name}: {_apart(_text(old, name), _text(new, name))}" for name in names)
            return f"row {number} at {place}: {apart}"
    return "each row by itself is the same"


def _text(row: Row, name: str) -> str:
    return row[name][1] if name in row else "nothing"


def _apart(one: object, other: object) -> str:
    """Both values, cut where they are long; of two lists the first elements that are not the same."""
    if isinstance(one, list) and isinstance(other, list):
        one, other = next((old, new) for old, new in zip_longest(one, other) if old != new)
    return " | ".join(text if len(text := str(value)) <= TEXT_MAX else f"{text[:TEXT_MAX]}…" for value in (one, other))
