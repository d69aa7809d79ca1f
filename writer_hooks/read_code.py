"""The code that reads rows of one model back: made once for a definition and a class, straight through the columns.

The commonest row is a whole one, with a cell for each column in their order. The plain reader (`read_back`) says what
is right, and reads every other row. Knows no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET, UnsetType

from tailer.scan.record.record import INSERT, Row
from tailer.schema.model import TableDefinition
from tailer.types import parse_type
from writer_hooks.from_bytes import from_bytes
from writer_hooks.hints import ANY, may_be
from writer_hooks.models import Field, fields_of, hints_of, maker_of

ReadWhole = Callable[[Row], tuple[dict[str, Any], dict[str, Any], Any] | None]
"""A row to its key, its columns and the model's value; None for one that it leaves to the plain reader."""

_KEY: Final = ("partition_key", "clustering")


def whole_reader(definition: TableDefinition, model: Any) -> ReadWhole | None:
    """What reads whole rows by that definition as values of the model; None where the plain reader reads them all.

    That is so of tables with static and non-frozen columns, and of models with fields that their class does not take,
    or that have neither a column nor a default.
    """
    columns = definition.columns
    types = [parse_type(each.type, definition.types) for each in columns]
    numbers = {each.name: number for number, each in enumerate(columns)}
    fields = fields_of(model)
    if not all(field.name in numbers or _left_out(field) for field in fields) or any(
        field.argument is None for field in fields
    ):
        return None
    if any(each.kind == "static" or type_.complex for each, type_ in zip(columns, types, strict=True)):
        return None
    hints = hints_of(model)
    names: dict[str, Any] = {
        f"read_{number}": from_bytes(type_, hints.get(each.name, ANY))
        for number, (each, type_) in enumerate(zip(columns, types, strict=True))
    }
    names |= {f"name_{number}": each.name for number, each in enumerate(columns)}
    names |= {"model": model, "make": maker_of(model), "UNSET": UNSET}
    exec(_text(definition, numbers, fields, names), names)
    read: ReadWhole = names["read_whole"]
    return read


def _text(
    definition: TableDefinition, numbers: Mapping[str, int], fields: tuple[Field, ...], names: dict[str, Any]
) -> str:
    """The function's text. Nothing of a program's own stands in it: what it names is put into `names`."""
    clustering_at = len(definition.partition_key)
    data_at = clustering_at + len(definition.clustering)
    keys, data = range(data_at), range(data_at, len(numbers))
    steps = [
        f"if row.op != {INSERT} or row.static or row.bounds is not None or len(row.cells) != {len(data)}:",
        "    return None",
    ]
    for part, taken in zip(_KEY, (range(clustering_at), range(clustering_at, data_at)), strict=True):
        if taken:
            steps += [f"if row.{part} is None or len(row.{part}) != {len(taken)}:", "    return None"]
            steps.append(f"{_targets('b', taken)} = row.{part}")
    needed = {numbers[field.name] for field in fields if field.name in numbers and not field.nullable}
    if data:
        steps.append(f"{_targets('c', data)} = row.cells")
        unlike = " or ".join(f"c{number}.column != {number}" for number in data)
        steps += [f"if {unlike}:", "    return None"]
    steps += [f"v{number} = read_{number}(b{number})" for number in keys]
    for number in data:
        steps.append(f"b{number} = c{number}.value")
        if number in needed:
            steps += [f"if b{number} is None:", "    return None", f"v{number} = read_{number}(b{number})"]
        else:
            steps.append(f"v{number} = None if b{number} is None else read_{number}(b{number})")
    arguments = []
    for field in fields:
        if field.name in numbers:
            number = numbers[field.name]
            names[f"argument_{number}"] = field.argument
            arguments.append(f"argument_{number}: v{number}")
        elif may_be(field.hint, UnsetType):
            names[f"unset_{len(arguments)}"] = field.argument
            arguments.append(f"unset_{len(arguments)}: UNSET")
    value = f"make(model, {{{', '.join(arguments)}}})"
    steps.append(f"return {_dict(keys)}, {_dict(data)}, {value}")
    return "\n    ".join(["def read_whole(row):", *steps])


def _left_out(field: Field) -> bool:
    """Whether a value needs nothing said of the field."""
    return not field.required or may_be(field.hint, UnsetType)


def _targets(letter: str, numbers: range) -> str:
    """What is assigned to, one for each number."""
    return "".join(f"{letter}{number}, " for number in numbers)


def _dict(numbers: range) -> str:
    return f"{{{', '.join(f'name_{number}: v{number}' for number in numbers)}}}"
