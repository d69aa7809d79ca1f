"""The typed form of a query: what `schema()` says of it, and the same again where the query runs.

Looks at the folders and writes nothing. A DataFrame carries a mark of the form that it was loaded with: the processes
of a query find out that way that the table has changed since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

import msgspec
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from tailer.errors import CdcError, DefinitionError, UsageError
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.options.to_spark import SourceOptions
from tailer.schema.model import Column, TypeField
from tailer.schema.typed import TypedColumn, TypedTable, with_earlier_columns
from tailer.schema.typed_columns import EarlierColumn, column_key
from tailer.sinks.arrow import schema_of
from tailer.spark.change_columns import without_changes
from tailer.spark.present import present
from tailer.tail.node_log import node_log
from tailer.tail.open import open_tail

MARK: Final = "cdc_tail.form"


def typed_form(options: SourceOptions) -> TypedTable | None:
    """The typed form that rows have from now on, by what all nodes' logs and state folders tell; None if none was
    asked for. DefinitionError where nothing defines the table."""
    if options.tail.table is None:
        return None
    found: list[TypedTable] = []
    failure: CdcError | None = None
    for name, place in present(options):
        try:
            found.append(_of_node(place, options.of(name, once=True)))
        except DefinitionError as error:
            failure = error
    if found:
        return union(found)
    raise failure or UsageError("no log folder", remedy="Give the server's cdc_raw_directory as `path`.")


def form_schema(form: TypedTable, more: Sequence[str] = ()) -> StructType:
    """The form's columns as Spark types, with the form's mark. `more`: the columns behind all others."""
    made: StructType = from_arrow_schema(schema_of(form, more), prefer_timestamp_ntz=False)
    first_meta = len(form.columns)
    return StructType([_marked(field, form) if at == first_meta else field for at, field in enumerate(made)])


def check_form(form: TypedTable, schema: StructType, more: Sequence[str] = ()) -> None:
    """That a DataFrame's columns can be made of the form. A user's own `.schema(...)` has no mark, and chooses by name.

    DefinitionError where the table has changed since the load, UsageError for columns that there are not.
    """
    schema = without_changes(schema)
    marks = [field.metadata[MARK] for field in schema if MARK in field.metadata]
    if marks and marks != [_digest(form)]:
        raise DefinitionError(
            f"{form.table} was changed after this DataFrame was loaded", remedy="Load it again, then start the query."
        )
    there: Mapping[str, Any] = {field.name: field.dataType for field in form_schema(form, more)}
    for field in schema:
        if field.name not in there:
            raise UsageError(f"column {field.name} of .schema(...)", expected=", ".join(there), found=repr(field.name))
        if field.dataType != there[field.name]:
            raise UsageError(
                f"the type of column {field.name} in .schema(...)",
                expected=there[field.name].simpleString(),
                found=field.dataType.simpleString(),
            )


def _marked(field: StructField, form: TypedTable) -> StructField:
    return StructField(field.name, field.dataType, field.nullable, {MARK: _digest(form)})


def _digest(form: TypedTable) -> str:
    return blake2b(msgspec.json.encode(form, order="sorted"), digest_size=8).hexdigest()


def _of_node(place: LogPlace, options: TailOptions) -> TypedTable:
    """As the consumer's next rows need it: with columns that were dropped since."""
    assert options.consumer is not None
    log = node_log(place, options)
    state = log.home.stands(options.consumer).nodes.get(options.node)
    start = "earliest" if state is None else msgspec.json.encode(state.offset).decode()
    with open_tail(log, replace(options, start=start, until=None), writes=False) as tail:
        assert tail.typed is not None
        return tail.typed


def union(forms: list[TypedTable]) -> TypedTable:
    """One form for the rows of all of them: a node may not have logged a column or a field yet that others have.

    A column that one node has as it was before it was dropped and added again has its values under another name.
    """
    first = max(forms, key=lambda form: (_added_last(form), len(form.columns), sum(map(len, form.types.values()))))
    types: dict[str, tuple[TypeField, ...]] = dict(first.types)
    earlier: dict[str, str] = {}
    found: list[EarlierColumn] = []
    for form in forms:
        earlier |= form.earlier
        for name, fields in form.types.items():
            if len(fields) > len(types.get(name, ())):
                types[name] = fields
        found += [_column_of(form, column) for column in form.columns if column.kind in ("static", "regular")]
    made = msgspec.structs.replace(first, types=types, earlier=earlier)
    return with_earlier_columns(made, found, [column.column.name for column in found])


def _added_last(form: TypedTable) -> int:
    """When a column was dropped last that was added again."""
    return max((column.since or 0 for column in form.columns), default=0)


def _column_of(form: TypedTable, column: TypedColumn) -> EarlierColumn:
    held = Column(column.source, column.kind, column.type, dropped_time=column.since)
    keys = {key for key, name in form.earlier.items() if name == column.name}
    return EarlierColumn(held, {**form.types, **column.types}, keys | {column_key(form.id, held)})
