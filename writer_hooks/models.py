"""Classes with fields, which declare tables and types: Structs of msgspec, dataclasses, classes of attrs, models of
pydantic. Knows no CQL.

attrs and pydantic are never imported: a class of theirs is known by what they have made of it.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple, get_args, get_type_hints

import msgspec

from tailer.errors import UsageError
from writer_hooks.hints import is_enum, may_be, name_within, plain, takes_none, types_of_values
from writer_hooks.misfit import MisfitError


class Field(NamedTuple):
    """A field and its type as it was written. `argument`: what the class takes its value as, None where it takes none,
    and it is set afterwards. `required`: there is no default. `nullable`: its value may be None."""

    name: str
    hint: Any
    argument: str | None
    required: bool
    nullable: bool


class _Kind(NamedTuple):
    """A library's classes. `fields`: (name, argument, required) of each; `hints`: the types of those that have one."""

    known: Callable[[type], bool]
    fields: Callable[[Any], Iterator[tuple[str, str | None, bool]]]
    hints: Callable[[Any], dict[str, Any]]
    make: Callable[[Any, dict[str, Any]], Any]


def is_model(hint: Any) -> bool:
    """Whether that is a class with fields."""
    return isinstance(hint, type) and _kind_of(hint) is not None


@lru_cache(maxsize=256)
def fields_of(model: Any) -> tuple[Field, ...]:
    """The fields of such a class, in their order. UsageError for a class that is none, or not to be made again."""
    kind = _kind_of(model) if isinstance(model, type) else None
    if kind is None:
        raise UsageError(
            "a table is declared by a class with fields",
            expected="a msgspec.Struct, a dataclass, a class of attrs, a model of pydantic",
            found=repr(model),
        )
    try:
        hints = kind.hints(model)
        unknown = {name: found for name, hint in hints.items() if (found := name_within(hint)) is not None}
    except NameError as error:
        raise UsageError(
            f"the types of {model.__name__}'s fields are not known: {error}",
            remedy="Declare the class, and those that it names, at the top of a module.",
        ) from None
    if any(isinstance(hint, dataclasses.InitVar) for hint in hints.values()):
        raise UsageError(f"{model.__name__} takes an InitVar, which no row has", remedy="Make it a field.")
    fields = tuple(kind.fields(model))
    for name, _, _ in fields:
        if name not in hints:
            raise UsageError(f"the field {name} of {model.__name__} has no type", remedy="Say it, as an annotation.")
        if name in unknown:
            raise UsageError(
                f"the type of the field {name} of {model.__name__} has a name in quotes, which is not looked up there",
                found=repr(unknown[name]),
                remedy="Write the type itself, without quotes.",
            )
    return tuple(
        Field(name, hints[name], argument, required, takes_none(hints[name])) for name, argument, required in fields
    )


def hints_of(model: Any) -> dict[str, Any]:
    """The types of such a class's fields, as they were written."""
    return {field.name: field.hint for field in fields_of(model)}


def values_of(value: Any) -> dict[str, Any]:
    """A value's fields by name; `msgspec.UNSET` where one was never set. UsageError for a value without fields."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    model: Any = type(value)
    if not is_model(model):
        raise UsageError(
            "a row's values",
            expected="a dict by column name, or a value of a class with fields",
            found=f"{value!r:.80}",
        )
    return {field.name: getattr(value, field.name, msgspec.UNSET) for field in fields_of(model)}


def made_of(model: Any, values: Mapping[str, Any]) -> Any:
    """A value of the class. MisfitError where a field has neither a value nor a default, or None and its type has not.
    What it has no field for is left out.

    A model of pydantic is made without validation, as the others are: these values were written by one.
    """
    given: dict[str, Any] = {}
    later: dict[str, Any] = {}
    for field in fields_of(model):
        if field.name in values:
            value = values[field.name]
            if value is None and not field.nullable:
                raise MisfitError(field.hint, "None", field.name)
            place, key = (later, field.name) if field.argument is None else (given, field.argument)
            place[key] = value
        elif field.argument is not None and may_be(field.hint, msgspec.UnsetType):
            given[field.argument] = msgspec.UNSET
        elif field.required:
            raise MisfitError(field.hint, "no value", field.name, missing=True)
    made = maker_of(model)(model, given)
    for name, value in later.items():
        # Also where the class is frozen.
        object.__setattr__(made, name, value)
    return made


def maker_of(model: Any) -> Callable[[type[object], dict[str, Any]], Any]:
    """What makes a value of the class from its arguments by name."""
    kind = _kind_of(model)
    assert kind is not None
    return kind.make


def holds_enum(hint: Any, within: tuple[Any, ...] = ()) -> bool:
    """Whether a value of that type may hold a member of an enumeration."""
    hint = plain(hint)
    if is_enum(hint):
        return True
    if hint in within:
        # A class or an alias that holds itself is looked into once.
        return False
    parts = [field.hint for field in fields_of(hint)] if is_model(hint) else types_of_values(hint) or get_args(hint)
    return any(holds_enum(part, (*within, hint)) for part in parts)


def _kind_of(model: type) -> _Kind | None:
    return next((kind for kind in _KINDS if kind.known(model)), None)


def _called(model: Any, values: dict[str, Any]) -> Any:
    try:
        return model(**values)
    except Exception as error:
        # Its own code (`__post_init__`, a validator) did not mind what was written, or has changed since.
        raise UsageError(
            f"{model.__name__} does not take the values of a row of the log: {type(error).__name__}: {error}",
            found=f"{values!r:.200}",
            remedy="Let the class take what was written, or replay without `into`.",
        ) from error


def _written(model: Any) -> dict[str, Any]:
    return get_type_hints(model, include_extras=True)


def _of_struct(model: Any) -> Iterator[tuple[str, str | None, bool]]:
    for field in msgspec.structs.fields(model):
        yield field.name, field.name, field.required


def _hints_of_pydantic(model: Any) -> dict[str, Any]:
    """As it has resolved them: of a generic model with what its parameters are."""
    return {
        name: Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        for name, field in model.model_fields.items()
    }


def _of_pydantic(model: Any) -> Iterator[tuple[str, str | None, bool]]:
    if model.model_config.get("extra") == "allow":
        raise UsageError(
            f"{model.__name__} takes fields that it does not declare, and no column would have them",
            expected="a model that ignores or forbids extra fields",
            remedy='model_config = ConfigDict(extra="forbid")',
        )
    for name, field in model.model_fields.items():
        # It is made by alias, where there is one; of several aliases any will do.
        aliases = [field.alias, *getattr(field.validation_alias, "choices", [field.validation_alias])]
        yield name, next((each for each in aliases if isinstance(each, str)), name), field.is_required()


def _of_attrs(model: Any) -> Iterator[tuple[str, str | None, bool]]:
    nothing = sys.modules["attr"].NOTHING
    for field in model.__attrs_attrs__:
        yield field.name, field.alias if field.init else None, field.default is nothing


def _of_dataclass(model: Any) -> Iterator[tuple[str, str | None, bool]]:
    for field in dataclasses.fields(model):
        required = field.default is field.default_factory is dataclasses.MISSING
        yield field.name, field.name if field.init else None, required


_KINDS: Final = (
    _Kind(lambda model: issubclass(model, msgspec.Struct), _of_struct, _written, _called),
    _Kind(
        lambda model: hasattr(model, "model_construct") and hasattr(model, "model_fields"),
        _of_pydantic,
        _hints_of_pydantic,
        lambda model, values: model.model_construct(**values),
    ),
    _Kind(lambda model: hasattr(model, "__attrs_attrs__"), _of_attrs, _written, _called),
    _Kind(dataclasses.is_dataclass, _of_dataclass, _written, _called),
)
