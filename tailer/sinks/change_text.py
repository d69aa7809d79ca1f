"""What a change did to one column, as text; by the column's shape, for in JSON a set of tuples looks like a list.

    total=12.50                 a value; null where it was deleted
    hits=17                     of a counter the sum of the shards that the change has
    tags + "x" - "y"            elements that were put into a set or list, and removed; tags=["x"] where it was assigned
    prices["tea"]=3.20          a map's entry, null where it was removed
    home.street="High Street"   a field of a user-defined type, the same

Of a list's element that was removed the log has the id alone: `- #9f6593a0-…`. Knows no table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from tailer.sinks.row_text import value_text
from tailer.sinks.text import printable
from tailer.typed_decode import decode_json
from tailer.types import Shape, quote

Text = Callable[[str, msgspec.Raw], str]
"""Of a column's name, ready to be shown, and its JSON; msgspec.ValidationError for JSON of another shape."""

_GONE: Final = "null"


class _Shard(msgspec.Struct):
    total: int


class _OfSet(msgspec.Struct):
    replaced: bool
    put: list[msgspec.Raw] = []
    removed: list[msgspec.Raw] = []


class _OfList(msgspec.Struct):
    replaced: bool
    put: list[tuple[str, msgspec.Raw]] = []
    removed: list[str] = []


class _ByName(msgspec.Struct):
    """Of a map or a user-defined type."""

    replaced: bool
    put: dict[str, msgspec.Raw] = {}
    removed: list[str] = []


def column_text(name: str, value: msgspec.Raw, shape: Shape) -> str:
    """The change of a column of that shape."""
    label = printable(name)
    changed = _TEXTS.get(shape)
    if changed is not None and bytes(value) != _GONE.encode():
        try:
            return changed(label, value)
        except msgspec.ValidationError:
            # Of a definition that had another shape than the newest one has: the value says what it is.
            pass
    return f"{label}={value_text(value)}"


def _counter(label: str, value: msgspec.Raw) -> str:
    shards = decode_json(value, list[_Shard])
    return f"{label}={sum(shard.total for shard in shards)}"


def _set(label: str, value: msgspec.Raw) -> str:
    change = decode_json(value, _OfSet)
    return _by_element(label, change.replaced, change.put, map(value_text, change.removed))


def _list(label: str, value: msgspec.Raw) -> str:
    change = decode_json(value, _OfList)
    put = [element for _, element in change.put]
    return _by_element(label, change.replaced, put, (f"#{printable(id)}" for id in change.removed))


def _by_element(label: str, replaced: bool, put: list[msgspec.Raw], removed: Iterable[str]) -> str:
    texts = [value_text(each) for each in put]
    if replaced:
        words = [f"{label}=[{','.join(texts)}]" if texts else f"{label}={_GONE}"]
    else:
        words = [label, *(f"+ {text}" for text in texts)]
    return " ".join((*words, *(f"- {text}" for text in removed)))


def _map(label: str, value: msgspec.Raw) -> str:
    return _by_name(label, value, lambda key: f"{label}[{printable(quote(key))}]")


def _udt(label: str, value: msgspec.Raw) -> str:
    return _by_name(label, value, lambda field: f"{label}.{printable(field)}")


def _by_name(label: str, value: msgspec.Raw, place: Callable[[str], str]) -> str:
    change = decode_json(value, _ByName)
    if change.replaced:
        texts = [f"{printable(quote(key))}:{value_text(each)}" for key, each in change.put.items()]
        words = [f"{label}={{{','.join(texts)}}}" if texts else f"{label}={_GONE}"]
    else:
        words = [f"{place(key)}={value_text(each)}" for key, each in change.put.items()]
    return " ".join((*words, *(f"{place(key)}={_GONE}" for key in change.removed)))


_TEXTS: Final[Mapping[Shape, Text]] = {
    Shape.COUNTER: _counter,
    Shape.LIST: _list,
    Shape.SET: _set,
    Shape.MAP: _map,
    Shape.UDT: _udt,
}
