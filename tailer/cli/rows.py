"""Rows to standard output: the sink for a form. Knows no command."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tailer.options.terminal import Output
from tailer.sinks.base import Sink

if TYPE_CHECKING:
    from tailer.schema.typed import TypedTable


def open_sink(form: Output, typed: TypedTable | None = None) -> Sink:
    """The sink that writes rows in this form to standard output. `typed`: the rows are of that typed form."""
    stream = sys.stdout.buffer
    match form:
        case Output.JSON:
            from tailer.sinks.json_lines import JsonLinesSink

            return JsonLinesSink(stream)
        case Output.ARROW:
            from tailer.sinks.arrow import ArrowSink

            return ArrowSink(stream, typed)
        case Output.PRETTY:
            from tailer.sinks.pretty import PrettySink, wants_colour

            return PrettySink(stream, colour=wants_colour(stream, os.environ))
