"""Images of one table in its own columns, in Spark: the form as the driver fixes it, and what tasks make by it.

What a typed image is knows `tailer.images.typed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from tailer.errors import UsageError
from tailer.images.image import Image
from tailer.options.to_spark import SourceOptions
from tailer.rebuild import Table
from tailer.schema.typed import TypedOptions, TypedTable, check_names, typed_table
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.errors import told
from tailer.spark.executor_log import say
from tailer.spark.images.followed import followed
from tailer.typed_decode import decode_msgpack

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from tailer.images.typed import TypedImages


class ImageForm(msgspec.Struct, frozen=True):
    """What `TypedImages` is made of, as it travels to a task."""

    table: TypedTable
    dropped: tuple[str, ...] = ()

    def made(self) -> TypedImages:
        """The form itself."""
        from tailer.images.typed import TypedImages

        return TypedImages(self.table, self.dropped)


def image_form(
    name: str, options: TypedOptions, sources: Sequence[SourceOptions], known: Iterable[Table], given: Iterable[Table]
) -> ImageForm:
    """The form of `keyspace.table` by the definitions that are `given`, else by the logs that are read, as they are
    now. `known`: all that is known of tables.

    DefinitionError where nothing defines it, UsageError for names that clash.
    """
    from tailer.images.typed import KNOWN

    mine = [table.definition for table in given if table.name == name]
    form = typed_table(mine[-1], mine[:-1], options) if mine else _by_logs(name, options, sources)
    check_names(form, msgspec.structs.replace(options, more=(*options.more, KNOWN)))
    definitions = [*mine, *(table.definition for table in known if table.name == name)]
    dropped = {column.name for each in definitions for column in each.columns if column.dropped}
    return ImageForm(form, tuple(sorted(dropped)))


def form_by_logs(name: str, source: SourceOptions) -> TypedImages:
    """The form of a table for images that one process makes of a stream's."""
    known = followed([source], (), None).job().all_tables()
    return image_form(name, source.tail.typed, [source], known, ()).made()


def _by_logs(name: str, options: TypedOptions, sources: Sequence[SourceOptions]) -> TypedTable:
    from tailer.spark.form import typed_form, union

    if not sources:
        raise UsageError(
            f"the rows come from no log: how is {name} defined?", remedy="Give its definition: images(…, tables=[…])."
        )
    forms = [typed_form(_asking(source, name, options)) for source in sources]
    return union([form for form in forms if form is not None])


def _asking(source: SourceOptions, name: str, options: TypedOptions) -> SourceOptions:
    tail = replace(
        source.tail,
        table=name,
        meta_prefix=options.prefix,
        decimals=options.decimals,
        on_schema_change=options.on_change,
        case_sensitive=options.case_sensitive,
        schema_changes=False,
    )
    return replace(source, tail=tail)


def typed_images(generic: DataFrame, form: ImageForm) -> DataFrame:
    """Generic images of the form's table in the typed form."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(form.made().schema, prefer_timestamp_ntz=False)
    return map_in_arrow(generic, partial(made_typed, msgspec.msgpack.encode(form)), schema)


def made_typed(packed: bytes, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """In a task: a batch of typed images for each batch of generic ones."""
    from tailer.reading.counted_notices import CountedNotices
    from tailer.reading.reader import count_left_out

    with told():
        form = decode_msgpack(packed, ImageForm).made()
        for batch in batches:
            yield form.to_arrow(images_of(batch))
        notices = CountedNotices()
        count_left_out(form.left_out, " (onSchemaChange=ignore)", notices)
        for notice in notices.take(last=True):
            say(notice)


def images_of(rows: pyarrow.RecordBatch | pyarrow.Table) -> list[Image]:
    """Generic images as Spark has them."""
    return [Image(**{**row, "changed": tuple(row["changed"])}) for row in rows.to_pylist()]
