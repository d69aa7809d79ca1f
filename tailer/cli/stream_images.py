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
    """`asked`: None for a query of rows, of which everything is as it was."""

    asked: ImageOptions | None
    to_console: bool = False

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
        if values["table"] is not None:
            raise UsageError("--typed and images: an image is in the generic form", remedy="Leave out one of them.")
        return cls(asked, values["to"] == "console")

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

    def sink(self, form: Form, checkpoint: Path | None) -> ConsoleSink | None:
        """Where images go in another way than rows."""
        if not self.to_console:
            return None
        from tailer.cli.follow_images import open_image_sink
        from tailer.spark.sinks.console import ConsoleSink, image_rows

        made = open_image_sink(form)
        return ConsoleSink(made, checkpoint, image_rows, made.close)

    def made(self, changes: DataFrame) -> DataFrame:
        """What goes to the sink."""
        if self.asked is None:
            return changes
        from tailer.spark.images import images

        return images(changes, image=self.asked.image, expirations=not self.asked.no_expirations)
