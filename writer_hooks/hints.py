"""What the type of a field says, as it was written. Knows no CQL and no class with fields."""

from __future__ import annotations

import types
from enum import Enum
from typing import Annotated, Any, Final, Literal, NewType, TypeGuard, Union, get_args, get_origin

import msgspec

ANY: Final[Any] = Any
"""The hint of a value of which nothing is known."""


def bare(hint: Any) -> Any:
    """A field's type without what is said beside it: `Annotated`, `None`, `UNSET`."""
    if get_origin(hint) is Annotated:
        return bare(get_args(hint)[0])
    return bare(one_of(hint)) if is_union(hint) else hint


def one_of(union: Any) -> Any:
    """The one type that a union has beside `None` and `UNSET`, as it was written; `ANY` of one that has several."""
    rest = [each for each in get_args(union) if each not in (type(None), msgspec.UnsetType)]
    return rest[0] if len(rest) == 1 else ANY


def may_be(hint: Any, kind: type) -> bool:
    """Whether a field's type names that one (of `None` and `UNSET`) as one that its value may have."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return may_be(arguments[0], kind)
    if origin is Literal:
        return kind in map(type, arguments)
    return hint is kind or (is_union(hint) and any(may_be(each, kind) for each in arguments))


def takes_none(hint: Any) -> bool:
    """Whether None is a value of a field of that type."""
    hint = plain(hint)
    if is_union(hint):
        return any(map(takes_none, get_args(hint)))
    if get_origin(hint) is Literal:
        return None in get_args(hint)
    return hint in (ANY, object, type(None)) or not isinstance(get_origin(hint) or hint, type)


def plain(hint: Any) -> Any:
    """The type without what is said beside it, and by the name that it is derived from."""
    if get_origin(hint) is Annotated:
        return plain(get_args(hint)[0])
    return plain(hint.__supertype__) if isinstance(hint, NewType) else hint


def is_union(hint: Any) -> bool:
    """One type or another."""
    return get_origin(hint) in (Union, types.UnionType)


def is_enum(hint: Any) -> TypeGuard[type[Enum]]:
    """An enumeration."""
    return isinstance(hint, type) and issubclass(hint, Enum)


def types_of_values(hint: Any) -> tuple[Any, ...]:
    """The types of what an enumeration's members stand for, or of a `Literal`'s values, each once; else none."""
    values: tuple[Any, ...] = ()
    if is_enum(hint):
        values = tuple(member.value for member in hint)
    elif get_origin(hint) is Literal:
        values = tuple(value for value in get_args(hint) if value is not None)
    return tuple(dict.fromkeys(map(type, values)))


def part_hints(hint: Any, count: int) -> tuple[Any, ...]:
    """The hints of a container's parts."""
    arguments = get_args(bare(hint))
    return arguments if len(arguments) == count else (ANY,) * count
