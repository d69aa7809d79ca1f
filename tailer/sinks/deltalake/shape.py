"""Whether a Delta table that is there can hold change rows as they are, and which columns it lacks."""

from __future__ import annotations

from typing import Final

from deltalake import DeltaTable, Field, Schema

from tailer.errors import SinkError, UsageError
from tailer.sinks.database.columns import TargetForm

_FEATURES: Final = frozenset({"appendOnly", "invariants", "timestampNtz"})
"""What a writer of plain files without anything of its own fulfils (checked below)."""
_LETTERS: Final = frozenset(" ,;{}()\n\t=")
"""Not in a column's name, where columns are not mapped."""


def check_names(form: TargetForm, name: str) -> None:
    """UsageError for columns that a Delta table cannot have."""
    seen: dict[str, str] = {}
    for column in form.names:
        if _LETTERS & set(column):
            raise UsageError(
                f"{name} cannot have a column {column!r}",
                remedy="Send this table's rows in the generic form (without --typed).",
            )
        other = seen.setdefault(column.casefold(), column)
        if other != column:
            raise UsageError(
                f"{name} takes {other} and {column} for one column",
                remedy="Send this table's rows in the generic form (without --typed).",
            )


def missing(table: DeltaTable, form: TargetForm, name: str) -> list[Field]:
    """The columns that are to be added. SinkError where the table holds something else, or asks for more than that."""
    _check_kind(table, name)
    there = {field.name: field for field in table.schema().fields}
    (key,) = form.keys
    if key not in there:
        raise _other(name, f"it has no column {key}")
    wanted = Schema.from_arrow(form.schema).fields
    for field in wanted:
        found = there.get(field.name)
        if found is not None and found.type != field.type:
            raise _other(name, f"column {field.name} is {found.type}, and values are {field.type}")
    needed = [field.name for field in there.values() if not field.nullable]
    if needed:
        raise _other(name, f"column {needed[0]} may not be null")
    return [field for field in wanted if field.name not in there]


def _check_kind(table: DeltaTable, name: str) -> None:
    """A table whose writers must do more than append files is none for us."""
    metadata, protocol = table.metadata(), table.protocol()
    if metadata.partition_columns:
        raise _other(name, f"it is partitioned by {', '.join(metadata.partition_columns)}")
    checked = [key for key in metadata.configuration if key.startswith("delta.constraints.")]
    if checked:
        raise _other(name, f"it has the constraint {checked[0].removeprefix('delta.constraints.')}")
    features = set(protocol.writer_features or ()) - _FEATURES
    if features or protocol.min_writer_version in range(3, 7):
        raise _other(name, f"its writers need {', '.join(sorted(features)) or 'more than to append'}")


def _other(name: str, reason: str) -> SinkError:
    return SinkError(
        f"{name} has another shape: {reason}",
        remedy="Give --to another folder, and merge from there: a plain table of change rows is made in it.",
    )
