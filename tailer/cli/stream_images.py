"""`cdc-tail stream --image`: what such a query has in another way than one of rows.

Knows the command's options; what is made of rows is `tailer.spark.images`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import UsageError
from tailer.options.images import ImageOptions, image_options

if TYPE_CHECKING:
    from tailer.cli.rows import Form
    from tailer.options.to_spark import SourceOptions
    from tailer.spark.run import DataFrame
    from tailer.spark.sinks.console import ConsoleSink

_TARGETS: Final = ("console", "parquet", "delta")


@dataclass(frozen=True, slots=True)
class StreamedImages:
    """`asked`: None for a query of rows, of which everything is as it was. `table`: of typed images."""

    asked: ImageOptions | None
    to_console: bool = False
    table: str | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> StreamedImages:
        """By the command's values. UsageError for what images cannot be made of, or where they cannot go."""
        asked = image_options(values)
        if asked is None:
            return cls(None)
        from tailer.spark.images.operator import check_spark

        check_spark()
        if values["to"] not in _TARGETS:
            raise UsageError("--image", expected=f"with --to {', '.join(_TARGETS)}", found=f"--to {values['to']}")
        return cls(asked, values["to"] == "console", values["table"])

    def values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The command's values for the rows that images are made of: of a typed form images are, and rows are not."""
        if self.asked is None or self.table is None:
            return dict(values)
        return {**values, "table": None, "tables": (self.table,)}

    @property
    def options(self) -> Mapping[str, str]:
        """Options of the data source."""
        return {} if self.asked is None else {"includeSchemaChanges": "true"}

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings of the session."""
        from tailer.spark.images import SETTINGS

        return {} if self.asked is None else SETTINGS

    def check(self, source: SourceOptions) -> None:
        """That images can be made of such a stream, before the JVM has started. UsageError."""
        if self.asked is not None:
            from tailer.spark.images.followed import check_source

            check_source(source)

    def sink(self, form: Form, checkpoint: Path | None, source: SourceOptions) -> ConsoleSink | None:
        """Where images go in another way than rows."""
        if not self.to_console:
            return None
        from tailer.cli.follow_images import open_image_sink
        from tailer.spark.images.typed import form_by_logs
        from tailer.spark.sinks.console import ConsoleSink, image_rows

        typed = None if self.table is None else form_by_logs(self.table, source)
        sink = open_image_sink(form, None if typed is None else typed.schema)
        return ConsoleSink(sink, checkpoint, image_rows(typed), sink.close)

    def made(self, changes: DataFrame, source: SourceOptions) -> DataFrame:
        """What goes to the sink. The console makes typed images itself, of generic ones."""
        if self.asked is None:
            return changes
        from tailer.spark.images import images

        table = None if self.to_console else self.table
        expirations = not self.asked.no_expirations
        return images(changes, image=self.asked.image, expirations=expirations, table=table, typed=source.tail.typed)
