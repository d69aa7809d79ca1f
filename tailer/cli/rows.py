"""Rows to standard output: the sink for a form. Knows no command."""

from __future__ import annotations

import os
import sys

from tailer.cli.options import Output
from tailer.sink.base import Sink


def open_sink(form: Output) -> Sink:
    """The sink that writes rows in this form to standard output."""
    stream = sys.stdout.buffer
    match form:
        case Output.JSON:
            from tailer.sink.json_lines import JsonLinesSink

            return JsonLinesSink(stream)
        case Output.ARROW:
            from tailer.sink.arrow import ArrowSink

            return ArrowSink(stream)
        case Output.PRETTY:
            from tailer.sink.pretty import PrettySink, wants_colour

            return PrettySink(stream, colour=wants_colour(stream, os.environ))
