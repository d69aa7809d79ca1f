"""Types of Python to CQL types: what a class with fields declares. Knows no value and no file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

from tailer.errors import UsageError
from tailer.schema.model import TypeField
from tailer.types.kinds import LIST, MAP, NATIVES, ROWS, SET
from writer_hooks.hints import ANY, is_union, meant_by, one_of, types_of_values
from writer_hooks.models import fields_of, is_model


@dataclass(frozen=True, slots=True)
class Cql:
    """In `Annotated[int, Cql("int")]`: the CQL type of a field, where the usual one is not wanted."""

    type: str


_PLAIN: Final[Mapping[str, str]] = {python: native.name for native in ROWS for python in native.python}
_COLLECTIONS: Final[Mapping[Any, str]] = {list: LIST.name, set: SET.name, frozenset: SET.name, dict: MAP.name}


class Declared:
    """The columns that a class declares: (name, CQL text) in its order, and the user-defined types they need."""

    def __init__(self, model: Any) -> None:
        self.types: dict[str, tuple[TypeField, ...]] = {}
        self._open: set[str] = set()
        self._names: list[Any] = []
        self.columns = self._fields(model)

    def _fields(self, model: Any) -> list[tuple[str, str]]:
        return [(field.name, self._text(field.hint, f"{model.__name__}.{field.name}")) for field in fields_of(model)]

    def _text(self, hint: Any, where: str) -> str:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            given = next((mark.type for mark in arguments[1:] if isinstance(mark, Cql)), None)
            return given if given is not None else self._text(arguments[0], where)
        meant = meant_by(hint)
        if meant is not hint:
            return self._meant(hint, meant, where)
        if is_union(hint) and one_of(hint) is not ANY:
            return self._text(one_of(hint), where)
        of_values = types_of_values(hint)
        if len(of_values) == 1:
            return self._text(of_values[0], where)
        plain = _PLAIN.get(f"{getattr(hint, '__module__', '')}.{getattr(hint, '__qualname__', '')}")
        if plain is not None:
            return plain
        if origin in _COLLECTIONS:
            inner = ", ".join(self._text(each, where) for each in arguments)
            return f"frozen<{_COLLECTIONS[origin]}<{inner}>>"
        if origin is tuple and Ellipsis not in arguments:
            return f"frozen<tuple<{', '.join(self._text(each, where) for each in arguments)}>>"
        if is_model(hint):
            return self._user_type(hint, where)
        raise UsageError(
            f"no CQL type for {where}",
            expected="str, int, float, bool, bytes, UUID, Decimal, a time, an Enum or Literal of one such type, "
            "a class with fields, or list, set, dict of them",
            found=hint,
            remedy='Say it with Annotated[…, Cql("…")], or declare the columns one by one.',
        )

    def _meant(self, hint: Any, meant: Any, where: str) -> str:
        """Of a type by another name, which stands for `meant`."""
        if isinstance(hint, TypeVar) and (meant is ANY or is_union(meant)):
            raise UsageError(
                f"no CQL type for {where}: its type has the variable {hint}, which may be any type",
                remedy='Say the type in brackets (`Alias[int]`), or with Annotated[…, Cql("…")].',
            )
        if hint in self._names:
            raise UsageError(f"the type {hint} of {where} holds itself", remedy="CQL has no such type.")
        self._names.append(hint)
        text = self._text(meant, where)
        self._names.pop()
        return text

    def _user_type(self, model: Any, where: str) -> str:
        name = model.__name__.lower()
        if name in NATIVES or not name.isidentifier():
            raise UsageError(
                f"the class {model.__name__} of {where} cannot be a user-defined type of that name",
                expected="a name of letters, digits and _, which is no type of CQL's own",
                found=name,
                remedy="Rename the class, or take a subclass of another name.",
            )
        if name in self._open:
            raise UsageError(f"the type {model.__name__} of {where} holds itself", remedy="CQL has no such type.")
        self._open.add(name)
        fields = tuple(TypeField(*field) for field in self._fields(model))
        self._open.discard(name)
        if self.types.setdefault(name, fields) != fields:
            raise UsageError(f"two different types are called {name} in {where}", remedy="Rename one of the classes.")
        return f"frozen<{name}>"
