"""Whether a value of the log is one of a field's type, and which container it comes in. Knows no bytes and no row."""

from __future__ import annotations

from collections.abc import (
    Collection,
    Container,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Reversible,
    Sequence,
    Set,
)
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from msgspec import UnsetType

from tailer.types import CqlType
from writer_hooks.hints import is_enum, is_union, keys_of, part_hints, places_of, plain, takes_none
from writer_hooks.misfit import MisfitError
from writer_hooks.models import is_model

_ADDRESSES: Final = (IPv4Address, IPv6Address)
_PLAIN: Final = (bool, int, float, str, bytes, Decimal, datetime, date, time, timedelta, UUID, *_ADDRESSES)
_ABSTRACT: Final = frozenset(
    (Collection, Container, Iterable, Mapping, MutableMapping, MutableSequence, MutableSet, Reversible, Sequence, Set)
)
_EXACT: Final = frozenset((*_PLAIN, list, tuple, set, frozenset, dict))
"""What values of a log are. Each is of no other class of these: a `bool` is no `int`, and a `datetime` no `date`."""


def fitting(value: Any, hint: Any) -> Any:
    """The value itself. MisfitError where a field of that type cannot have it."""
    if takes_none(hint) if value is None else _is_value(plain(hint), value):
        return value
    raise MisfitError(hint, f"{value!r:.80}")


def fitting_whole(value: Any, hint: Any) -> Any:
    """The same, where what reads the value has not held its parts to the type."""
    if _holds(hint, value):
        return value
    raise MisfitError(hint, f"{value!r:.80}")


def class_of(hint: Any) -> type | None:
    """The class that values of a type have: of a container its own, of a subclass of `str` and its like that one, as a
    log knows no other. None where the type names none of those in a log."""
    hint = plain(hint)
    wanted: type = get_origin(hint) or hint
    if is_enum(wanted) or is_model(wanted):
        return wanted
    return next((each for each in getattr(wanted, "__mro__", ()) if each in _EXACT), None)


def container_of(type_: CqlType, hint: Any) -> type:
    """The class of the elements of a list, set or vector: the hint's where it names one, else the type's."""
    named = class_of(hint)
    if named in (list, tuple, set, frozenset):
        return named
    usual = set if type_.kind == "set" else list
    wanted = get_origin(hint) or hint
    return next((each for each in (usual, list, set) if wanted in _ABSTRACT and issubclass(each, wanted)), usual)


def _holds(hint: Any, value: Any) -> bool:
    """Whether the value, and each of its parts, is one of that type."""
    if value is None:
        return takes_none(hint)
    hint = plain(hint)
    if is_union(hint):
        return any(_holds(each, value) for each in get_args(hint) if each not in (type(None), UnsetType))
    if not _is_value(hint, value):
        return False
    if isinstance(value, dict):
        by_key, (of_key, of_value) = keys_of(hint), part_hints(hint, 2)
        return all(_holds(of_key, key) and _holds(by_key.get(key, of_value), part) for key, part in value.items())
    if not isinstance(value, (list, tuple, set, frozenset)):
        return True
    places = places_of(hint)
    if places is not None:
        return len(places) == len(value) and all(map(_holds, places, value))
    (of_each,) = part_hints(hint, 1)
    return all(_holds(of_each, part) for part in value)


def _is_value(hint: Any, value: Any) -> bool:
    if is_union(hint):
        rest = [each for each in get_args(hint) if each not in (type(None), UnsetType)]
        return any(_is_value(plain(each), value) for each in rest)
    if get_origin(hint) is Literal:
        return any(type(each) is type(value) and each == value for each in get_args(hint))
    abstract = get_origin(hint) or hint
    if abstract in _ABSTRACT:
        return isinstance(value, abstract) and not isinstance(value, (str, bytes))
    wanted = class_of(hint)
    if wanted in _ADDRESSES:
        # One type of CQL has both, and an append takes either.
        return type(value) in _ADDRESSES
    return wanted is None or (type(value) is wanted if wanted in _EXACT else isinstance(value, wanted))
