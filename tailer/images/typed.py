"""Images of one table in the typed form: the rows before and after as structs of the table's own columns, in Arrow.

A struct has each column as a typed row has it, and behind them `known`, with the typed form's prefix: the names of the
columns that are known. What is not is null, as what is null; a row that is not there is null itself. Knows no state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tailer.errors import DefinitionError
from tailer.images.image import COLUMNS, Image, arrow_schema
from tailer.images.image_rows import ImageRows
from tailer.position import Position
from tailer.rows.typed.form import FormColumn, form_of
from tailer.rows.typed.lines import own_texts
from tailer.schema.typed import TypedColumn, TypedTable
from tailer.types import printed, quote
from tailer.types.cql import Native
from tailer.types.encode import encoder
from tailer.types.read_json import read_json

KNOWN: Final = "known"
"""The name of that field, behind the prefix."""

ROWS: Final = ("before", "after")
"""Columns that hold a row."""


class TypedImages:
    """Of one table, by the columns that a run has fixed. `dropped`: columns that rows from before may still have, and
    that are left out, for SELECT shows them nowhere.

    `left_out`: how many values had no column here, by their column's name, where they are to be left out.
    """

    def __init__(self, typed: TypedTable, dropped: Collection[str] = ()) -> None:
        self.left_out: Counter[str] = Counter()
        self.table = typed.table
        self._typed = typed
        self._dropped = dropped
        self._known = typed.prefix + KNOWN
        columns = form_of(typed).columns
        self._values = {column.name: _value_of(column) for column in columns}
        # By name in the table the columns of the form that hold its values, the newest one first.
        self._holders: dict[str, list[TypedColumn]] = {}
        for own in sorted(typed.columns, key=lambda column: column.is_earlier):
            self._holders.setdefault(own.source, []).append(own)
        self._key = [column.name for column in typed.columns if column.kind == "partition_key"]
        self._whole_key = [*self._key, *(column.name for column in typed.columns if column.kind == "clustering")]
        fields = [pa.field(column.name, column.arrow) for column in columns]
        row = pa.struct([*fields, pa.field(self._known, pa.list_(pa.string()))])
        kinds = [row if field.name in ROWS else field.type for field in arrow_schema()]
        self.schema: pa.Schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))

    def rows(self, images: Sequence[Image], *, before: bool = True) -> TypedImageRows:
        """Those of them that are of the table. `before`: whether that column is shown."""
        return TypedImageRows(self, [each for each in images if f"{each.keyspace}.{each.table}" == self.table], before)

    def texts(self, rows: pa.StructArray) -> list[str | None]:
        """Rows of an Arrow batch of this form as JSON, each value as a typed row's line has it."""
        form = form_of(self._typed)
        names = [column.name for column in form.columns]
        own = own_texts(form, pa.RecordBatch.from_arrays([rows.field(name) for name in names], names))
        known = [msgspec.json.encode(each).decode() for each in rows.field(self._known).to_pylist()]
        parts: list[Any] = []
        for begin, name, texts in zip(
            "{" + "," * len(names), [*names, self._known], [*own, pa.array(known)], strict=True
        ):
            parts += [f"{begin}{quote(name)}:", texts]
        lines = pc.binary_join_element_wise(*parts, "}", "")
        found: list[str | None] = pc.if_else(rows.is_valid(), lines, None).to_pylist()
        return found

    def to_arrow(self, images: Sequence[Image]) -> pa.RecordBatch:
        """Images of the table. DefinitionError for a value that Arrow has no room for, and for a column that the form
        has no place for, unless that is to be left out."""
        columns = []
        for name, kind in zip(COLUMNS, self.schema.types, strict=True):
            values = [getattr(image, name) for image in images]
            if name in ROWS:
                values = [
                    None if text is None else self._row(text, image) for text, image in zip(values, images, strict=True)
                ]
            columns.append(pa.array(values, kind))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _row(self, text: str, image: Image) -> dict[str, Any]:
        said: dict[str, Any] = read_json(text)
        values: dict[str, Any] = {}
        # A column of the key may have another name by now: it is told by its place.
        key = self._key if image.is_static else self._whole_key
        for name, value in zip([*key, *list(said)[len(key) :]], said.values(), strict=True):
            if name in self._holders:
                holder, made = self._held(name, value, image)
                values[holder] = made
            elif name not in self._dropped:
                if self._typed.on_change == "fail":
                    raise self._misfit(name, image)
                self.left_out[name] += 1
        return {**values, self._known: list(values)}

    def _held(self, name: str, value: Any, image: Image) -> tuple[str, Any]:
        """A value and the column of the form that holds it: of the type that the table's column had in this image."""
        holders = self._holders[name]
        newest = holders[0]
        if len(holders) > 1 and value is not None:
            was_dropped = newest.since is not None and image.write_ts is not None and image.write_ts <= newest.since
            is_of_before = was_dropped or image.table_id.replace("-", "") != self._typed.id
            for holder in [*holders[1:], newest] if is_of_before else holders:
                try:
                    return holder.name, self._values[holder.name](value)
                except (ValueError, TypeError, KeyError):
                    continue
        return newest.name, None if value is None else self._made(self._values[newest.name], value, name, image)

    def _made(self, make: Callable[[Any], Any], value: Any, column: str, image: Image) -> Any:
        try:
            return make(value)
        except ValueError as error:
            raise DefinitionError(
                f'a value of {self._typed.table} in column "{column}" has no place in its Arrow type',
                at=_place(image),
                found=str(error),
                remedy="Start again if its type has changed; else take images of this table in the generic form.",
            ) from None

    def _misfit(self, column: str, image: Image) -> DefinitionError:
        return DefinitionError(
            f'{self._typed.table} has a column "{column}", for which this run\'s typed form has no place: its '
            "definition has changed",
            at=_place(image),
            remedy='Start again, and the column is there; or leave it out with on_schema_change="ignore".',
        )


class TypedImageRows(ImageRows):
    """Images of one table in a batch, in its typed form."""

    def __init__(self, form: TypedImages, images: Sequence[Image], before: bool) -> None:
        super().__init__(images, before=before)
        self._form = form

    def slice(self, begin: int, end: int | None = None) -> TypedImageRows:
        return TypedImageRows(self._form, self.images[begin:end], before=True)

    def json_lines(self) -> bytes:
        batch = self._form.to_arrow(self.images)
        texts = {name: self._form.texts(batch.column(name)) for name in ROWS}
        spelled = [
            msgspec.structs.replace(image, before=before, after=after)
            for image, before, after in zip(self.images, texts["before"], texts["after"], strict=True)
        ]
        return ImageRows(spelled).json_lines()

    def to_arrow(self) -> pa.RecordBatch:
        return self._form.to_arrow(self.images)


def _place(image: Image) -> Position | None:
    return None if image.segment is None else Position(image.segment, image.offset or 0)


def _value_of(column: FormColumn) -> Callable[[Any], Any]:
    """The plain value by its JSON. What prints alike is one value (`tailer.types.encode`)."""
    traits = column.type.traits
    if isinstance(traits, Native) and traits.printed == printed.COUNTER:
        return _sum
    encode, read = encoder(column.type), column.read
    return lambda value: read(encode(value))


def _sum(text: str) -> int:
    """Of a counter, of which the log has shards."""
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"the sum {text} is beyond 64 bits")
    return value
