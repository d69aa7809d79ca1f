"""Types of Python to CQL types: what a `msgspec.Struct` declares. Knows no value and no file."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from tailer.errors import UsageError
from tailer.schema.model import TypeField
from tailer.types.kinds import LIST, MAP, ROWS, SET


@dataclass(frozen=True, slots=True)
class Cql:
    """In `Annotated[int, Cql("int")]`: the CQL type of a field, where the usual one is not wanted."""

    type: str


_PLAIN: Final[Mapping[str, str]] = {python: native.name for native in ROWS for python in native.python}
_COLLECTIONS: Final[Mapping[Any, str]] = {list: LIST.name, set: SET.name, frozenset: SET.name, dict: MAP.name}


class Declared:
    """The columns that a Struct declares: (name, CQL text) in its order, and the user-defined types they need."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.types: dict[str, tuple[TypeField, ...]] = {}
        self._open: set[str] = set()
        self.columns = self._fields(struct)

    def _fields(self, struct: type[msgspec.Struct]) -> list[tuple[str, str]]:
        hints = get_type_hints(struct, include_extras=True)
        return [
            (field.name, self._text(hints[field.name], f"{struct.__name__}.{field.name}"))
            for field in msgspec.structs.fields(struct)
        ]

    def _text(self, hint: Any, where: str) -> str:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            given = next((mark.type for mark in arguments[1:] if isinstance(mark, Cql)), None)
            return given if given is not None else self._text(arguments[0], where)
        if origin in (Union, types.UnionType):
            rest = [each for each in arguments if each not in (type(None), msgspec.UnsetType)]
            if len(rest) == 1:
                return self._text(rest[0], where)
        plain = _PLAIN.get(f"{getattr(hint, '__module__', '')}.{getattr(hint, '__qualname__', '')}")
        if plain is not None:
            return plain
        if origin in _COLLECTIONS:
            inner = ", ".join(self._text(each, where) for each in arguments)
            return f"frozen<{_COLLECTIONS[origin]}<{inner}>>"
        if origin is tuple and Ellipsis not in arguments:
            return f"frozen<tuple<{', '.join(self._text(each, where) for each in arguments)}>>"
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            return self._user_type(hint, where)
        raise UsageError(
            f"no CQL type for {where}",
            expected="str, int, float, bool, bytes, UUID, Decimal, a time, a Struct, or list, set, dict of them",
            found=hint,
            remedy='Say it with Annotated[…, Cql("…")], or declare the columns one by one.',
        )

    def _user_type(self, struct: type[msgspec.Struct], where: str) -> str:
        name = struct.__name__.lower()
        if name in self._open:
            raise UsageError(f"the type {struct.__name__} of {where} holds itself", remedy="CQL has no such type.")
        self._open.add(name)
        fields = tuple(TypeField(*field) for field in self._fields(struct))
        self._open.discard(name)
        if self.types.setdefault(name, fields) != fields:
            raise UsageError(f"two different types are called {name} in {where}", remedy="Rename one of the Structs.")
        return f"frozen<{name}>"
