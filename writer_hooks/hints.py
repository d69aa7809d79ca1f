"""What the type of a field says, as it was written. Knows no CQL and no class with fields."""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import Enum
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Literal,
    NewType,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

ANY: Final[Any] = Any
"""The hint of a value of which nothing is known."""


def bare(hint: Any) -> Any:
    """A field's type without what is said beside it, and without `None` and `UNSET`."""
    hint = plain(hint)
    return bare(one_of(hint)) if is_union(hint) else hint


def one_of(union: Any) -> Any:
    """The one type that a union has beside `None` and `UNSET`, as it was written; `ANY` of one that has several."""
    rest = [each for each in get_args(union) if each not in (type(None), msgspec.UnsetType)]
    return rest[0] if len(rest) == 1 else ANY


def may_be(hint: Any, kind: type) -> bool:
    """Whether a field's type names that one (of `None` and `UNSET`) as one that its value may have."""
    hint = plain(hint)
    origin, arguments = get_origin(hint), get_args(hint)
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
    """The type without what is said beside it, and by what it stands for (`meant_by`)."""
    if type(hint) is type:
        # Nearly all of them, and each value read asks.
        return hint
    meant = get_args(hint)[0] if _is_annotated(hint) else meant_by(hint)
    return hint if meant is hint else plain(meant)


def meant_by(hint: Any) -> Any:
    """What an alias, a `NewType` or a type variable stands for, one step of it; any other type itself."""
    if _is_alias(hint):
        return hint.__value__
    if _is_alias(alias := get_origin(hint)):
        return _with_parameters(alias, get_args(hint))
    if isinstance(hint, TypeVar):
        # What nobody says is any type that it may be.
        return hint.__bound__ or (Union[hint.__constraints__] if hint.__constraints__ else ANY)  # noqa: UP007
    return hint.__supertype__ if isinstance(hint, NewType) else hint


def name_within(hint: Any, within: tuple[Any, ...] = ()) -> Any:
    """The first part of a type that is a name in quotes, which Python has not looked up; None where there is none."""
    if isinstance(hint, str | ForwardRef):
        return hint
    if any(each is hint for each in within):
        return None
    meant = meant_by(hint)
    literal = get_origin(hint) is Literal
    parts = (meant,) if meant is not hint else () if literal else get_args(hint)[: 1 if _is_annotated(hint) else None]
    return next((found for each in parts if (found := name_within(each, (*within, hint))) is not None), None)


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated


def _is_alias(hint: Any) -> bool:
    # Of `typing` since Python 3.12, or of `typing_extensions`.
    return type(hint).__name__ == "TypeAliasType"


def _with_parameters(alias: Any, given: tuple[Any, ...]) -> Any:
    """What an alias stands for with those types in the place of its parameters."""
    value = alias.__value__
    if isinstance(value, TypeVar):
        return dict(zip(alias.__type_params__, given, strict=False)).get(value, value)
    wanted = getattr(value, "__parameters__", ())
    if not wanted:
        return value
    if wanted == alias.__type_params__:
        # As they are, also where one of them takes several types.
        return value[given]
    by_parameter = dict(zip(alias.__type_params__, given, strict=False))
    return value[tuple(by_parameter.get(each, each) for each in wanted)]


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
    """The hints of a container's parts, of so many kinds: one of the elements of a list, two of a map. `ANY` of each
    where the type does not say them so (`says_parts`)."""
    each, said = _parts(hint)
    places = places_of(hint)
    if each is ANY and len(said) != count and places and all(place == places[0] for place in places):
        # A list's elements as `tuple[int, int]`.
        each = places[0]
    if each is not ANY:
        return (each,) * count
    return said if len(said) == count else (ANY,) * count


def says_parts(hint: Any, count: int) -> bool:
    """Whether `part_hints` of so many are all that the type says of a container's parts."""
    each, said = _parts(hint)
    if is_typeddict(bare(hint)) or (plain(hint) is not ANY and bare(hint) is ANY):
        # A type of its own for each key; or one container of several.
        return False
    return each is not ANY or not said or len(said) == count


def places_of(hint: Any) -> tuple[Any, ...] | None:
    """The hints of a tuple's parts, one for each; None of any other container, and of a tuple of any length."""
    hint = bare(hint)
    each, said = _parts(hint)
    is_tuple = isinstance(kind := get_origin(hint) or hint, type) and issubclass(kind, tuple)
    return said if is_tuple and said and each is ANY else None


def keys_of(hint: Any) -> Mapping[str, Any]:
    """The hints of a `TypedDict`'s values by key; none of anything else."""
    hint = bare(hint)
    return get_type_hints(hint, include_extras=True) if is_typeddict(hint) else {}


def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """What each part is, of a tuple of any length; and what is said in brackets, where the type or a class that it
    derives from (`class Ints(list[int])`) has them, or of the fields of a named tuple."""
    hint = bare(hint)
    said = get_args(hint)
    if not said and isinstance(hint, type):
        said = next(filter(None, map(get_args, getattr(hint, "__orig_bases__", ()))), ())
        if issubclass(hint, tuple) and hasattr(hint, "_fields"):
            types_by_name = get_type_hints(hint, include_extras=True)
            said = tuple(types_by_name.get(name, ANY) for name in hint._fields)
    return (said[0], ()) if len(said) == 2 and said[1] is Ellipsis else (ANY, said)
